/* paths --to type:NAME and set:N: one tree of the shortest paths to all blocks of a type, or to all
 * top units of an owner set, which count for all that they retain. */
#ifndef HS_LOOK_TYPE_PATHS_PRINT_H
#define HS_LOOK_TYPE_PATHS_PRINT_H

#include "analysis/path_tree.h"
#include "path_tree_print.h"
#include "set_object.h"
#include "tool.h"

struct hs_type_paths {
    struct hs_view *view;
    struct hs_type_family type;
    uint32_t set; /* 0: of a type */
    struct hs_instances instances;
    struct hs_path_tree tree;
    struct hs_path_tree_sums *sums; /* owned */
};

hs_status hs_type_paths_find(struct hs_view *view, struct hs_type_family type,
                             struct hs_type_paths *ret, struct hs_error *err);
hs_status hs_set_paths_find(struct hs_view *view, uint32_t set, struct hs_type_paths *ret,
                            struct hs_error *err);
void hs_type_paths_fini(struct hs_type_paths *paths);

/* Table, TSV and NDJSON. */
hs_status hs_type_paths_print(struct hs_tool *tool, const struct hs_invocation *inv,
                              const struct hs_type_paths *paths, struct hs_error *err);
/* The members "instances" (of a set: "set") of a document, and those of the tree. `ret` stays where
 * it is. */
struct hs_type_paths_pairs {
    struct hs_path_tree_shown shown;
    struct hs_set_of set_of;
    struct hs_list set;
    char name[HS_TYPE_NAME_BYTES];
    struct hs_pair members[9];
    struct hs_path_tree_pairs tree; /* owned */
};
hs_status hs_type_paths_pairs_init(const struct hs_type_paths *paths, uint64_t limit,
                                   struct hs_type_paths_pairs *ret, struct hs_error *err);

#endif
