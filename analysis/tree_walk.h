/* A walk of the dominator tree from above. Each node is entered with what its dominator was given,
 * and is given a number of its own, which its children are entered with.
 *
 * The walk leaves a node behind when it comes to its last child. Where more than 64 nodes wait all
 * the same, it visits the largest child last, so that no more than 64 others come to wait however
 * deep the tree: each holds less than half of what the one before it holds. */
#ifndef HS_ANALYSIS_TREE_WALK_H
#define HS_ANALYSIS_TREE_WALK_H

#include "node_order.h"

#define HS_TREE_WALK_SKIP UINT32_MAX /* given to a node whose children are not to be entered */

struct hs_tree_walk {
    const struct hs_view *view;
    hs_status (*enter)(void *context, hs_node node, uint32_t above, uint32_t *ret,
                       struct hs_error *err);
    void *context;
    const struct hs_node_order *order; /* borrowed; NULL: the index is asked for each node */
    const char *what;                  /* for progress */
    uint64_t n_entered;                /* by all runs */
};

/* Enters `from` with `above`, then all below it. HS_FORMAT when the runs together come to more
 * nodes than there are: the tree goes round in a circle. O(nodes entered), a few KiB. */
hs_status hs_tree_walk_run(struct hs_tree_walk *walk, hs_node from, uint32_t above,
                           struct hs_error *err);

#endif
