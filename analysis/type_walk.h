/* A walk of the dominator tree that sums what types retain.
 *
 * What a type retains is the union of what its objects retain: an object below another one of the
 * same type in the dominator tree is in that one's subtree already, so only the topmost count.
 *
 * The walk comes to nodes in no order of the index, where finding one means stepping over others:
 * where there is room, what they retain and where their rows begin is read once, in order.
 *
 * Resident: 1, 2 or 4 bytes per block for its type, a bit, and 6 bytes, where there is room. */
#ifndef HS_ANALYSIS_TYPE_WALK_H
#define HS_ANALYSIS_TYPE_WALK_H

#include "analysis/type_rows.h"

struct hs_type_walk {
    const struct hs_view *view;
    void *types; /* owned pages: by block, `width` bytes: 1 + its type's row; 0: not looked at */
    unsigned width;
    uint64_t *dominates; /* owned pages: a bit by node that dominates others; NULL: no room */
    uint16_t *places;    /* owned pages: by node (tree_walk.h); NULL: no room */
    uint32_t *retained; /* owned pages: words by node, UINT32_MAX: to be asked for; NULL: no room */
    uint32_t *open;     /* owned: the rows that are open, the innermost last */
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
