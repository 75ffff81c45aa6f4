/* Paths from roots to an object, searched backwards over the index. */
#ifndef HS_ANALYSIS_PATH_FIND_H
#define HS_ANALYSIS_PATH_FIND_H

#include "analysis/view.h"
#include "graph/paths.h"

/* The root that a path begins at, of the leaf that is its first node. */
hs_node hs_path_root(const struct hs_view *view, hs_node leaf);

/* Finds shortest paths from up to `limit` roots (0: all) to a block. */
hs_status hs_paths_to(const struct hs_view *view, hs_node target, uint64_t limit, bool disjoint,
                      struct hs_paths *ret, struct hs_error *err);
/* The same until the caller has enough, as is_enough of struct hs_path_query says. */
hs_status hs_paths_until(const struct hs_view *view, hs_node target, uint64_t limit,
                         bool (*is_enough)(void *context, const struct hs_paths *found,
                                           size_t least_nodes),
                         void *context, struct hs_paths *ret, struct hs_error *err);

#endif
