/* paths --to type:NAME and set:N: the tree of all paths. */
#ifndef HS_LOOK_TYPE_PATHS_PRINT_H
#define HS_LOOK_TYPE_PATHS_PRINT_H

#include "analysis/type_paths.h"
#include "path_tree_print.h"
#include "set_object.h"
#include "tool.h"

/* Prints the tree as table, TSV or NDJSON. */
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
