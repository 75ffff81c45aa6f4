#include "data_words.h"
#include "owners/trees.h"

#define HELD_TWICE UINT64_MAX

/* The blocks above which none is, and where they lie. */
struct tops {
    struct hs_dict numbers; /* by address */
    hs_addr first, last;
};

static hs_status list_tops(const struct owners *owners, struct tops *tops, struct hs_error *err)
{
    tops->first = UINT64_MAX;
    for (uint32_t i = 0; i < owners->n_blocks; i++) {
        const struct owners_block *block = &owners->blocks[i];
        if (block->parent != OWNERS_NONE ||
            !hs_owners_has(owners->trees[block->tree].layout, HS_TREE_HELD))
            continue;
        HS_TRY(hs_dict_put(&tops->numbers, block->begin, i, err));
        tops->first = block->begin < tops->first ? block->begin : tops->first;
        tops->last = block->begin > tops->last ? block->begin : tops->last;
    }
    return HS_OK;
}

/* Takes a word as what owns a block if beside it stands where that ends. */
static void look_at(struct owners *owners, const struct tops *tops, uint64_t word, hs_addr at,
                    hs_addr holder)
{
    if (word < tops->first || word > tops->last)
        return;
    const uint64_t *number = hs_dict_find(&tops->numbers, word);
    uint64_t end, beside;
    if (number == NULL)
        return;
    struct owners_block *block = &owners->blocks[*number];
    const struct hs_rule_tree *layout = owners->trees[block->tree].layout;
    if (!hs_image_u64(owners->process->image, word + layout->at[HS_TREE_END], &end) ||
        !hs_image_u64(owners->process->image, at + layout->at[HS_TREE_HELD], &beside) ||
        beside != end)
        return;
    block->holder = block->holder == 0 ? holder : HELD_TWICE;
}

static void look_at_blocks(struct owners *owners, const struct tops *tops)
{
    struct hs_heap_iterator it = {.map = owners->map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block))
        for (uint64_t at = 0; block.bytes != NULL && at + HS_WORD_BYTES <= block.n_bytes;
             at += HS_WORD_BYTES)
            look_at(owners, tops, hs_load_u64(block.bytes + at), block.begin + at, block.begin);
}

static void look_at_data(struct owners *owners, const struct tops *tops)
{
    const struct hs_objects *objects = owners->process->objects;
    hs_addr at;
    uint64_t word;

    for (size_t i = 0; i < objects->n; i++) {
        struct hs_data_words words = {.process = owners->process, .object = &objects->objects[i]};
        while (hs_data_words_next(&words, &at, &word))
            look_at(owners, tops, word, at, at);
    }
}

hs_status hs_owners_find_holders(struct owners *owners, struct hs_error *err)
{
    struct tops tops = {.last = 0};
    hs_status status = list_tops(owners, &tops, err);

    if (status == HS_OK && tops.numbers.n != 0) {
        look_at_blocks(owners, &tops);
        look_at_data(owners, &tops);
        for (uint32_t i = 0; i < owners->n_blocks; i++)
            if (owners->blocks[i].holder == HELD_TWICE)
                owners->blocks[i].holder = 0;
    }
    hs_dict_fini(&tops.numbers);
    return status;
}
