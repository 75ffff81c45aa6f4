/* Compressed sparse rows: made from a snapshot's chunks, and turned round. */
#include "graph/graph.h"

#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "graph/pages.h"

/* HS_NONE is not a node, and `begin` must hold the number of edges. */
#define GRAPH_LIMIT ((uint64_t)UINT32_MAX - 1)

hs_status hs_graph_init(uint64_t n_nodes, uint64_t n_tree, uint64_t capacity, struct hs_graph *ret,
                        struct hs_error *err)
{
    void *begin, *target;

    assert(n_tree >= 1 && n_tree <= n_nodes);
    if (n_nodes >= GRAPH_LIMIT || capacity >= GRAPH_LIMIT)
        return hs_fail(err, HS_LIMIT, "the graph has %llu nodes and %llu edges, the limit is %llu",
                       (unsigned long long)n_nodes, (unsigned long long)capacity,
                       (unsigned long long)GRAPH_LIMIT);
    HS_TRY(hs_dense_pages(n_nodes + 1, sizeof(uint32_t), &begin, err));
    hs_status status = hs_dense_pages(capacity, sizeof(uint32_t), &target, err);
    if (status != HS_OK) {
        hs_pages_free(begin, n_nodes + 1, sizeof(uint32_t));
        return status;
    }
    *ret = (struct hs_graph){.n_nodes = (uint32_t)n_nodes,
                             .n_tree = (uint32_t)n_tree,
                             .begin = begin,
                             .target = target,
                             .target_capacity = capacity};
    return HS_OK;
}

void hs_graph_fini(struct hs_graph *graph)
{
    if (graph == NULL || graph->begin == NULL)
        return;
    hs_pages_free(graph->begin, (size_t)graph->n_nodes + 1, sizeof(uint32_t));
    hs_pages_free(graph->target, graph->target_capacity, sizeof(uint32_t));
    *graph = (struct hs_graph){0};
}

/* ---- from a snapshot ---- */

/* Whether a tree node has an edge to a block. */
static bool root_holds(const struct hs_root *root)
{
    return root->target != HS_NO_NODE && !root->weak;
}

/* Rows of the tree: children in ascending order, then the block that the root holds, if any. A
 * child stands behind its parent, so the rows ascend. */
static hs_status graph_load_tree(const struct hs_snap *snap, struct hs_graph *graph,
                                 struct hs_error *err)
{
    uint32_t n_tree = graph->n_tree;
    hs_auto_free uint32_t *cursor = NULL;
    void *memory;

    HS_TRY(hs_alloc((size_t)n_tree + 1, sizeof *cursor, &memory, err));
    cursor = memory;
    for (uint32_t i = 0; i < n_tree; i++) {
        const struct hs_root *root = hs_snap_root(snap, i);
        assert(i == 0 || root->parent < i);
        if (i != 0)
            cursor[root->parent]++;
        cursor[i] += root_holds(root);
    }
    for (uint32_t i = 0, sum = 0; i < n_tree; i++) {
        uint32_t n = cursor[i];
        graph->begin[i] = cursor[i] = sum;
        sum += n;
        graph->begin[i + 1] = sum;
    }
    assert(graph->begin[n_tree] <= graph->target_capacity);
    for (uint32_t i = 1; i < n_tree; i++)
        graph->target[cursor[hs_snap_root(snap, i)->parent]++] = i;
    for (uint32_t i = 0; i < n_tree; i++) {
        const struct hs_root *root = hs_snap_root(snap, i);
        if (root_holds(root))
            graph->target[cursor[i]] = (uint32_t)root->target;
    }
    return HS_OK;
}

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

static hs_status graph_append_chunk(const struct hs_chunk *chunk, bool with_extra,
                                    struct hs_graph *graph, struct hs_error *err)
{
    uint32_t first = (uint32_t)chunk->first;
    uint64_t extra_at = 0, needed;
    uint32_t *out = graph->target + graph->begin[first];

    if (!hs_add_fits(chunk->n_edges, with_extra ? chunk->n_extra : 0, &needed) ||
        needed > graph->target_capacity - graph->begin[first])
        return hs_fail(err, HS_FORMAT, "the snapshot has more edges than its trailer says");
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        out = with_extra && chunk->n_extra != 0 ? row_merge(chunk, i, &extra_at, out)
                                                : row_copy(chunk, i, out);
        graph->begin[first + i + 1] = (uint32_t)(out - graph->target);
    }
    return HS_OK;
}

