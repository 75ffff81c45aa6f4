/* A walk of the dominator tree that sums what types retain.
 *
 * What a type retains is the union of what its objects retain: an object below another one of the
 * same type in the dominator tree is in that one's subtree already, so only the topmost count.
 *
 * Resident: 1, 2 or 4 bytes per block for its type, and what node_order.h has room for. */
#ifndef HS_ANALYSIS_TYPE_WALK_H
#define HS_ANALYSIS_TYPE_WALK_H

#include "analysis/type_rows.h"
#include "node_order.h"

struct hs_type_walk {
    const struct hs_view *view;
    void *types; /* owned pages: by block, `width` bytes: 1 + its type's row; 0: not looked at */
    unsigned width;
    struct hs_node_order order; /* owned */
    uint32_t *open;             /* owned: the rows that are open, the innermost last */
    uint32_t n_rows, n_open;
    struct hs_type_row *rows; /* of the run that is under way */
};

/* Begins a walk for up to *ret_lot of n_types types at a time, as the budget has room. HS_LIMIT
 * when there is not a byte for each block. */
hs_status hs_type_walk_init(const struct hs_view *view, uint32_t n_types, struct hs_type_walk *ret,
                            uint32_t *ret_lot, struct hs_error *err);
void hs_type_walk_fini(struct hs_type_walk *walk);

void hs_type_walk_set(struct hs_type_walk *walk, hs_node block, uint32_t type);

/* Walks, and adds to the rows' retained words. Any number of times, with other types set. */
hs_status hs_type_walk_run(struct hs_type_walk *walk, struct hs_type_row *rows,
                           struct hs_error *err);

#endif
