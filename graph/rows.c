/* Rows of a snapshot: its root tree, then its chunks, each decoded, merged and emitted. */
#include "graph/rows.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/checked.h"

/* HS_NONE is not a node, and `begin` must hold the number of edges. */
#define GRAPH_LIMIT ((uint64_t)UINT32_MAX - 1)

/* A piece being made: arrays that are used again for each chunk. */
struct piece {
    uint32_t *begin, *target;
    size_t begin_capacity, target_capacity;
    uint64_t n_edges; /* emitted so far */
};

static void piece_fini(struct piece *piece)
{
    hs_free(piece->begin);
    hs_free(piece->target);
}

static hs_status piece_reserve(struct piece *piece, uint64_t n_nodes, uint64_t n_edges,
                               struct hs_error *err)
{
    HS_TRY(HS_GROW(&piece->begin, &piece->begin_capacity, n_nodes + 1, err));
    HS_TRY(HS_GROW(&piece->target, &piece->target_capacity, n_edges, err));
    return HS_OK;
}

/* ---- the tree ---- */

static struct hs_edge_choice choice_of(const struct hs_row_source *source)
{
    return (struct hs_edge_choice){source->edges, source->tiers, source->pointers_in};
}

/* Fills in the rows of the tree: children in ascending order, then the block that the root holds,
 * if any. A child stands behind its parent, so the rows ascend. */
static hs_status piece_fill_tree(const struct hs_row_source *source, uint32_t n_tree,
                                 struct piece *piece, struct hs_error *err)
{
    const struct hs_edge_choice choice = choice_of(source);
    const struct hs_snap *snap = source->snap;
    hs_auto_free uint32_t *cursor = NULL;

    HS_TRY(piece_reserve(piece, n_tree, 2 * (uint64_t)n_tree, err));
    HS_TRY(HS_ALLOC(&cursor, (size_t)n_tree + 1, err));
    for (uint32_t i = 0; i < n_tree; i++) {
        const struct hs_root *root = hs_snap_root(snap, i);
        assert(i == 0 || root->parent < i);
        if (i != 0)
            cursor[root->parent]++;
        cursor[i] += hs_root_holds(root, &choice);
    }
    for (uint32_t i = 0, sum = 0; i < n_tree; i++) {
        uint32_t n = cursor[i];
        piece->begin[i] = cursor[i] = sum;
        sum += n;
        piece->begin[i + 1] = sum;
    }
    for (uint32_t i = 1; i < n_tree; i++)
        piece->target[cursor[hs_snap_root(snap, i)->parent]++] = i;
    for (uint32_t i = 0; i < n_tree; i++) {
        const struct hs_root *root = hs_snap_root(snap, i);
        if (hs_root_holds(root, &choice))
            piece->target[cursor[i]] = (uint32_t)root->target;
    }
    return HS_OK;
}

/* ---- chunks ---- */

/* The extra edges of a chunk that retain, of one block: [*at, end) with that source. */
static bool extra_next(const struct hs_chunk *chunk, hs_node source, uint64_t *at, uint32_t *ret)
{
    for (; *at < chunk->n_extra && chunk->extra[*at].source <= source; ++*at) {
        const struct hs_extra_edge *edge = &chunk->extra[*at];
        if (edge->source == source && edge->edge_class == HS_EDGE_EPHEMERON) {
            *ret = (uint32_t)edge->target;
            return true;
        }
    }
    return false;
}

/* Merges one block's strong targets with its extra ones; both ascend. Returns the new end. */
static uint32_t *row_merge(const struct hs_chunk *chunk, uint32_t block, uint64_t *extra_at,
                           uint32_t *out)
{
    uint64_t i = chunk->edge_begin[block], end = chunk->edge_begin[block + 1];
    const uint32_t *row = out;
    uint32_t extra = 0;
    bool more = extra_next(chunk, chunk->first + block, extra_at, &extra);

    while (i < end || more) {
        bool take_extra = more && (i == end || extra < chunk->target[i]);
        uint32_t target = take_extra ? extra : (uint32_t)chunk->target[i];
        if (take_extra) {
            ++*extra_at;
            more = extra_next(chunk, chunk->first + block, extra_at, &extra);
        } else {
            i++;
        }
        if (out == row || out[-1] != target)
            *out++ = target;
    }
    return out;
}

static uint32_t *row_copy(const struct hs_chunk *chunk, uint32_t block, uint32_t *out)
{
    const hs_node *target = chunk->target + chunk->edge_begin[block];
    uint64_t n = chunk->edge_begin[block + 1] - chunk->edge_begin[block];

    for (uint64_t i = 0; i < n; i++)
        if (i == 0 || target[i] != target[i - 1])
            *out++ = (uint32_t)target[i];
    return out;
}

static hs_status piece_fill_chunk(const struct hs_chunk *chunk, bool with_extra,
                                  struct piece *piece, struct hs_error *err)
{
    uint64_t extra_at = 0, n_edges;
    bool merges = with_extra && chunk->n_extra != 0;

