/* The search of the forest, and the places that it gives. */
#ifndef HS_FOREST_SEARCH_H
#define HS_FOREST_SEARCH_H

#include "forest_lists.h"
#include "passes/passes.h"

/* Searches the trees of node 0 and then of each node of `is_multi`, depth first: order, depths,
 * max_depth, n_positions, is_head and n_core of the result. HS_LIMIT when there are too many core
 * nodes. O(nodes visited). */
hs_status forest_search_run(const struct forest_lists *lists, const struct hs_bitmap *is_multi,
                            const struct hs_progress *progress, struct hs_passes *passes,
                            struct hs_error *err);

/* Finds the position of each node, plus one; 0: it has none. Not filled beforehand, so that nodes
 * without any cost nothing. */
hs_status forest_places_read(const struct hs_passes *passes, const struct hs_progress *progress,
                             struct hs_ids *ret, struct hs_error *err);

/* Writes passes->core_edges. */
hs_status forest_link_write(const struct hs_sweep *backward, const struct hs_ids *places,
                            const struct hs_progress *progress, struct hs_passes *passes,
                            struct hs_error *err);

#endif
