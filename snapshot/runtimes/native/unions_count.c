/* The discriminants of unions: which words go with which numbers, in all values of a union; and
 * which of the numbers tells. */
#include "flow.h"
#include "unions_private.h"

enum { BAD_WEIGHT = 4, WORD = 8 };

/* The kinds of words: good, an address in a block; bad, an address of neither a block nor a loaded
 * object, so none that is in use; nothing, what tells neither. */
enum unions_word { WORD_NOTHING, WORD_GOOD, WORD_BAD };

static enum unions_word unions_judge(const struct hs_native *native, uint64_t word)
{
    struct hs_heap_block block;

    if (word == 0)
        return WORD_NOTHING;
    switch (hs_flow_resolve(native, word, &block)) {
    case HS_POINTER_START:
    case HS_POINTER_INTERIOR:
        return WORD_GOOD;
    case HS_POINTER_PAST_END:
        return WORD_NOTHING;
    case HS_POINTER_NONE:
        break;
    }
    return hs_objects_object_at(&native->dump->objects, word) != NULL ? WORD_NOTHING : WORD_BAD;
}

static void unions_count(const struct hs_native *native, struct hs_union *u, uint64_t word,
                         hs_cvalue_read *read, void *context)
{
    enum unions_word is = unions_judge(native, word);
    uint64_t number;

    if (is == WORD_NOTHING || u->n_counted == HS_UNION_COUNTED)
        return;
    u->n_counted++;
    for (size_t i = 0; i < u->n_tags; i++) {
        struct hs_union_tag *tag = &u->tags[i];
        if (!hs_union_read_(&tag->at, read, context, &number))
            continue;
        struct hs_union_value *value = hs_union_find_(tag, number);
        if (value == NULL && tag->n_values < HS_UNION_VALUES) {
            value = &tag->values[tag->n_values++];
            value->value = number;
        }
        if (value != NULL) {
            value->n_good += is == WORD_GOOD;
            value->n_bad += is == WORD_BAD;
        }
    }
}

hs_status hs_unions_each_(struct hs_native *native, const struct hs_native_type *type,
                          const struct hs_heap_block *block, hs_unions_visit *visit, void *with,
                          struct hs_error *err)
{
    uint64_t n = type->is_array ? block->n_bytes / type->n_bytes : 1;

    for (uint64_t i = 0; i < n; i++) {
        if (i % HS_FLOW_PART == 0) /* past what was never touched */
            i = hs_flow_touched(native, block, i * type->n_bytes) / type->n_bytes;
        for (size_t j = 0; i < n && j < type->n_slots; j++) {
            uint64_t at = i * type->n_bytes + type->slots[j].offset_bytes;
            if (at > block->n_bytes - WORD)
                break;
            if (type->slots[j].is_untold)
                HS_TRY(visit(with, block, &type->slots[j], at, err));
        }
    }
    return HS_OK;
}

static hs_status unions_count_slot(void *with, const struct hs_heap_block *block,
                                   const struct hs_cslot *slot, uint64_t at, struct hs_error *err)
{
    struct hs_native *native = with;
    struct hs_value_bytes place = {block->bytes, block->n_bytes, at};
    uint32_t number;

    HS_TRY(hs_unions_get_(native, slot, &number, err));
    if (number != 0)
        unions_count(native, &native->unions.unions[number - 1], hs_load_u64(block->bytes + at),
                     hs_value_read_bytes, &place);
    return HS_OK;
}

/* Counts all such words of a variable: those that lead nowhere are no roots, and count, too. */
static hs_status unions_count_variable(struct hs_native *native,
                                       const struct hs_union_variable *variable,
                                       struct hs_error *err)
{
    bool is_cut;
    size_t n;
    uint32_t number;
    const struct hs_cslot *slots = hs_ctypes_slots(native->ctypes, variable->type, &n, &is_cut);

    for (size_t i = 0; i < n; i++) {
        struct hs_value_place place = {&native->dump->image,
                                       variable->begin + slots[i].offset_bytes};
        uint64_t word;
        if (!slots[i].is_untold || !hs_image_u64(place.image, place.address, &word))
            continue;
        HS_TRY(hs_unions_get_(native, &slots[i], &number, err));
        if (number != 0)
            unions_count(native, &native->unions.unions[number - 1], word, hs_value_read_image,
                         &place);
    }
    return HS_OK;
}

hs_status hs_unions_count_(struct hs_native *native, const struct hs_flow *flow,
                           struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &native->dump->heaps.map};
    struct hs_heap_block block;
    bool is_any = false;

    for (size_t i = 0; i < native->unions.n_variables; i++) {
        const struct hs_union_variable variable = native->unions.variables[i];
        HS_TRY(unions_count_variable(native, &variable, err));
    }
    for (size_t i = 0; i < flow->types.n_types; i++)
        is_any |= flow->types.types[i].has_untold;
    while (is_any && hs_heap_map_next(&it, &block)) {
        hs_ntype number = hs_flow_type(flow, block.rank);
        if (number == 0 || block.bytes == NULL || block.n_bytes < WORD ||
            !flow->types.types[number - 1].has_untold)
            continue;
        HS_TRY(hs_unions_each_(native, hs_native_type_of(&flow->types, number), &block,
                               unions_count_slot, native, err));
    }
    return HS_OK;
}

/* ---- which number tells */

/* Returns how many addresses a discriminant explains, less a multiple of the words that it does
 * not. */
static int64_t tag_score(const struct hs_union_tag *tag)
{
    int64_t score = 0;

    for (size_t i = 0; i < tag->n_values; i++)
        if (hs_union_has_addresses_(&tag->values[i]))
            score += (int64_t)tag->values[i].n_good - BAD_WEIGHT * (int64_t)tag->values[i].n_bad;
    return score;
}

static size_t tag_n_common(const struct hs_union_tag *tag)
{
    size_t n = 0;

    for (size_t i = 0; i < tag->n_values; i++)
        n += tag->values[i].n_good + tag->values[i].n_bad >= HS_UNION_LEAST;
    return n;
}

/* Chooses, among discriminants that tell nearly as well as the best, the one that tells most values
 * apart; of several the nearest. */
void hs_union_choose_(struct hs_union *u)
{
    int64_t best = 0;
    size_t n_most = 0;

    u->chosen = u->n_tags;
    for (size_t i = 0; i < u->n_tags; i++)
        best = tag_score(&u->tags[i]) > best ? tag_score(&u->tags[i]) : best;
    for (size_t i = 0; best > 0 && i < u->n_tags; i++) {
        struct hs_union_tag *tag = &u->tags[i];
        tag->is_eligible = tag_score(tag) >= best - best / HS_UNION_ONE_IN;
        if (tag->is_eligible && tag_n_common(tag) > n_most) {
            n_most = tag_n_common(tag);
            u->chosen = i;
        }
    }
}
