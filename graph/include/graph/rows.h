/* The rows of a graph from first to last node, piece by piece, without the graph in memory: for
 * what only sweeps over the edges once. Decoding a snapshot again costs less than keeping 4 bytes
 * per node and edge.
 *
 *   piece:   rows of the nodes [first, first + n)
 *   row i:   target[begin[i] .. begin[i + 1])        ascending, no duplicates from snapshots
 *
 * A snapshot comes as its root tree in one piece, then one piece per chunk: 20 bytes per tree node,
 * one chunk at a time. */
#ifndef HS_GRAPH_ROWS_H
#define HS_GRAPH_ROWS_H

#include "graph/graph.h"

/* A source of rows: a graph in memory, or else the edges of a snapshot. All borrowed. */
struct hs_row_source {
    const struct hs_graph *graph;
    const struct hs_snap *snap; /* when graph is NULL */
    enum hs_graph_edges edges;  /* of the snapshot's, these; the same as of struct hs_edge_choice */
    const struct hs_tiers *tiers;
    const struct hs_bitmap *pointers_in;
};

/* Borrowed, valid during the call that gets it. begin[0] is 0 unless the graph is in memory. */
struct hs_rows {
    uint32_t first, n;
    const uint32_t *begin; /* n + 1 */
    const uint32_t *target;
};

struct hs_row_sink {
    hs_status (*put)(void *context, const struct hs_rows *rows, struct hs_error *err);
    void *context;
};

/* The counts of what a sweep will emit: nodes, those of the root tree among them, and edges at
 * most. HS_LIMIT for graphs that struct hs_graph has no room for. */
struct hs_row_counts {
    uint32_t n_nodes, n_tree;
    uint64_t max_edges;
};
hs_status hs_rows_count(const struct hs_row_source *source, struct hs_row_counts *ret,
                        struct hs_error *err);

/* Emits all rows to the sink, ends at its first failure. HS_FORMAT when the snapshot has other
 * nodes or more edges than its trailer says. */
hs_status hs_rows_sweep(const struct hs_row_source *source, const struct hs_progress *progress,
                        const struct hs_row_sink *sink, struct hs_error *err);

#endif
