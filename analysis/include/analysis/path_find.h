/* Paths from roots to an object, searched backwards over the index. */
#ifndef HS_ANALYSIS_PATH_FIND_H
#define HS_ANALYSIS_PATH_FIND_H

#include "analysis/view.h"
#include "graph/paths.h"

/* The root that a path begins at, of the leaf that is its first node. */
hs_node hs_path_root(const struct hs_view *view, hs_node leaf);

/* Whether an edge that a row of predecessors tells of keeps anything: what no root reaches does
 * not. Every search from an object to its roots asks here. */
static inline bool hs_path_edge_is_used(const struct hs_view *view, hs_node source, hs_node target)
{
    (void)target;
    return hs_index_is_reached(view->index, source);
}

/* Shortest paths from up to `limit` roots (0: all) to a block. */
hs_status hs_paths_to(const struct hs_view *view, hs_node target, uint64_t limit, bool disjoint,
                      struct hs_paths *ret, struct hs_error *err);

#endif
