/* The dominator tree below a place, by types: blocks whose dominators are of the same types, runs
 * and recurrences folded, are one group.
 *
 *   list > cell > cell > text > cell > text        list  >  cell  >  text
 *                                                     1       3       2 blocks
 *
 * A type that stands on the way from the top already is that group again, so a list, a tree and
 * types that refer to each other by turns are one step, however deep. What has no telling name (an
 * array, a dict: type_rank.h) folds only as far as the nearest class above it, whose part it is.
 * The parts that Python's objects have in blocks of their own are of the object's group: not
 * counted. Blocks of which nothing is known but their size are of one type. At most HS_GROUP_STEPS
 * steps, and HS_GROUPS_MOST groups in all: what would be more belongs to the group above it,
 * uncounted. */
#ifndef HS_ANALYSIS_GROUP_TREE_H
#define HS_ANALYSIS_GROUP_TREE_H

#include "analysis/suspects.h"
#include "base/table.h"
#include "node_order.h"

#define HS_GROUPS_MOST (1u << 18)
#define HS_NO_GROUP UINT32_MAX

enum { HS_KIND_TREE, HS_KIND_UNTYPED, HS_FIRST_TYPED };

/* The kinds by which blocks are grouped: 0 for nodes of the root tree, which belong to the group
 * they stand in, 1 for blocks without a type, then one for each type. */
struct hs_group_kinds {
    struct hs_view *view; /* borrowed */
    uint16_t *of_type;    /* owned: by type */
    uint32_t *types;      /* owned: by kind */
    uint8_t *ranks;       /* owned: by kind: enum hs_type_rank */
    bool *are_parts;      /* owned: by kind: of Python's objects, which they belong to */
    uint32_t n_kinds;
    void *of_block; /* owned pages: by block, 1 or 2 bytes */
    unsigned width;
    uint64_t reserved_bytes;
    struct hs_node_order order; /* owned; of nothing unless it is read */
};

/* Finds the kinds in one pass over the types of the blocks. Resident: a byte per block, two when
 * there are more than 255 types; types beyond 65,534 count as none. */
hs_status hs_group_kinds_init(struct hs_view *view, struct hs_group_kinds *ret,
                              struct hs_error *err);
/* Reads in order what walks ask of each node, once, where places of so many words are to be walked
 * that it takes less time than the walks save: a sixteenth of the heap. */
hs_status hs_group_kinds_read_order(struct hs_group_kinds *kinds, uint64_t words,
                                    struct hs_error *err);
void hs_group_kinds_fini(struct hs_group_kinds *kinds);

struct hs_group {
    uint32_t parent; /* a smaller number; HS_NO_GROUP for the first */
    uint32_t kind, steps;
    uint64_t n_blocks;
    uint64_t n_heads; /* of these: whose dominators are of the group above it */
    hs_node top;      /* of its blocks the one that retains most */
    uint64_t top_words;
    uint64_t own_words, words; /* of its blocks; with the groups below it */
};

struct hs_group_tree {
    const struct hs_group_kinds *kinds; /* borrowed */
    struct hs_group *groups;            /* owned: number 0 is the place */
    size_t n, capacity;
    struct hs_table by_content;
    uint64_t doubtful_words; /* of the place, which nothing but doubtful words keep */
    uint64_t untyped_words;  /* in blocks without a type, whose words count by their values */
    uint64_t reserved_bytes;
};

/* The place at which a group tree begins: a node of the root tree, several roots, or the blocks
 * that stand directly below inner nodes of the root tree and are of one owner set. */
struct hs_group_place {
    hs_node node; /* HS_NO_NODE: several roots, or a set */
    uint32_t set;
    const hs_node *roots; /* borrowed; NULL: a set */
    size_t n_roots;
};

struct hs_tree_walk;
/* Walks all below the place, which is entered with 0. *ret_words: what it retains. */
hs_status hs_group_walk_place(const struct hs_group_place *place, struct hs_tree_walk *walk,
                              uint64_t *ret_words, struct hs_error *err);

/* Walks all below the place once. 88 bytes a group, of the budget. */
hs_status hs_group_tree_init(const struct hs_group_kinds *kinds, const struct hs_group_place *place,
                             struct hs_group_tree *ret, struct hs_error *err);
void hs_group_tree_fini(struct hs_group_tree *tree);

/* The largest group directly below one, leaving out `except`; HS_NO_GROUP when there is none. Ties:
 * the first type. */
uint32_t hs_group_largest(const struct hs_group_tree *tree, uint32_t group, uint32_t except);

/* Sums the words that hang on plain pointers of C++ to records of the program: no smart pointer and
 * no container has them, so that nothing says who frees them. By the types of groups. O(groups). */
hs_status hs_group_plain_words(const struct hs_group_tree *tree, uint64_t *ret,
                               struct hs_error *err);

/* Finds the group in which the memory of a place has come together (analysis/suspects.h). Walks all
 * of it once more. */
hs_status hs_group_accumulation(const struct hs_group_tree *tree,
                                const struct hs_group_place *place, unsigned follow_percent,
                                struct hs_accumulation *ret, struct hs_error *err);

#endif
