#include "owners/trees.h"

/* Finds the block of a tree that an address leads to the start of; OWNERS_NONE: there is none. */
static uint32_t block_at(const struct owners *owners, uint32_t tree, hs_addr at,
                         struct hs_heap_block *ret)
{
    if (at == 0 || hs_heap_map_resolve(owners->map, at, ret) != HS_POINTER_START)
        return OWNERS_NONE;
    uint32_t number = hs_owners_number(owners, ret);
    return number != OWNERS_NONE && owners->blocks[number].tree == tree ? number : OWNERS_NONE;
}

/* Hangs a block below another one; false when it hangs somewhere already, or is that one. */
static bool join(struct owners *owners, uint32_t child, uint32_t parent)
{
    struct owners_block *block = &owners->blocks[child];

    if (block->parent != OWNERS_NONE || child == parent)
        return false;
    block->parent = parent;
    block->next = owners->blocks[parent].first_child;
    owners->blocks[parent].first_child = child;
    return true;
}

/* Hangs the list of its children below a block. Each is joined once, so no list is endless. */
static void add_children(struct owners *owners, const struct hs_heap_block *block, uint32_t number)
{
    const uint32_t tree = owners->blocks[number].tree;
    const struct hs_rule_tree *layout = owners->trees[tree].layout;
    hs_addr child = hs_owners_word(layout, HS_TREE_CHILD, block->bytes), elder = 0;

    while (child != 0) {
        struct hs_heap_block found;
        uint32_t below = block_at(owners, tree, child, &found);
        bool is_sound = below != OWNERS_NONE;
        if (is_sound && hs_owners_has(layout, HS_TREE_PREV))
            is_sound = hs_owners_word(layout, HS_TREE_PREV, found.bytes) == elder;
        if (is_sound && elder == 0 && hs_owners_has(layout, HS_TREE_PARENT))
            is_sound = hs_owners_word(layout, HS_TREE_PARENT, found.bytes) == block->begin;
        if (!is_sound || !join(owners, below, number)) {
            owners->n_damaged++;
            return;
        }
        elder = child;
        child = hs_owners_word(layout, HS_TREE_NEXT, found.bytes);
    }
}

/* Hangs a block below the one that it says, where no list tells. */
static void add_to_parent(struct owners *owners, const struct hs_heap_block *block, uint32_t number)
{
    const uint32_t tree = owners->blocks[number].tree;
    hs_addr at = hs_owners_word(owners->trees[tree].layout, HS_TREE_PARENT, block->bytes);
    struct hs_heap_block found;
    uint32_t parent = block_at(owners, tree, at, &found);

    if (at != 0 && (parent == OWNERS_NONE || !join(owners, number, parent)))
        owners->n_damaged++;
}

/* Counts the blocks that hang where they say. */
static void count_sound(struct owners *owners)
{
    struct hs_heap_iterator it = {.map = owners->map};
    struct hs_heap_block block;
    uint32_t number;

    while (hs_heap_map_next(&it, &block)) {
        if ((number = hs_owners_number(owners, &block)) == OWNERS_NONE)
            continue;
        struct owners_tree *tree = &owners->trees[owners->blocks[number].tree];
        tree->n_sound += owners->blocks[number].parent != OWNERS_NONE ||
                         (hs_owners_word(tree->layout, HS_TREE_PARENT, block.bytes) == 0 &&
                          hs_owners_word(tree->layout, HS_TREE_PREV, block.bytes) == 0);
    }
}

void hs_owners_read_trees(struct owners *owners)
{
    struct hs_heap_iterator it = {.map = owners->map};
    struct hs_heap_block block;
    uint32_t number;

    while (hs_heap_map_next(&it, &block)) {
        if ((number = hs_owners_number(owners, &block)) == OWNERS_NONE)
            continue;
        if (hs_owners_has(owners->trees[owners->blocks[number].tree].layout, HS_TREE_CHILD))
            add_children(owners, &block, number);
        else
            add_to_parent(owners, &block, number);
    }
    count_sound(owners);
}
