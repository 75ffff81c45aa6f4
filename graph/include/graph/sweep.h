/* Rows of a graph of any size from first to last node, piece by piece, 64-bit numbers: what the
 * out-of-core passes read. (graph/rows.h is the same for graphs of less than 2^32 nodes.)
 *
 *   piece:   rows of the nodes [first, first + n)
 *   row i:   target[begin[i] .. begin[i + 1])     ascending, no duplicates
 *
 * A row too long for one piece comes as several pieces with n == 1, one after the other, each with
 * `of_row` set to the number of targets of the whole row. */
#ifndef HS_GRAPH_SWEEP_H
#define HS_GRAPH_SWEEP_H

#include "base/bitmap.h"
#include "base/budget.h"
#include "graph/graph.h"

/* The memory that a sweep over a snapshot takes from the budget for each chunk that it decodes
 * ahead, and at least for one: a chunk of a heap, unpacked and decoded. More where a chunk has more
 * edges, as one with a block of millions of pointers has (hs_sweep_slot_bytes). */
#define HS_SWEEP_SLOT_BYTES ((uint64_t)3 << 20)
/* The nodes that share a counter of in-edges. */
#define HS_SWEEP_RUN 1024
/* The most nodes and targets of one piece. */
#define HS_PIECE_NODES ((uint32_t)1 << 16)
#define HS_PIECE_TARGETS ((uint64_t)1 << 20)

struct hs_piece {
    hs_node first;
    uint32_t n;
    uint64_t of_row;       /* 0: whole rows */
    const uint64_t *begin; /* n + 1; begin[0] == 0 */
    const hs_node *target;
};

/* Borrowed, valid during the call that gets it. */
struct hs_piece_sink {
    hs_status (*put)(void *context, const struct hs_piece *piece, struct hs_error *err);
    void *context;
};

/* Something that can be swept any number of times, with the same rows each time. */
struct hs_sweep {
    hs_status (*run)(const void *context, const struct hs_piece_sink *sink, struct hs_error *err);
    const void *context;
    uint64_t n_nodes, n_tree;
    uint64_t max_edges;   /* never more than these */
    uint64_t large_bytes; /* of the budget during a run, beyond HS_SWEEP_SLOT_BYTES: for a chunk
                             that is larger than usual */
};

/* The edges of a snapshot, root tree first, then one piece per chunk (a long row in parts): strong
 * edges, or with active ephemeron edges. Self loops and duplicates are left out. HS_FORMAT when the
 * snapshot has other nodes or more edges than its trailer says. Resident, and reserved in the
 * budget during a run: 8 bytes per node of the tree at its start; then one chunk, 2 to 3 MiB on
 * heaps (hs_sweep_slot_bytes), for each thread that the budget allows and has memory for: the next
 * chunks are decoded meanwhile. */
struct hs_snap_sweep {
    const struct hs_snap *snap;
    enum hs_graph_edges edges; /* the same as of struct hs_edge_choice */
    const struct hs_tiers *tiers;
    const struct hs_bitmap *pointers_in;
    const struct hs_bitmap
        *held;                /* NULL, or by node: node 0 gets an edge to each of these blocks */
    struct hs_budget *budget; /* NULL: no limit, one thread */
    const struct hs_progress *progress;
    const char *phase; /* told to progress with the chunks of the pass */
};
/* Returns the memory of the largest chunk, as the trailer has it; O(chunks). */
uint64_t hs_sweep_slot_bytes(const struct hs_snap_sweep *source);
/* Makes a sweep; `source` and what it points to are borrowed as long as it is used. */
hs_status hs_sweep_of_snap(const struct hs_snap_sweep *source, struct hs_sweep *ret,
                           struct hs_error *err);

/* Makes a sweep of the rows of a graph in memory, without self loops; `graph` is borrowed. For
 * tests and benchmarks. */
struct hs_sweep hs_sweep_of_graph(const struct hs_graph *graph);

#endif
