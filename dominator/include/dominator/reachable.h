/* Exact reachable sizes of every node of the root tree, in one go.
 *
 * A block is reached from exactly those roots that reach the topmost block above it in the
 * dominator tree. So whole dominator subtrees are single nodes of a small *condensed* graph (and
 * what one root alone holds is part of that root); strongly connected ones become one more. On what
 * is left, roots that reach little are searched one by one, the others travel together, hundreds of
 * roots in one pass over the condensed graph, one bit each.
 *
 * Cost: one sweep over the edges, which need not be in memory, and three over the nodes; per pass
 * one sweep over the condensed graph. Resident: 4 bytes per node, and 24 bytes per condensed node
 * and 16 per condensed edge. */
#ifndef HS_DOMINATOR_REACHABLE_H
#define HS_DOMINATOR_REACHABLE_H

#include "dominator/dominators.h"
#include "dominator/owner_sets.h"
#include "dominator/weights.h"
#include "graph/rows.h"

/* `source` is what reachable sizes follow, a root tree in front: tree nodes have targets, but are
 * none of a block; `tree` its dominators. Edges from node 0 to blocks make dominators only and are
 * not followed: they stand for what is held in other ways than by roots; where there are any, sets
 * have no meaning. `owners` (NULL: nobody) takes the owner sets. *ret has n_tree entries, freed
 * with hs_free. */
hs_status hs_reachable_find(const struct hs_row_source *source, const struct hs_domtree *tree,
                            const struct hs_weights *weights, const struct hs_owner_request *owners,
                            const struct hs_progress *progress, struct hs_sizes **ret,
                            struct hs_error *err);

#endif
