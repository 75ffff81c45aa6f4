/* The top units of an owner set: blocks that its roots keep together and that nothing else below
 * the root tree does (index/index.h). All that the set keeps hangs on them. */
#ifndef HS_ANALYSIS_SET_TOPS_H
#define HS_ANALYSIS_SET_TOPS_H

#include "analysis/path_tree.h"
#include "analysis/view.h"

/* One after the other, those below one node of the tree ascending. O(children of all groups). */
struct hs_set_tops {
    const struct hs_view *view;
    uint32_t set;
    hs_node group; /* whose children come next, + 1 */
    struct hs_row row;
};
struct hs_set_tops hs_set_tops_of(const struct hs_view *view, uint32_t set);
bool hs_set_tops_next(struct hs_set_tops *tops, hs_node *ret);

/* Makes all of them targets of paths, each with all that it retains. */
hs_status hs_instances_of_set(struct hs_view *view, uint32_t set, struct hs_instances *ret,
                              struct hs_error *err);

/* The set that keeps a block: 0 when a root alone does, or nothing. */
uint32_t hs_set_keeping(const struct hs_view *view, hs_node node);

#endif
