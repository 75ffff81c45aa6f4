/* Retained sizes: the sum over a node's subtree of the dominator tree, which is what would be freed
 * without the node. They add up: the children of a node share nothing. */
#ifndef HS_DOMINATOR_RETAINED_H
#define HS_DOMINATOR_RETAINED_H

#include "dominator/dominators.h"
#include "dominator/weights.h"

/* One dimension of all nodes by preorder number: n_reached entries in room for n_nodes, freed with
 * hs_pages_free(sum, n_nodes, sizeof(uint64_t)). Two sweeps, O(n). */
hs_status hs_retained_sum(const struct hs_domtree *tree, const struct hs_weights *weights,
                          enum hs_dimension dimension, uint64_t **ret, struct hs_error *err);

#endif
