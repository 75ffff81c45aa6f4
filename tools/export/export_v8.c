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
#include "exporters.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "report/json.h"
#include "snapshot/reader.h"

enum { ROW_BYTES = 128, FLUSH_BYTES = 1 << 20 };
enum { NODE_FIELDS = 5, NODE_OBJECT = 3, NODE_SYNTHETIC = 9 };
enum { EDGE_ELEMENT = 1, EDGE_PROPERTY = 2, EDGE_WEAK = 6 };

struct export
{
    struct hs_tool *tool;
    const struct hs_snap *snap; /* borrowed */
    const struct hs_snap_totals *totals;
    uint64_t word_bytes;
    struct hs_out *out;
    struct hs_buffer buffer; /* not yet handed to `out` */
    bool is_first;           /* of an array: no comma before it */
    uint64_t n_done;         /* chunks, over all passes */
    uint64_t *child_begin;   /* owned: of tree node i its children are child[child_begin[i]...] */
    hs_node *child;          /* owned */
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

static hs_status export_room(struct export *x, struct hs_error *err)
{
    if (x->buffer.n_bytes >= FLUSH_BYTES) {
        HS_TRY(hs_out_write(x->out, x->buffer.bytes, x->buffer.n_bytes, err));
        x->buffer.n_bytes = 0;
    }
    return hs_buffer_reserve(&x->buffer, ROW_BYTES, err);
}

static void put_number(struct hs_buffer *buffer, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    hs_buffer_put_bytes(buffer, digits + at, sizeof digits - at);
}

static hs_status put_row(struct export *x, const uint64_t *fields, size_t n, struct hs_error *err)
{
    HS_TRY(export_room(x, err));
    for (size_t i = 0; i < n; i++) {
        if (i != 0 || !x->is_first)
            hs_buffer_put_u8(&x->buffer, ',');
        put_number(&x->buffer, fields[i]);
    }
    hs_buffer_put_u8(&x->buffer, '\n');
    x->is_first = false;
    return HS_OK;
}

static hs_status put_text(struct export *x, const char *text, struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(&x->buffer, strlen(text), err));
    hs_buffer_put_bytes(&x->buffer, text, strlen(text));
    x->is_first = true;
    return export_room(x, err);
}

static hs_status put_edge(struct export *x, uint64_t type, uint64_t name, hs_node to,
                          struct hs_error *err)
{
    return put_row(x, (uint64_t[]){type, name, to * NODE_FIELDS}, 3, err);
}

static hs_status put_string(struct export *x, const char *text, struct hs_error *err)
{
    HS_TRY(export_room(x, err));
    if (!x->is_first)
        hs_buffer_put_bytes(&x->buffer, ",", 1);
    struct hs_json json;
    hs_json_init_buffer(&json, &x->buffer, HS_JSON_COMPACT);
    hs_json_string(&json, NULL, text);
    x->is_first = false;
    return hs_json_finish(&json, err);
}

/* A pass over the chunks. */
typedef hs_status export_chunk_function(struct export *x, const struct hs_chunk *chunk,
                                        struct hs_error *err);

static hs_status export_pass(struct export *x, unsigned columns, export_chunk_function *each,
                             struct hs_error *err)
{
    struct hs_chunk chunk = {0};
    hs_status status = HS_OK;
    for (uint64_t i = 0; i < x->totals->n_chunks && status == HS_OK; i++) {
        status = hs_snap_load_chunk(x->snap, i, columns, &chunk, err);
        if (status == HS_OK)
            status = each(x, &chunk, err);
        if (status == HS_OK)
            status = hs_progress_tell(&x->tool->progress, "exporting", ++x->n_done,
                                      2 * x->totals->n_chunks, err);
    }
    hs_chunk_fini(&chunk);
    return status;
}

static uint64_t n_children(const struct export *x, hs_node node)
{
    return x->child_begin[node + 1] - x->child_begin[node];
}

/* Children stand behind their parents, but not side by side. */
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

static hs_status tree_nodes(struct export *x, struct hs_error *err)
{
    for (hs_node node = 0; node < x->totals->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(x->snap, node);
        uint64_t n_edges = n_children(x, node) + (root->target != HS_NO_NODE);
        HS_TRY(put_row(x, (uint64_t[]){NODE_SYNTHETIC, root->name, 2 * node + 1, 0, n_edges},
                       NODE_FIELDS, err));
    }
    return HS_OK;
}

static hs_status block_nodes(struct export *x, const struct hs_chunk *chunk, struct hs_error *err)
{
    uint64_t extra = 0;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        hs_node node = chunk->first + i;
        uint64_t n_edges = chunk->edge_begin[i + 1] - chunk->edge_begin[i];
        for (; extra < chunk->n_extra && chunk->extra[extra].source == node; extra++)
            n_edges++;
        uint64_t name = hs_snap_type(x->snap, chunk->type[i])->name;
        uint64_t n_bytes = chunk->words[i] * x->word_bytes;
        HS_TRY(put_row(x, (uint64_t[]){NODE_OBJECT, name, 2 * node + 1, n_bytes, n_edges},
                       NODE_FIELDS, err));
    }
    return HS_OK;
}

