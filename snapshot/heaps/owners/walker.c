/* Finds which blocks own which by headers that rules describe. The blocks are malloc's. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "heaps/rule_applies.h"
#include "owners/trees.h"
#include "process/dump_plan.h"

static void owners_close(void *state)
{
    struct owners *owners = state;

    if (owners == NULL)
        return;
    hs_bitmap_fini(&owners->is_of_tree);
    hs_dict_fini(&owners->names);
    hs_free(owners->blocks);
    if (owners->process->plan != NULL)
        hs_dump_plan_release(owners->process->plan, owners->reserved_bytes);
    hs_free(owners);
}

/* ---- which trees the process may have */

static void list_trees(const struct hs_process_copy *process, struct owners *ret)
{
    const struct hs_rules *rules = process->rules;

    for (size_t i = 0; i < rules->of[HS_RULE_OWNERS].n && ret->n_trees < OWNERS_MOST_TREES; i++) {
        const struct hs_rule *rule = &rules->rules[rules->of[HS_RULE_OWNERS].rules[i]];
        if (hs_rule_applies(process, rule))
            ret->trees[ret->n_trees++] = (struct owners_tree){
                .layout = &rule->tree, .name = rules->patterns[rule->first_pattern].text};
    }
}

static hs_status owners_open(const struct hs_process_copy *process, void **ret_state,
                             struct hs_error *err)
{
    struct owners found = {.process = process}, *owners;

    if (process->objects == NULL || process->rules == NULL)
        return HS_OK;
    list_trees(process, &found);
    if (found.n_trees == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&owners, 1, err));
    *owners = found;
    *ret_state = owners;
    return HS_OK;
}

/* ---- looking */

static hs_status owners_report(const struct owners *owners, struct hs_error *err)
{
    struct hs_findings *findings = owners->process->findings;
    char what[HS_RULES_MAX_NAME_BYTES + 64];

    for (uint32_t i = 0; i < owners->n_trees; i++) {
        const struct owners_tree *tree = &owners->trees[i];
        if (tree->n_blocks == 0)
            continue;
        (void)snprintf(what, sizeof what, "owners: blocks that hang where they say: %.*s",
                       HS_RULES_MAX_NAME_BYTES, tree->name);
        HS_TRY(hs_findings_proof(findings, what, tree->n_blocks, tree->n_sound, err));
    }
    if (owners->n_damaged == 0)
        return HS_OK;
    return hs_findings_note(findings, true, err,
                            "owners: %llu lists of blocks end where they should not: caught in a "
                            "change, or no tree as the rule describes it",
                            (unsigned long long)owners->n_damaged);
}

static hs_status owners_look(void *state, const struct hs_heap_map *map, struct hs_error *err)
{
    struct owners *owners = state;

    owners->map = map;
    for (uint32_t i = 0; i < owners->n_trees; i++)
        HS_TRY(hs_strtab_add(owners->process->findings->strings, owners->trees[i].name,
                             &owners->trees[i].unnamed, err));
    HS_TRY(hs_owners_find(owners, err));
    if (owners->n_blocks == 0)
        return HS_OK;
    hs_owners_read_trees(owners);
    HS_TRY(hs_owners_find_holders(owners, err));
    return owners_report(owners, err);
}

/* ---- who owns what */

static hs_addr owners_owner(const void *state, const struct hs_heap_block *block)
{
    const struct owners *owners = state;
    uint32_t number = hs_owners_number(owners, block);

    if (number == OWNERS_NONE)
        return 0;
    return owners->blocks[number].parent == OWNERS_NONE
               ? owners->blocks[number].holder
               : owners->blocks[owners->blocks[number].parent].begin;
}

/* The cursor is one more than the number of the block before. */
static bool owners_owned(const void *state, const struct hs_heap_block *owner, uint64_t *cursor,
                         hs_addr *ret_begin, hs_addr *ret_end)
{
    const struct owners *owners = state;
    uint32_t number = hs_owners_number(owners, owner);

    if (number == OWNERS_NONE)
        return false;
    number = *cursor == 0 ? owners->blocks[number].first_child : owners->blocks[*cursor - 1].next;
    if (number == OWNERS_NONE)
        return false;
    *cursor = (uint64_t)number + 1;
    *ret_begin = owners->blocks[number].begin;
    *ret_end = *ret_begin + 1;
    return true;
}

static uint64_t owners_links(const void *state, const struct hs_heap_block *block)
{
    const struct owners *owners = state;
    uint32_t number = hs_owners_number(owners, block);
    uint64_t links = 0;

    if (number == OWNERS_NONE)
        return 0;
    const struct hs_rule_tree *layout = owners->trees[owners->blocks[number].tree].layout;
    for (unsigned word = HS_TREE_PARENT; word <= HS_TREE_PREV; word++)
        if (hs_owners_has(layout, (enum hs_tree_word)word))
            links |= UINT64_C(1) << layout->at[word] / HS_WORD_BYTES;
    return links;
}

static const struct hs_ownership owners_ownership = {
    .owner = owners_owner, .owned = owners_owned, .links = owners_links};

/* ---- what it is */

/* Names a block of a tree whose headers lead to names; others are what debug information says. */
static bool owners_object_name(const void *state, const struct hs_heap_block *block,
                               struct hs_object_name *ret)
{
    const struct owners *owners = state;
    uint32_t number = hs_owners_number(owners, block);

    if (number == OWNERS_NONE)
        return false;
    const struct hs_rule_tree *layout = owners->trees[owners->blocks[number].tree].layout;
    if (!hs_owners_has(layout, HS_TREE_NAME))
        return false;
    *ret = (struct hs_object_name){
        .name = owners->blocks[number].name,
        .offset_bytes = layout->at[HS_TREE_HEADER],
        .n_bytes = hs_owners_word(layout, HS_TREE_SIZE, block->bytes),
    };
    return true;
}

const struct hs_allocator hs_allocator_owners = {
    .name = "owners",
    .open = owners_open,
    .close = owners_close,
    .has_no_blocks = true,
    .look = owners_look,
    .ownership = &owners_ownership,
    .object_name = owners_object_name,
};
