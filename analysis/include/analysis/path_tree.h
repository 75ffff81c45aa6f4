/* Shortest paths from roots to many blocks, merged into one tree:
 *
 *   g_shop                            12,000 objects
 *     struct shop.orders               9,000     of these, by this member
 *       struct order *[][]             9,000     any element of an array
 *         struct order                 9,000     the blocks that were asked for
 *     struct shop.last                 3,000
 *
 * A node is a root, or a type with the member by which paths leave its blocks; where they end there
 * is none. Alike steps in a row are one node: a list is one by its member, a tree of blocks of one
 * type by whatever members. Elements of arrays are one, too, and so are the words of a large block
 * without known members. Beyond HS_PATH_TREE_DEPTH steps only the last one is kept.
 *
 * Cost: the union of the paths, each block on it read once. Resident, reserved in the budget: some
 * 80 bytes for each of its blocks. */
#ifndef HS_ANALYSIS_PATH_TREE_H
#define HS_ANALYSIS_PATH_TREE_H

#include "analysis/type_family.h"
#include "base/table.h"

#define HS_PATH_TREE_DEPTH 32
#define HS_PATH_TREE_NONE UINT32_MAX
/* A value in place of an offset, as HS_NO_OFFSET is where paths end: */
#define HS_PATH_TREE_ANY (UINT64_MAX - 1) /* one of many members or words */

/* The type of a target of whose block nothing is known but the size. */
#define HS_PATH_TREE_UNTYPED (UINT32_MAX - 1)

struct hs_path_tree_node {
    hs_node root;          /* HS_NO_NODE: a step */
    uint32_t parent;       /* smaller than its own number; HS_PATH_TREE_NONE for a root */
    uint32_t type;         /* of a step */
    uint64_t offset_words; /* of a step; in an array of known elements the offset within one */
    uint32_t depth;        /* 0 for a root */
    bool is_element;       /* the offset counts in any element of an array */
    bool is_run;           /* some path has more than one such step here */
};

struct hs_path_tree_target {
    hs_node node;            /* HS_NO_NODE: none, it counts as unreached */
    uint64_t words, objects; /* that it counts for */
    uint32_t type;
};

struct hs_path_tree {
    struct hs_path_tree_node *nodes; /* owned */
    size_t n, capacity;
    struct hs_table by_content;
    uint32_t *of_target; /* owned pages: where the path to each target ends, a node of the tree;
                            HS_PATH_TREE_NONE: no root reaches it, or it was not followed */
    size_t n_targets;
    uint64_t
        n_unfollowed; /* reached ones that were left out, the searches having become too long */
    struct hs_view *view;
    uint64_t taken_bytes;
};

/* Merges the shortest paths to the targets. HS_LIMIT over the budget or when asked to end. */
hs_status hs_path_tree_make(struct hs_view *view, const struct hs_path_tree_target *targets,
                            size_t n_targets, struct hs_path_tree *ret, struct hs_error *err);
void hs_path_tree_fini(struct hs_path_tree *tree);

/* ---- what to show of it */

/* The sums of what the paths through a node lead to. */
struct hs_path_tree_sums {
    uint64_t objects, words;
};

/* A line of the tree: a node, or a chain of nodes each of which has one child with the same sums.
 */
struct hs_path_tree_line {
    uint32_t first, last; /* nodes; the same unless it is a chain */
    uint32_t depth;       /* in lines */
    uint32_t n_hidden;    /* children of the last that are not shown */
    struct hs_path_tree_sums hidden;
};

struct hs_path_tree_lines {
    struct hs_path_tree_line *lines; /* owned: parents before children, the largest first */
    size_t n, capacity;
    uint64_t n_hidden; /* roots that are not shown */
    struct hs_path_tree_sums hidden;
};

/* Sums by node what ends at the targets. Owned by the caller. O(targets + nodes). */
hs_status hs_path_tree_sum(const struct hs_path_tree *tree,
                           const struct hs_path_tree_target *targets,
                           struct hs_path_tree_sums **ret, struct hs_error *err);

/* Finds the `limit` lines (0: all) whose sums are largest, without those of less than `least_words`
 * beyond the first HS_PATH_TREE_FEW; `chained`, or a line for each node. `sums` are by node,
 * children within their parents'. Sorting; 16 bytes a node meanwhile. */
#define HS_PATH_TREE_FEW 10
hs_status hs_path_tree_show(const struct hs_path_tree *tree, const struct hs_path_tree_sums *sums,
                            uint64_t limit, uint64_t least_words, bool chained,
                            struct hs_path_tree_lines *ret, struct hs_error *err);
void hs_path_tree_lines_fini(struct hs_path_tree_lines *lines);

/* ---- the blocks of a type */

#define HS_INSTANCES_MOST 1000000

struct hs_instances {
    struct hs_path_tree_target *targets; /* owned: each `stride`th that a root reaches */
    size_t n, capacity;
    uint64_t stride;
    struct hs_path_tree_sums reached, unreached; /* of all */
    uint64_t taken_bytes;
    struct hs_budget *budget;
};

/* Finds the blocks of a type in two passes over the types. At most HS_INSTANCES_MOST targets. */
hs_status hs_instances_of(struct hs_view *view, struct hs_type_family type,
                          struct hs_instances *ret, struct hs_error *err);
void hs_instances_fini(struct hs_instances *instances);

#endif
