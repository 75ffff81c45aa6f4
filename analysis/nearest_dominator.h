/* The nearest dominator that has a value, and that value, for many nodes: each part of the
 * dominator tree is climbed a few times at most, however long the lists that the nodes stand in.
 *
 *   of the nodes that are passed every n-th is remembered, n growing with how many there were
 *
 * Resident: some MiB however large the heap, reserved in the budget. */
#ifndef HS_ANALYSIS_NEAREST_DOMINATOR_H
#define HS_ANALYSIS_NEAREST_DOMINATOR_H

#include "analysis/view.h"
#include "base/table.h"

#define HS_NEAREST_NONE UINT64_MAX

struct hs_nearest {
    const struct hs_view *view;
    /* Returns the value that is taken from a node of the root tree; `below` is the block by which
     * it was climbed to, HS_NO_NODE when the climb began at it. */
    uint64_t (*value_of)(const void *context, hs_node tree_node, hs_node below);
    const void *context;
    struct hs_dict known; /* nodes that were passed */
    uint64_t n_passed;
    uint64_t taken_bytes;
};

void hs_nearest_init(const struct hs_view *view,
                     uint64_t (*value_of)(const void *, hs_node tree_node, hs_node below),
                     const void *context, struct hs_nearest *ret);
void hs_nearest_fini(struct hs_nearest *climb);

/* Finds that value. HS_NEAREST_NONE for what no root reaches, and where the tree goes round in a
 * circle. */
hs_status hs_nearest_find(struct hs_nearest *climb, hs_node node, uint64_t *ret,
                          struct hs_error *err);

#endif
