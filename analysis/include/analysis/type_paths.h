/* One tree of the shortest paths to all blocks of a type, or to all top units of an owner set,
 * which count for all that they retain. */
#ifndef HS_ANALYSIS_TYPE_PATHS_H
#define HS_ANALYSIS_TYPE_PATHS_H

#include "analysis/path_tree.h"

struct hs_type_paths {
    struct hs_view *view;
    struct hs_type_family type;
    uint32_t set; /* 0: of a type */
    struct hs_instances instances;
    struct hs_path_tree tree;
    struct hs_path_tree_sums *sums; /* owned */
};

/* Finds the paths to all blocks of a type, or to one of every `stride` when there are very many; to
 * all tops of a set. */
hs_status hs_type_paths_find(struct hs_view *view, struct hs_type_family type,
                             struct hs_type_paths *ret, struct hs_error *err);
hs_status hs_set_paths_find(struct hs_view *view, uint32_t set, struct hs_type_paths *ret,
                            struct hs_error *err);
void hs_type_paths_fini(struct hs_type_paths *paths);
/* The blocks that stand in the tree. */
uint64_t hs_type_paths_n_followed(const struct hs_type_paths *paths);

#endif
