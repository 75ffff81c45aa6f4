#include "base/alloc.h"
#include "carve.h"
#include "owners/trees.h"
#include "process/dump_plan.h"

enum {
    NAME_BYTES = 96,
    MOST_NAMES = 1 << 16,
    SLACK_BYTES = 40, /* what malloc gives beyond what it is asked for */
    SLACK_SHARE = 4,  /* jemalloc: up to a quarter of a block */
    ROOM_SHARE = 2,   /* of the memory that is left, the most that trees get */
};
#define BITS_BYTES(n_bits) ((n_bits) / 8 + (n_bits) / 64 + 16) /* of an indexed bitmap */

/* ---- headers */

/* Tells whether a header holds what the rule says of it, but for its links. */
static bool is_marked(const struct hs_rule_tree *layout, const struct hs_heap_block *block)
{
    const uint64_t header_bytes = layout->at[HS_TREE_HEADER];

    if (block->bytes == NULL || block->n_bytes < header_bytes)
        return false;
    if (hs_owners_has(layout, HS_TREE_MAGIC) &&
        (hs_load_u32(block->bytes + layout->at[HS_TREE_MAGIC]) & layout->mask) !=
            (layout->magic & layout->mask))
        return false;
    if (hs_owners_has(layout, HS_TREE_END)) {
        uint64_t used = hs_owners_word(layout, HS_TREE_END, block->bytes) - block->begin;
        if (used < header_bytes || used > block->n_bytes ||
            block->n_bytes - used > SLACK_BYTES + block->n_bytes / SLACK_SHARE)
            return false;
    }
    return hs_owners_word(layout, HS_TREE_SIZE, block->bytes) <= block->n_bytes - header_bytes;
}

/* Tells whether a link is 0 or leads to another block that has room for a header. */
static bool is_link(const struct owners *owners, const struct hs_rule_tree *layout,
                    const struct hs_heap_block *block, enum hs_tree_word word)
{
    uint64_t to = hs_owners_word(layout, word, block->bytes);
    struct hs_heap_block found;

    return to == 0 || (to != block->begin &&
                       hs_heap_map_resolve(owners->map, to, &found) == HS_POINTER_START &&
                       found.bytes != NULL && found.n_bytes >= layout->at[HS_TREE_HEADER]);
}

/* Tells whether a link leads to a block that leads back. */
static bool leads_back(const struct owners *owners, const struct hs_rule_tree *layout,
                       const struct hs_heap_block *block)
{
    static const struct {
        enum hs_tree_word there, back;
    } links[] = {{HS_TREE_CHILD, HS_TREE_PARENT},
                 {HS_TREE_PARENT, HS_TREE_CHILD},
                 {HS_TREE_NEXT, HS_TREE_PREV},
                 {HS_TREE_PREV, HS_TREE_NEXT}};

    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        uint64_t to = hs_owners_word(layout, links[i].there, block->bytes);
        struct hs_heap_block found;
        if (to != 0 && hs_owners_has(layout, links[i].back) &&
            hs_heap_map_resolve(owners->map, to, &found) == HS_POINTER_START &&
            hs_owners_word(layout, links[i].back, found.bytes) == block->begin)
            return true;
    }
    return false;
}

static bool is_of(const struct owners *owners, const struct hs_rule_tree *layout,
                  const struct hs_heap_block *block)
{
    if (!is_marked(layout, block))
        return false;
    for (unsigned word = HS_TREE_PARENT; word <= HS_TREE_PREV; word++)
        if (!is_link(owners, layout, block, (enum hs_tree_word)word))
            return false;
    return hs_owners_has(layout, HS_TREE_MAGIC) || hs_owners_has(layout, HS_TREE_END) ||
           leads_back(owners, layout, block);
}

/* Returns the first tree that the block is of; n_trees: none. */
static uint32_t tree_of(const struct owners *owners, const struct hs_heap_block *block)
{
    uint32_t tree = 0;

    while (tree < owners->n_trees && !is_of(owners, owners->trees[tree].layout, block))
        tree++;
    return tree;
}

