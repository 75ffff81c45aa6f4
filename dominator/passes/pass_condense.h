/* The condensed graph of reachable sizes (dominator/condensed.h) from files of what is said of
 * units. Units without successors are its ends; the graph of the others is made in memory. */
#ifndef HS_PASS_CONDENSE_H
#define HS_PASS_CONDENSE_H

#include "base/bitmap.h"
#include "dominator/condensed.h"

struct pass_links {
    struct hs_budget *budget;
    uint32_t n_tree, n_units;
    struct hs_spill sizes;  /* unit | words | objects | static words | static objects, varints */
    struct hs_spill tops;   /* top units, ascending: node - the one before | unit, varints. Not open
                               where sets are not asked for */
    struct hs_spill edges;  /* unit | n | n units that lead to it, varints; records of a unit stand
                               together */
    uint64_t n_edges;       /* those of the root tree included */
    uint64_t n_wide;        /* nodes of the graph that are too large for hs_unit_sizes, at most */
    uint64_t sink_bytes;    /* of whoever takes sets */
    struct hs_bitmap leads; /* by unit: leads to another block's unit */
    uint32_t *parent;       /* owned pages: of the nodes of the root tree */
};

void pass_condense_links_fini(struct pass_links *links);

/* Takes the links: they are freed on the way. *ret_tops (not open where the links have none) gets
 * top units with their places instead of units (dominator/owner_sets.h); it is zero before. */
hs_status pass_condense_run(struct pass_links *links, struct hs_condensed *ret,
                            struct hs_spill *ret_tops, struct hs_error *err);

#endif
