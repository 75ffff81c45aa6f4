/* The graph of a snapshot in memory: compressed sparse rows over 32-bit node numbers, the tree of
 * roots included (edges parent -> child and leaf -> target). Duplicate targets are dropped.
 *
 *   begin[n_nodes + 1]  |  target[n_edges]          12.4 bytes per node at 2.1 edges per node
 *
 * Refuses graphs of 2^32 - 2 nodes or edges and more with HS_LIMIT. */
#ifndef HS_GRAPH_GRAPH_H
#define HS_GRAPH_GRAPH_H

#include "base/progress.h"
#include "graph/edges.h"

#define HS_NONE UINT32_MAX

struct hs_graph {
    uint32_t n_nodes, n_tree;
    uint64_t n_edges;
    uint32_t *begin;  /* owned; n_nodes + 1 */
    uint32_t *target; /* owned; n_edges */
    uint64_t target_capacity;
};

/* Makes a graph with room for `capacity` edges and no edge yet: `begin` and `target` are zero,
 * lazily backed. For graphs that do not come from a snapshot; n_tree >= 1 tree nodes come first. */
hs_status hs_graph_init(uint64_t n_nodes, uint64_t n_tree, uint64_t capacity, struct hs_graph *ret,
                        struct hs_error *err);

/* Checks the limits: HS_LIMIT when so many nodes or edges have no room in a graph. */
hs_status hs_graph_fits(uint64_t n_nodes, uint64_t capacity, struct hs_error *err);

/* Decodes degrees and targets of all chunks, and the classes of edges where the choice needs them.
 * Weak roots have no edge. O(n + m). */
hs_status hs_graph_load_chosen(const struct hs_snap *snap, const struct hs_edge_choice *choice,
                               const struct hs_progress *progress, struct hs_graph *ret,
                               struct hs_error *err);
/* The same of edges whatever their tiers. */
hs_status hs_graph_load(const struct hs_snap *snap, enum hs_graph_edges edges,
                        const struct hs_progress *progress, struct hs_graph *ret,
                        struct hs_error *err);
void hs_graph_fini(struct hs_graph *graph);
/* Returns the memory of the arrays of such a graph. */
static inline uint64_t hs_graph_bytes(uint64_t n_nodes, uint64_t capacity)
{
    return (n_nodes + 1 + capacity) * sizeof(uint32_t);
}

/* The row of one node: its targets and their number. */
static inline const uint32_t *hs_graph_row(const struct hs_graph *graph, uint32_t node,
                                           uint32_t *ret_n)
{
    *ret_n = graph->begin[node + 1] - graph->begin[node];
    return graph->target + graph->begin[node];
}

/* Reverses every edge; sources ascending per target. O(n + m), 4 bytes per node and per edge. */
hs_status hs_graph_reverse(const struct hs_graph *graph, struct hs_graph *ret,
                           struct hs_error *err);

/* The same range by range, where the whole would not fit: `begin` is zeroed and has n_nodes + 1
 * entries; each gets the first in-edge of its node. */
void hs_graph_reverse_begin(const struct hs_graph *graph, uint32_t *begin);
/* Lists the sources of the in-edges of the nodes [first, end), first < end: begin[end] -
 * begin[first] of them. Ranges ascend, each node in one: the begins of a range move to the ends of
 * its rows. One sweep over the graph. */
void hs_graph_reverse_range(const struct hs_graph *graph, uint32_t *begin, uint32_t first,
                            uint32_t end, uint32_t *sources);

#endif
