/* A tree of merged paths: as lines of a table, as rows, and as nested JSON. */
#ifndef HS_LOOK_PATH_TREE_PRINT_H
#define HS_LOOK_PATH_TREE_PRINT_H

#include "analysis/path_tree.h"
#include "tool.h"

/* The extra figures of each node besides its sums; all NULL for counted blocks. */
struct hs_path_tree_extra {
    const uint64_t *error_words; /* by node: of estimates */
    const uint64_t *examples;    /* by node: the id of the largest sample */
};

struct hs_path_tree_shown {
    struct hs_view *view;
    const struct hs_path_tree *tree;
    const struct hs_path_tree_sums *sums; /* by node */
    struct hs_path_tree_extra extra;
    struct hs_path_tree_sums unreached, gone; /* closing lines: what no root reaches, and samples
                                                 whose blocks are not in the heap */
};

/* Prints the `-n` largest lines: a table or TSV, or a line of JSON for each node, with the number
 * of its parent. In a table without `-n` lines of less than 1 % are "[n others]". */
hs_status hs_path_tree_print(struct hs_tool *tool, const struct hs_invocation *inv,
                             const struct hs_path_tree_shown *shown, struct hs_error *err);

/* The members "tree" of a document: each node with its root or step, its sums, and its children;
 * and "tree_others": the roots beyond the limit. `ret` stays where it is. */
struct hs_path_tree_pairs {
    const struct hs_path_tree_shown *shown;
    struct hs_path_tree_lines lines; /* owned */
    struct hs_list list;
    struct hs_pair members[7];
};
hs_status hs_path_tree_pairs_init(const struct hs_path_tree_shown *shown, uint64_t limit,
                                  struct hs_path_tree_pairs *ret, struct hs_error *err);
void hs_path_tree_pairs_fini(struct hs_path_tree_pairs *pairs);

#endif
