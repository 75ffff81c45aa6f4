/* The rows of a graph in memory as a sweep (graph/sweep.h) in small pieces: long rows in parts, and
 * with a gap of isolated nodes of any size in the middle, which costs nothing. Self loops and
 * duplicates are left out. Everything that fails aborts, but for what is told to fail. */
#ifndef HS_TEST_PIECE_SWEEP_H
#define HS_TEST_PIECE_SWEEP_H

#include "graph/sweep.h"

struct hs_piece_source {
    const struct hs_graph *graph;
    uint32_t piece_nodes, piece_edges; /* of a piece at most */
    uint32_t gap_at;                   /* nodes from here on ... */
    uint64_t gap;                      /* ... have numbers so much higher */
    uint32_t *fail_after;              /* NULL, or: pieces until the sweep fails with HS_FORMAT */
};

/* `source` is borrowed. */
struct hs_sweep hs_piece_sweep(const struct hs_piece_source *source);

static inline uint64_t hs_piece_node(const struct hs_piece_source *source, uint32_t node)
{
    return node < source->gap_at ? node : node + source->gap;
}

#endif
