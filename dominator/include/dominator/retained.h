/* Retained sizes: the sum over a node's subtree of the dominator tree, which is what would be freed
 * without the node. They add up: the children of a node share nothing. */
#ifndef HS_DOMINATOR_RETAINED_H
#define HS_DOMINATOR_RETAINED_H

#include "dominator/dominators.h"
#include "dominator/weights.h"

/* One dimension of all reached nodes, by preorder number: 4 bytes each where the total fits. */
struct hs_retained {
    uint32_t n;       /* reached nodes */
    uint32_t *narrow; /* owned; NULL when wide */
    uint64_t *wide;   /* owned; NULL when narrow */
};

/* Sums the subtrees in two sweeps, O(n). */
hs_status hs_retained_sum(const struct hs_domtree *tree, const struct hs_weights *weights,
                          enum hs_dimension dimension, struct hs_retained *ret,
                          struct hs_error *err);
void hs_retained_fini(struct hs_retained *retained);

static inline uint64_t hs_retained_at(const struct hs_retained *retained, uint32_t number)
{
    return retained->narrow != NULL ? retained->narrow[number] : retained->wide[number];
}

/* Static sizes: where static blocks are few, few nodes retain any. */
struct hs_retained_static {
    struct hs_bitmap has; /* by preorder number: nodes that retain static blocks; indexed */
    uint64_t n_has;
    uint64_t *sum; /* owned; by rank in `has` */
};

/* Sums static sizes; `dimension` is a static one. One bit per node and 8 bytes per node that has
 * any. */
hs_status hs_retained_static_sum(const struct hs_domtree *tree, const struct hs_weights *weights,
                                 enum hs_dimension dimension, struct hs_retained_static *ret,
                                 struct hs_error *err);
void hs_retained_static_fini(struct hs_retained_static *retained);

#endif
