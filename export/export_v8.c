/* export --to v8: the snapshot as a .heapsnapshot of V8.
 *
 *   nodes   node K of ours is node K of the file, with id 2K + 1: the tree of roots as synthetic
 *           nodes of no size, blocks as objects
 *   edges   element edges by field, property edges where the type has a member there; the edges
 * that keep nothing alive are weak strings those of the snapshot, under their numbers
 *
 * No shortcut edges and no other special edges are written, so that every reader's rules for them
 * are idle and all readers find the dominators that we find. The format has no specification: it
 * follows V8's heap-snapshot-generator.cc and the loader of DevTools (HeapSnapshotLoader.ts). */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "export/exporter.h"
#include "pen.h"
#include "report/json.h"

enum { NODE_FIELDS = 5, NODE_OBJECT = 3, NODE_SYNTHETIC = 9 };
enum { EDGE_ELEMENT = 1, EDGE_PROPERTY = 2, EDGE_WEAK = 6 };

struct export
{
    const struct hs_progress *progress;
    const struct hs_snap *snap; /* borrowed */
    const struct hs_snap_totals *totals;
    uint64_t word_bytes;
    struct hs_pen pen;
    bool is_first;         /* of an array: no comma before it */
    uint64_t n_done;       /* chunks, over all passes */
    uint64_t *child_begin; /* owned: of tree node i its children are child[child_begin[i]...] */
    hs_node *child;        /* owned */
};

static const char head[] =
    "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\","
    "\"edge_count\"],\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\","
    "\"closure\",\"regexp\",\"number\",\"native\",\"synthetic\",\"concatenated string\","
    "\"sliced string\",\"symbol\",\"bigint\"],\"string\",\"number\",\"number\",\"number\"],"
    "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\"edge_types\":[[\"context\","
    "\"element\",\"property\",\"internal\",\"hidden\",\"shortcut\",\"weak\"],"
    "\"string_or_number\",\"node\"]},\"node_count\":%llu,\"edge_count\":%llu,"
    "\"trace_function_count\":0},\n\"nodes\":[";

static void put_row(struct export *x, const uint64_t *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i != 0 || !x->is_first)
            hs_pen_byte(&x->pen, ',');
        hs_pen_number(&x->pen, fields[i]);
    }
    hs_pen_byte(&x->pen, '\n');
    x->is_first = false;
}

static void put_text(struct export *x, const char *text)
{
    hs_pen_text(&x->pen, text);
    x->is_first = true;
}

static void put_edge(struct export *x, uint64_t type, uint64_t name, hs_node to)
{
    put_row(x, (uint64_t[]){type, name, to * NODE_FIELDS}, 3);
}

static void put_string(struct export *x, const char *text)
{
    if (!x->is_first)
        hs_pen_byte(&x->pen, ',');
    hs_pen_json(&x->pen, text);
    hs_pen_byte(&x->pen, '\n');
    x->is_first = false;
}

/* A pass over the chunks. */
typedef void export_chunk_function(struct export *x, const struct hs_chunk *chunk);

static hs_status export_pass(struct export *x, unsigned columns, export_chunk_function *each,
                             struct hs_error *err)
{
    struct hs_chunk chunk = {0};
    hs_status status = HS_OK;
    for (uint64_t i = 0; i < x->totals->n_chunks && status == HS_OK && hs_pen_ok(&x->pen); i++) {
        status = hs_snap_load_chunk(x->snap, i, columns, &chunk, err);
        if (status == HS_OK)
            status = hs_progress_tell(x->progress, "exporting", ++x->n_done,
                                      2 * x->totals->n_chunks, err);
        if (status == HS_OK)
            each(x, &chunk);
    }
    hs_chunk_fini(&chunk);
    return status;
}

static uint64_t n_children(const struct export *x, hs_node node)
{
    return x->child_begin[node + 1] - x->child_begin[node];
}