    if (!hs_add_fits(chunk->n_edges, merges ? chunk->n_extra : 0, &n_edges) || n_edges > UINT32_MAX)
        return hs_fail(err, HS_LIMIT, "a chunk has too many edges");
    HS_TRY(piece_reserve(piece, chunk->n_blocks, n_edges, err));
    uint32_t *out = piece->target;
    piece->begin[0] = 0;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        out = merges ? row_merge(chunk, i, &extra_at, out) : row_copy(chunk, i, out);
        piece->begin[i + 1] = (uint32_t)(out - piece->target);
    }
    return HS_OK;
}

/* ---- sweeps ---- */

static hs_status piece_emit(struct piece *piece, uint64_t first, uint32_t n,
                            const struct hs_row_counts *counts, const struct hs_row_sink *sink,
                            struct hs_error *err)
{
    struct hs_rows rows = {
        .first = (uint32_t)first, .n = n, .begin = piece->begin, .target = piece->target};

    piece->n_edges += piece->begin[n];
    if (piece->n_edges > counts->max_edges)
        return hs_fail(err, HS_FORMAT, "the snapshot has more edges than its trailer says");
    return sink->put(sink->context, &rows, err);
}

static hs_status sweep_chunks(const struct hs_row_source *source,
                              const struct hs_row_counts *counts, struct piece *piece,
                              const struct hs_progress *progress, const struct hs_row_sink *sink,
                              struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(source->snap);
    const struct hs_edge_choice choice = choice_of(source);
    bool with_extra = source->edges != HS_GRAPH_STRONG && totals->n_extra_edges != 0;
    unsigned columns = HS_COL_EDGES | (with_extra ? HS_COL_EXTRA : 0) | hs_edge_columns(&choice);
    uint64_t n_chunks = totals->n_chunks, next = counts->n_tree;
    struct hs_chunk chunk = {0};
    hs_status status = HS_OK;

    for (uint64_t at = 0; at < n_chunks && status == HS_OK; at++) {
        status = hs_progress_tell(progress, "reading the graph", at, n_chunks, err);
        if (status == HS_OK)
            status = hs_snap_load_chunk(source->snap, at, columns, &chunk, err);
        if (status == HS_OK && (chunk.first != next || chunk.n_blocks > counts->n_nodes - next))
            status = hs_fail(err, HS_FORMAT, "chunk %llu does not follow the one before it",
                             (unsigned long long)at);
        if (status == HS_OK)
            hs_chunk_choose(&chunk, &choice);
        if (status == HS_OK)
            status = piece_fill_chunk(&chunk, with_extra, piece, err);
        if (status == HS_OK)
            status = piece_emit(piece, next, chunk.n_blocks, counts, sink, err);
        next += chunk.n_blocks;
    }
    hs_chunk_fini(&chunk);
    if (status == HS_OK && next != counts->n_nodes)
        status = hs_fail(err, HS_FORMAT, "the snapshot has fewer blocks than its trailer says");
    return status;
}

hs_status hs_rows_count(const struct hs_row_source *source, struct hs_row_counts *ret,
                        struct hs_error *err)
{
    uint64_t n_nodes, max_edges;

    if (source->graph != NULL) {
        *ret = (struct hs_row_counts){.n_nodes = source->graph->n_nodes,
                                      .n_tree = source->graph->n_tree,
                                      .max_edges = source->graph->n_edges};
        return HS_OK;
    }
    const struct hs_snap_totals *totals = hs_snap_totals(source->snap);
    if (!hs_add_fits(totals->n_tree, totals->n_blocks, &n_nodes) ||
        !hs_add_fits(totals->n_edges, totals->n_extra_edges, &max_edges) ||
        !hs_add_fits(max_edges, 2 * totals->n_tree, &max_edges))
        return hs_fail(err, HS_LIMIT, "the snapshot has too many nodes or edges");
    HS_TRY(hs_graph_fits(n_nodes, max_edges, err));
    *ret = (struct hs_row_counts){
        .n_nodes = (uint32_t)n_nodes, .n_tree = (uint32_t)totals->n_tree, .max_edges = max_edges};
    return HS_OK;
}

hs_status hs_rows_sweep(const struct hs_row_source *source, const struct hs_progress *progress,
                        const struct hs_row_sink *sink, struct hs_error *err)
{
    struct piece piece = {0};
    struct hs_row_counts counts;

    if (source->graph != NULL) {
        struct hs_rows rows = {.n = source->graph->n_nodes,
                               .begin = source->graph->begin,
                               .target = source->graph->target};
        return sink->put(sink->context, &rows, err);
    }
    HS_TRY(hs_rows_count(source, &counts, err));
    hs_status status = piece_fill_tree(source, counts.n_tree, &piece, err);
    if (status == HS_OK)
        status = piece_emit(&piece, 0, counts.n_tree, &counts, sink, err);
    if (status == HS_OK)
        status = sweep_chunks(source, &counts, &piece, progress, sink, err);
    piece_fini(&piece);
    return status;
}

hs_status hs_graph_fits(uint64_t n_nodes, uint64_t capacity, struct hs_error *err)
{
    if (n_nodes < GRAPH_LIMIT && capacity < GRAPH_LIMIT)
        return HS_OK;
    return hs_fail(err, HS_LIMIT, "the graph has %llu nodes and %llu edges, the limit is %llu",
                   (unsigned long long)n_nodes, (unsigned long long)capacity,
                   (unsigned long long)GRAPH_LIMIT);
}
