/* Trees of owners that rules describe (private): each block of a tree is one of malloc's, begins
 * with a header of links, and is freed with the block above it, whoever else leads to it
 * (docs/rules.md, `owners`).
 *
 *   header   parent, child, next, prev ... in whatever order the rule says
 *
 *   parent's child > first child > next > next ...
 *
 * The files of rules are hostile, as the process is: a block is of a tree by what the rule says
 * that its header holds and by links that lead to blocks, and it hangs where links lead back. What
 * is no tree ends in "lists that end where they should not", which are counted. */
#ifndef HS_OWNERS_TREES_H
#define HS_OWNERS_TREES_H

#include "base/bitmap.h"
#include "base/load.h"
#include "base/table.h"
#include "heaps/allocator.h"
#include "rules/rules.h"

#define OWNERS_NONE UINT32_MAX
enum { OWNERS_MOST_TREES = 16 };

/* A tree that the process may have. */
struct owners_tree {
    const struct hs_rule_tree *layout; /* borrowed */
    const char *name;                  /* borrowed: what the rule calls its blocks */
    hs_str unnamed;                    /* the same, for blocks that have no better name */
    uint32_t n_blocks, n_sound;        /* that hang where they say, or say that they hang nowhere */
};

/* A block of a tree. */
struct owners_block {
    hs_addr begin;
    uint32_t parent, first_child, next; /* OWNERS_NONE: none */
    uint32_t tree;
    hs_str name;
    hs_addr holder; /* of one above which none is: the variable, or the block, that has the word
                       which owns it; 0: not known */
};

struct owners {
    const struct hs_process_copy *process; /* borrowed */
    const struct hs_heap_map *map;         /* borrowed; NULL: not yet */
    struct owners_tree trees[OWNERS_MOST_TREES];
    uint32_t n_trees;
    struct hs_bitmap is_of_tree; /* by rank of a block; its rank there is the block's number */
    struct owners_block *blocks; /* owned */
    uint32_t n_blocks;
    struct hs_dict names;    /* by address of the text */
    uint64_t reserved_bytes; /* of the dump's plan */
    uint64_t n_damaged;      /* lists that end where they should not */
};

static inline bool hs_owners_has(const struct hs_rule_tree *layout, enum hs_tree_word word)
{
    return layout->at[word] != HS_TREE_NONE;
}

/* Returns a word of a header; 0 where the rule has no such word. */
static inline uint64_t hs_owners_word(const struct hs_rule_tree *layout, enum hs_tree_word word,
                                      const uint8_t *header)
{
    return hs_owners_has(layout, word) ? hs_load_u64(header + layout->at[word]) : 0;
}

/* Returns the number of a block; OWNERS_NONE: it is of no tree. O(1). */
uint32_t hs_owners_number(const struct owners *owners, const struct hs_heap_block *block);

/* ---- find.c: finds which blocks are of which tree, and their names; none where there is no room
 * for what there is to know of them, which is noted: then n_blocks stays 0. Three passes over all
 * blocks; 40 bytes for each that is of a tree stay, and a bit a block, reserved in the plan of the
 * dump. */
hs_status hs_owners_find(struct owners *owners, struct hs_error *err);

/* ---- tree.c: finds which block hangs below which. Linear in the blocks of trees. */
void hs_owners_read_trees(struct owners *owners);

/* ---- held.c: finds who has the words that own those above which none is, by what stands beside
 * such a word. One pass over all blocks and the data of binaries, where a rule says what that is;
 * of two such places neither is believed. */
hs_status hs_owners_find_holders(struct owners *owners, struct hs_error *err);

#endif
