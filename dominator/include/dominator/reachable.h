/* Exact reachable sizes of every node of the root tree, in one go.
 *
 * A block is reached from exactly those roots that reach the topmost block above it in the
 * dominator tree. So whole dominator subtrees are single nodes of a small *condensed* graph (and
 * what one root alone holds is part of that root); strongly connected ones become one more. On what
 * is left, roots that reach little are searched one by one, the others travel together, hundreds of
 * roots in one pass over the condensed graph, one bit each.
 *
 * Cost: one sweep over the edges, which need not be in memory, and three over the nodes; per pass
 * one sweep over the condensed graph. Resident: 4.5 bytes per node, and 25 bytes per condensed node
 * and 8 per condensed edge. */
#ifndef HS_DOMINATOR_REACHABLE_H
#define HS_DOMINATOR_REACHABLE_H

#include "dominator/dominators.h"
#include "dominator/owner_sets.h"
#include "dominator/weights.h"
#include "graph/rows.h"

/* `source` is what reachable sizes follow, a root tree in front: tree nodes have targets, but are
 * none of a block; `tree` its dominators. Edges from node 0 to blocks make dominators only and are
 * not followed: they stand for what is held in other ways than by roots; where there are any, sets
 * have no meaning. */
struct hs_reachable_task {
    const struct hs_row_source *source;
    const struct hs_domtree *tree;
    const struct hs_weights *weights;
    const struct hs_owner_request *owners; /* takes the owner sets; NULL: nobody */
    struct hs_budget *budget; /* what is taken beside tree and weights; NULL: no limit */
};

/* Finds reachable sizes: *ret has n_tree entries, freed with hs_free. HS_LIMIT. */
hs_status hs_reachable_find(const struct hs_reachable_task *task,
                            const struct hs_progress *progress, struct hs_sizes **ret,
                            struct hs_error *err);

/* Returns the memory of tree and weights, with the most that is taken beside them. */
uint64_t hs_reachable_input_bytes(uint64_t n_nodes);
struct hs_reachable_counts {
    uint64_t n_nodes, n_tree;
    uint64_t n_shared;   /* blocks with several predecessors, at most */
    uint64_t n_edges;    /* into these, at most */
    uint64_t n_wide;     /* hs_condensed_room's */
    uint64_t sink_bytes; /* hs_owner_request's */
};
uint64_t hs_reachable_bytes(const struct hs_reachable_counts *counts);

#endif
