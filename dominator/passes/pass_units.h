/* The units of reachable sizes (dominator/condensed.h) over the dominator tree in pieces.
 *
 *   region 0:       a position belongs to the last *mark* before it: a node of the root tree, or a
 *                   block that node 0 itself holds, which is not followed and belongs to no unit
 *   other regions:  whole: where the immediate dominator of their core node belongs, unless that is
 *                   an inner node of the root tree: then the core node is the head of a new unit
 *
 * A leaf's blocks stand right behind it, and inner nodes hold none. Resident: 0.14 bytes per
 * position of region 0, 12 per node of the root tree, 4.2 per core node. */
#ifndef HS_PASS_UNITS_H
#define HS_PASS_UNITS_H

#include "dominator/owner_sets.h"
#include "passes/passes.h"

struct pass_units {
    const struct hs_passes *passes;
    uint32_t n_tree, n_units;
    struct hs_bitmap is_mark;  /* by position of region 0; indexed */
    uint32_t *of_mark;         /* owned pages: by rank; HS_NONE: none. Room for 2 n_tree + 2 */
    uint32_t *parent;          /* owned pages: by node of the root tree; HS_NONE for node 0 */
    struct hs_bitmap is_inner; /* by node of the root tree: has children there */
    uint32_t *of_core;         /* owned pages: by core node; HS_NONE: none, or not reached */
    struct hs_bitmap is_head;  /* by core node: the first of its unit */
    const struct hs_owner_roots *roots; /* borrowed; NULL: sets are not asked for */
    struct hs_bitmap is_top;            /* by core node, with roots: heads that are top units */
};

hs_status pass_units_find(const struct hs_passes *passes, const struct hs_owner_roots *roots,
                          struct pass_units *ret, struct hs_error *err);
void pass_units_fini(struct pass_units *units);

/* Returns the end of region 0. */
static inline uint64_t pass_units_end(const struct pass_units *units)
{
    return units->is_mark.n_bits;
}

/* Returns the unit of a position in region 0; HS_NONE: none. */
static inline uint32_t pass_units_of_mark(const struct pass_units *units, uint64_t position)
{
    return units->of_mark[hs_bitmap_rank(&units->is_mark, position + 1) - 1];
}

/* Returns the unit of any position; HS_NONE: none, or not reached. */
static inline uint32_t pass_units_of(const struct pass_units *units, uint64_t position)
{
    if (position < pass_units_end(units))
        return pass_units_of_mark(units, position);
    return units->of_core[hs_bitmap_rank(&units->passes->is_head, position + 1) - 1];
}

#endif