static hs_status tree_edges(struct export *x, struct hs_error *err)
{
    for (hs_node node = 0; node < x->totals->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(x->snap, node);
        for (uint64_t i = 0; i < n_children(x, node); i++)
            HS_TRY(put_edge(x, EDGE_ELEMENT, i, x->child[x->child_begin[node] + i], err));
        if (root->target != HS_NO_NODE)
            HS_TRY(put_edge(x, root->weak ? EDGE_WEAK : EDGE_ELEMENT, 0, root->target, err));
    }
    return HS_OK;
}

/* By the name of its member where the type has one just there. */
static hs_status strong_edge(struct export *x, uint32_t type, uint64_t offset_words, hs_node to,
                             struct hs_error *err)
{
    uint64_t offset = offset_words * x->word_bytes;
    const struct hs_member *member = NULL;
    if (hs_snap_type(x->snap, type)->stride_bytes == 0)
        member = hs_snap_member_at(x->snap, type, offset, NULL);
    if (member == NULL || member->offset_bytes != offset || member->name == 0)
        return put_edge(x, EDGE_ELEMENT, offset_words, to, err);
    return put_edge(x, EDGE_PROPERTY, member->name, to, err);
}

static hs_status block_edges(struct export *x, const struct hs_chunk *chunk, struct hs_error *err)
{
    uint64_t extra = 0;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        for (uint64_t e = chunk->edge_begin[i]; e < chunk->edge_begin[i + 1]; e++)
            HS_TRY(strong_edge(x, chunk->type[i], chunk->offset_words[e], chunk->target[e], err));
        for (; extra < chunk->n_extra && chunk->extra[extra].source == chunk->first + i; extra++) {
            const struct hs_extra_edge *edge = &chunk->extra[extra];
            bool retains = edge->edge_class == HS_EDGE_EPHEMERON;
            HS_TRY(put_edge(x, retains ? EDGE_ELEMENT : EDGE_WEAK, edge->offset_words, edge->target,
                            err));
        }
    }
    return HS_OK;
}

static hs_status export_strings(struct export *x, struct hs_error *err)
{
    for (uint64_t id = 0; id <= x->totals->n_strings; id++)
        HS_TRY(put_string(x, hs_snap_string(x->snap, (hs_str)id), err));
    return HS_OK;
}

static hs_status export_head(struct export *x, struct hs_error *err)
{
    uint64_t n_edges = x->totals->n_tree - 1;
    for (hs_node node = 0; node < x->totals->n_tree; node++)
        n_edges += hs_snap_root(x->snap, node)->target != HS_NO_NODE;
    n_edges += x->totals->n_edges + x->totals->n_extra_edges;
    x->is_first = true;
    return hs_print(x->out, err, head,
                    (unsigned long long)(x->totals->n_tree + x->totals->n_blocks),
                    (unsigned long long)n_edges);
}

static hs_status export_all(struct export *x, struct hs_error *err)
{
    HS_TRY(children_find(x, err));
    HS_TRY(export_head(x, err));
    HS_TRY(tree_nodes(x, err));
    HS_TRY(export_pass(x, HS_COL_SIZES | HS_COL_TYPES | HS_COL_EDGES | HS_COL_EXTRA, block_nodes,
                       err));
    HS_TRY(put_text(x, "],\n\"edges\":[", err));
    HS_TRY(tree_edges(x, err));
    HS_TRY(export_pass(x, HS_COL_ALL, block_edges, err));
    HS_TRY(put_text(x, "],\n\"strings\":[", err));
    HS_TRY(export_strings(x, err));
    HS_TRY(put_text(x, "]}\n", err));
    return hs_out_write(x->out, x->buffer.bytes, x->buffer.n_bytes, err);
}

hs_status hs_export_v8(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_snap *snap = NULL;
    struct hs_out out = {.fd = -1};
    HS_TRY(hs_snap_open(inv->arguments[0], 0, &snap, err));
    struct export x = {
        .tool = tool,
        .snap = snap,
        .totals = hs_snap_totals(snap),
        .word_bytes = hs_snap_facts(snap)->word_bytes,
        .out = &out,
    };
    const char *path = inv->text[HS_OPT_DIRECTORY];
    hs_status status = strcmp(path, "-") == 0 ? hs_out_open_fd(1, "standard output", &out, err)
                                              : hs_out_open_path_as(path, &tool->access, &out, err);
    if (status == HS_OK)
        status = export_all(&x, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    hs_buffer_fini(&x.buffer);
    hs_free(x.child_begin);
    hs_free(x.child);
    hs_snap_close(snap);
    return status;
}