/* Finds where children are: behind their parents, but not side by side. */
static hs_status children_find(struct export *x, struct hs_error *err)
{
    size_t n = (size_t)x->totals->n_tree;
    HS_TRY(HS_ALLOC(&x->child_begin, n + 2, err));
    HS_TRY(HS_ALLOC(&x->child, n, err));
    /* Counted two places on; summed, then filled, each begin ends up at its place. */
    for (hs_node node = 1; node < n; node++)
        x->child_begin[hs_snap_root(x->snap, node)->parent + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        x->child_begin[i] += x->child_begin[i - 1];
    for (hs_node node = 1; node < n; node++)
        x->child[x->child_begin[hs_snap_root(x->snap, node)->parent + 1]++] = node;
    return HS_OK;
}

static void tree_nodes(struct export *x)
{
    for (hs_node node = 0; node < x->totals->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(x->snap, node);
        uint64_t n_edges = n_children(x, node) + (root->target != HS_NO_NODE);
        put_row(x, (uint64_t[]){NODE_SYNTHETIC, root->name, 2 * node + 1, 0, n_edges}, NODE_FIELDS);
    }
}

static void block_nodes(struct export *x, const struct hs_chunk *chunk)
{
    uint64_t extra = 0;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        hs_node node = chunk->first + i;
        uint64_t n_edges = chunk->edge_begin[i + 1] - chunk->edge_begin[i];
        for (; extra < chunk->n_extra && chunk->extra[extra].source == node; extra++)
            n_edges++;
        uint64_t name = hs_snap_type(x->snap, chunk->type[i])->name;
        uint64_t n_bytes = chunk->words[i] * x->word_bytes;
        put_row(x, (uint64_t[]){NODE_OBJECT, name, 2 * node + 1, n_bytes, n_edges}, NODE_FIELDS);
    }
}

static void tree_edges(struct export *x)
{
    for (hs_node node = 0; node < x->totals->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(x->snap, node);
        for (uint64_t i = 0; i < n_children(x, node); i++)
            put_edge(x, EDGE_ELEMENT, i, x->child[x->child_begin[node] + i]);
        if (root->target != HS_NO_NODE)
            put_edge(x, root->weak ? EDGE_WEAK : EDGE_ELEMENT, 0, root->target);
    }
}

/* Writes a strong edge by the name of its member, where the type has one just there. */
static void strong_edge(struct export *x, uint32_t type, uint64_t offset_words, hs_node to)
{
    uint64_t offset = offset_words * x->word_bytes;
    const struct hs_member *member = NULL;
    if (hs_snap_type(x->snap, type)->stride_bytes == 0)
        member = hs_snap_member_at(x->snap, type, offset, NULL);
    if (member == NULL || member->offset_bytes != offset || member->name == 0)
        put_edge(x, EDGE_ELEMENT, offset_words, to);
    else
        put_edge(x, EDGE_PROPERTY, member->name, to);
}

static void block_edges(struct export *x, const struct hs_chunk *chunk)
{
    uint64_t extra = 0;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        for (uint64_t e = chunk->edge_begin[i]; e < chunk->edge_begin[i + 1]; e++)
            strong_edge(x, chunk->type[i], chunk->offset_words[e], chunk->target[e]);
        for (; extra < chunk->n_extra && chunk->extra[extra].source == chunk->first + i; extra++) {
            const struct hs_extra_edge *edge = &chunk->extra[extra];
            bool retains = edge->edge_class == HS_EDGE_EPHEMERON;
            put_edge(x, retains ? EDGE_ELEMENT : EDGE_WEAK, edge->offset_words, edge->target);
        }
    }
}

static void export_strings(struct export *x)
{
    for (uint64_t id = 0; id <= x->totals->n_strings; id++)
        put_string(x, hs_snap_string(x->snap, (hs_str)id));
}

static void export_head(struct export *x)
{
    char text[sizeof head + 2 * 20];
    uint64_t n_edges = x->totals->n_tree - 1;
    for (hs_node node = 0; node < x->totals->n_tree; node++)
        n_edges += hs_snap_root(x->snap, node)->target != HS_NO_NODE;
    n_edges += x->totals->n_edges + x->totals->n_extra_edges;
    (void)snprintf(text, sizeof text, head,
                   (unsigned long long)(x->totals->n_tree + x->totals->n_blocks),
                   (unsigned long long)n_edges);
    put_text(x, text);
}

static hs_status export_all(struct export *x, struct hs_error *err)
{
    HS_TRY(children_find(x, err));
    export_head(x);
    tree_nodes(x);
    HS_TRY(export_pass(x, HS_COL_SIZES | HS_COL_TYPES | HS_COL_EDGES | HS_COL_EXTRA, block_nodes,
                       err));
    put_text(x, "],\n\"edges\":[");
    tree_edges(x);
    HS_TRY(export_pass(x, HS_COL_ALL, block_edges, err));
    put_text(x, "],\n\"strings\":[");
    export_strings(x);
    put_text(x, "]}\n");
    return HS_OK;
}

static hs_status export_v8(struct hs_view *view, const struct hs_export_target *target,
                           struct hs_error *err)
{
    struct export x = {
        .progress = view->session.progress,
        .snap = view->snap,
        .totals = view->totals,
        .word_bytes = view->facts->word_bytes,
        .pen = hs_pen_of(target->out),
    };
    hs_status status = hs_pen_finish(&x.pen, export_all(&x, err), err);
    hs_free(x.child_begin);
    hs_free(x.child);
    return status;
}

const struct hs_exporter hs_exporter_v8 = {
    .needs = HS_VIEW_SNAP,
    .write = export_v8,
};
