/* The graph of reachable sizes, condensed: dominator subtrees that hang under the inner nodes of
 * the root tree become one node each, then every strongly connected component does.
 *
 *   node number:  0 = sinks ............................ the root tree's node 0 = n_nodes - 1
 *                 every edge leads to a smaller number: descending order is topological */
#ifndef HS_CONDENSED_H
#define HS_CONDENSED_H

#include "dominator/dominators.h"
#include "dominator/weights.h"

struct condensed {
    struct hs_graph graph;  /* no duplicates, no self loops */
    struct hs_sizes *sizes; /* own sizes by node */
    uint32_t *of_tree;      /* the node of each node of the root tree */
    uint32_t n_tree;
};

hs_status condensed_make(const struct hs_graph *graph, const struct hs_domtree *tree,
                         const struct hs_weights *weights, const struct hs_progress *progress,
                         struct condensed *ret, struct hs_error *err);
void condensed_fini(struct condensed *condensed);

#endif