uint32_t hs_owners_number(const struct owners *owners, const struct hs_heap_block *block)
{
    return owners->n_blocks != 0 && hs_bitmap_get(&owners->is_of_tree, block->rank)
               ? (uint32_t)hs_bitmap_rank(&owners->is_of_tree, block->rank)
               : OWNERS_NONE;
}

/* ---- names */

/* Finds the name of a block: a text that a binary brought along, as what the program made may be
 * anybody's data; else what the rule says. */
static hs_status name_of(struct owners *owners, const struct owners_tree *tree,
                         const uint8_t *header, hs_str *ret, struct hs_error *err)
{
    hs_addr at = hs_owners_word(tree->layout, HS_TREE_NAME, header);
    const uint64_t *known = at == 0 ? NULL : hs_dict_find(&owners->names, at);
    char text[NAME_BYTES];

    *ret = known != NULL ? (hs_str)*known : tree->unnamed;
    if (at == 0 || known != NULL || owners->names.n >= MOST_NAMES)
        return HS_OK;
    if (hs_carve_constant_text(owners->process, at, text, sizeof text))
        HS_TRY(hs_strtab_add(owners->process->findings->strings, text, ret, err));
    return hs_dict_put(&owners->names, at, *ret, err);
}

/* ---- all of them */

/* Reserves memory in the plan, which must have as much again for what all blocks need. */
static hs_status reserve(struct owners *owners, uint64_t n_bytes, bool *ret, struct hs_error *err)
{
    struct hs_dump_plan *plan = owners->process->plan;

    *ret = plan == NULL || hs_dump_plan_room(plan) / ROOM_SHARE >= n_bytes;
    if (!*ret)
        return hs_findings_note(owners->process->findings, true, err,
                                "owners: no memory for who owns blocks by rules: allow more with "
                                "--memory");
    if (plan == NULL)
        return HS_OK;
    HS_TRY(hs_dump_plan_reserve(plan, n_bytes, "the owners of blocks by rules", err));
    owners->reserved_bytes += n_bytes;
    return HS_OK;
}

static hs_status mark_blocks(struct owners *owners, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = owners->map};
    struct hs_heap_block block;
    uint64_t n;
    bool has_room;

    HS_TRY(reserve(owners, BITS_BYTES(owners->map->n_blocks), &has_room, err));
    if (!has_room)
        return HS_OK;
    HS_TRY(hs_bitmap_init(&owners->is_of_tree, owners->map->n_blocks, err));
    while (hs_heap_map_next(&it, &block))
        if (tree_of(owners, &block) != owners->n_trees)
            hs_bitmap_set(&owners->is_of_tree, block.rank);
    HS_TRY(hs_bitmap_index(&owners->is_of_tree, &n, err));
    if (n >= OWNERS_NONE)
        return hs_fail(err, HS_LIMIT, "more than 4 billion blocks of trees of owners");
    HS_TRY(reserve(owners, n * sizeof *owners->blocks, &has_room, err));
    if (!has_room || n == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&owners->blocks, n, err));
    owners->n_blocks = (uint32_t)n;
    return HS_OK;
}

hs_status hs_owners_find(struct owners *owners, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = owners->map};
    struct hs_heap_block block;

    HS_TRY(mark_blocks(owners, err));
    while (owners->n_blocks != 0 && hs_heap_map_next(&it, &block)) {
        uint32_t number = hs_owners_number(owners, &block), tree;
        if (number == OWNERS_NONE || (tree = tree_of(owners, &block)) == owners->n_trees)
            continue;
        struct owners_block *one = &owners->blocks[number];
        *one = (struct owners_block){.begin = block.begin,
                                     .parent = OWNERS_NONE,
                                     .first_child = OWNERS_NONE,
                                     .next = OWNERS_NONE,
                                     .tree = tree};
        owners->trees[tree].n_blocks++;
        HS_TRY(name_of(owners, &owners->trees[tree], block.bytes, &one->name, err));
    }
    return HS_OK;
}