static hs_status graph_load_chunks(const struct hs_snap *snap, bool with_extra,
                                   const struct hs_progress *progress, struct hs_graph *graph,
                                   struct hs_error *err)
{
    unsigned columns = HS_COL_EDGES | (with_extra ? HS_COL_EXTRA : 0);
    uint64_t n_chunks = hs_snap_totals(snap)->n_chunks;
    uint64_t next = graph->n_tree;
    struct hs_chunk chunk = {0};
    hs_status status = HS_OK;

    for (uint64_t at = 0; at < n_chunks && status == HS_OK; at++) {
        status = hs_progress_tell(progress, "reading the graph", at, n_chunks, err);
        if (status == HS_OK)
            status = hs_snap_load_chunk(snap, at, columns, &chunk, err);
        if (status == HS_OK && (chunk.first != next || chunk.n_blocks > graph->n_nodes - next))
            status = hs_fail(err, HS_FORMAT, "chunk %llu does not follow the one before it",
                             (unsigned long long)at);
        if (status == HS_OK)
            status = graph_append_chunk(&chunk, with_extra, graph, err);
        next += chunk.n_blocks;
    }
    hs_chunk_fini(&chunk);
    if (status == HS_OK && next != graph->n_nodes)
        status = hs_fail(err, HS_FORMAT, "the snapshot has fewer blocks than its trailer says");
    return status;
}

static hs_status graph_load(const struct hs_snap *snap, enum hs_graph_edges edges,
                            const struct hs_progress *progress, struct hs_graph *graph,
                            struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    bool with_extra = edges == HS_GRAPH_RETAINING && totals->n_extra_edges != 0;
    uint64_t n_nodes, capacity;

    if (!hs_add_fits(totals->n_tree, totals->n_blocks, &n_nodes) ||
        !hs_add_fits(totals->n_edges, totals->n_extra_edges, &capacity) ||
        !hs_add_fits(capacity, 2 * totals->n_tree, &capacity))
        return hs_fail(err, HS_LIMIT, "the snapshot has too many nodes or edges");
    HS_TRY(hs_graph_init(n_nodes, totals->n_tree, capacity, graph, err));
    HS_TRY(graph_load_tree(snap, graph, err));
    HS_TRY(graph_load_chunks(snap, with_extra, progress, graph, err));
    graph->n_edges = graph->begin[n_nodes];
    return HS_OK;
}

hs_status hs_graph_load(const struct hs_snap *snap, enum hs_graph_edges edges,
                        const struct hs_progress *progress, struct hs_graph *ret,
                        struct hs_error *err)
{
    struct hs_graph graph = {0};
    hs_status status = graph_load(snap, edges, progress, &graph, err);

    if (status == HS_OK)
        *ret = graph;
    else
        hs_graph_fini(&graph);
    return status;
}

/* ---- reversal ---- */

/* begin[v] = first in-edge of v, by counting. */
static void reverse_count(const struct hs_graph *graph, struct hs_graph *reverse)
{
    uint32_t *begin = reverse->begin;

    for (uint64_t e = 0; e < graph->n_edges; e++)
        begin[graph->target[e]]++;
    for (uint32_t v = 0, sum = 0; v <= graph->n_nodes; v++) {
        uint32_t n = begin[v];
        begin[v] = sum;
        sum += n;
    }
}

hs_status hs_graph_reverse(const struct hs_graph *graph, struct hs_graph *ret, struct hs_error *err)
{
    struct hs_graph reverse;
    uint32_t n = graph->n_nodes;

    HS_TRY(hs_graph_init(n, graph->n_tree, graph->n_edges, &reverse, err));
    reverse.n_edges = graph->n_edges;
    reverse_count(graph, &reverse);
    for (uint32_t u = 0; u < n; u++)
        for (uint32_t e = graph->begin[u]; e < graph->begin[u + 1]; e++)
            reverse.target[reverse.begin[graph->target[e]]++] = u;
    /* Each row's begin has moved to its end, which is the begin of the next. */
    memmove(reverse.begin + 1, reverse.begin, (size_t)n * sizeof(uint32_t));
    reverse.begin[0] = 0;
    assert(reverse.begin[n] == graph->n_edges);
    *ret = reverse;
    return HS_OK;
}
