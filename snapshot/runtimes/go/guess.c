/* Types of objects by what code says of the words that lead to them (code.h). The compiler's code
 * is followed in order of address, not of what runs: so only an object that is of the type's size,
 * and has its pointers where the type has, is one. */
#include <limits.h>

#include "base/bisect.h"
#include "code.h"
#include "masks.h"
#include "pointers.h"
#include "typing.h"

enum { STATIC_BYTES_MAX = 1 << 16 };
enum { MAP_BYTES = 48, CHAN_BYTES_MIN = 96, CHAN_ELEMENT_AT = 24, CHAN_ELEMENT_MASK = UINT16_MAX };

/* Tells whether each pointer of an object stands where values of a type have one. */
static bool has_pointers_of(const struct hs_go_typing *t, const struct hs_go_block *block,
                            const struct hs_go_type *type)
{
    const struct hs_go_heap *heap = t->heap;
    uint64_t header = hs_go_header_bytes(heap, block->span) / HS_WORD_BYTES, word, offset;
    const struct hs_go_mask *mask =
        hs_go_mask_of(heap, heap->masks, type->address, block->span->elem_bytes);

    if (mask == NULL || mask->n_words == 0)
        return false;
    const struct hs_go_mask of = *mask; /* it moves when another is made */
    struct hs_go_pointers it = hs_go_pointers_begin(heap, block);
    while (hs_go_pointers_next(&it, &word, &offset)) {
        uint64_t at = offset < header ? 0 : (offset - header) % of.n_words;
        if (at >= of.n_masked_words || (of.bits[at / CHAR_BIT] >> at % CHAR_BIT & 1) == 0)
            return false;
    }
    return true;
}

/* Tells whether a block has room for so many values of a type, and no more than a size class adds;
 * up to 1.23 a sixteenth of the entries of a map may be there more. */
static bool is_room_for(const struct hs_go_heap *heap, hs_addr begin, hs_addr address, uint64_t n)
{
    struct hs_go_block block;
    struct hs_go_type type;

    if (!hs_go_resolve(heap, begin, &block) || !hs_go_read_type(heap, address, &type) ||
        type.n_bytes == 0 || n > block.span->elem_bytes / type.n_bytes)
        return false;
    uint64_t n_bytes = n * type.n_bytes;
    return ((block.span->spanclass & 1) != 0) == (type.n_pointer_bytes == 0) &&
           block.span->elem_bytes <= n_bytes + n_bytes / 3 + MAP_BYTES;
}

/* Tells whether the entries of a map are of its type, as far as their size tells. */
static bool has_entries_of(const struct hs_go_heap *heap, hs_addr map, hs_addr type)
{
    enum { LOG_AT = 9, BUCKETS_AT = 16, LENGTH_AT = 24, MASK_AT = 24, LOG_MAX = 40 };
    uint64_t entries = hs_go_member(heap, map, BUCKETS_AT), of, log;

    if (!hs_go_u64(heap, type + HS_GO_ENTRIES_AT, &of) || entries == 0)
        return entries == 0;
    if (heap->layout->minor < HS_GO_MINOR_OF_GROUPS) {
        log = hs_go_member(heap, map, LOG_AT - 1) >> CHAR_BIT & UINT8_MAX;
        return log <= LOG_MAX && is_room_for(heap, entries, of, UINT64_C(1) << log);
    }
    if (hs_go_member(heap, map, LENGTH_AT) == 0)
        return is_room_for(heap, entries, of, 1);
    uint64_t table = hs_go_member(heap, entries, 0), mask = hs_go_member(heap, table, MASK_AT);
    return mask < UINT32_MAX &&
           is_room_for(heap, hs_go_member(heap, table, BUCKETS_AT), of, mask + 1);
}

/* Tells whether an object may be what code says: of a size class for values of the type. */
static bool fits(const struct hs_go_typing *t, hs_addr word, hs_addr address,
                 enum hs_go_holding holding)
{
    struct hs_go_block block;
    struct hs_go_type type;

    if (!hs_go_resolve(t->heap, word, &block) || !hs_go_read_type(t->heap, address, &type) ||
        type.n_bytes == 0)
        return false;
    uint64_t n_bytes = block.span->elem_bytes, header = hs_go_header_bytes(t->heap, block.span);
    bool has_none = (block.span->spanclass & 1) != 0;
    if (word != block.begin + header)
        return false;
    if (holding == HS_GO_HOLD_MAP)
        return type.kind == HS_GO_MAP && n_bytes == MAP_BYTES && !has_none &&
               has_entries_of(t->heap, word, address);
    if (holding == HS_GO_HOLD_CHAN)
        return n_bytes >= CHAN_BYTES_MIN &&
               (hs_go_member(t->heap, word, CHAN_ELEMENT_AT) & CHAN_ELEMENT_MASK) == type.n_bytes;
    if (has_none != (type.n_pointer_bytes == 0) || type.n_bytes > n_bytes - header)
        return false;
    if (holding == HS_GO_HOLD_ONE && n_bytes > 2 * (type.n_bytes + header))
        return false;
    return has_none || has_pointers_of(t, &block, &type);
}

static hs_status put_value(struct hs_go_typing *t, hs_addr at, uint64_t word,
                           const struct hs_go_value *value, struct hs_error *err)
{
    enum hs_go_holding holding;
    hs_addr type;

    if (word == 0 || !hs_go_value_of(t->code, value, &type, &holding) ||
        !fits(t, word, type, holding))
        return HS_OK;
    return hs_go_put(t, at, word, type, holding, err);
}

/* Finds the word that a place stands for now. */
static bool find_word(const struct hs_go_heap *heap, const struct hs_go_value *place, hs_addr *ret,
                      uint64_t *ret_word)
{
    hs_addr at = place->at;
    uint64_t word;

    if (at % HS_WORD_BYTES != 0 || !hs_go_u64(heap, at, &word))
        return false;
    for (unsigned i = 0; i < place->n_steps; i++) {
        at = word + (uint64_t)(int64_t)place->offsets[i];
        if (word == 0 || at % HS_WORD_BYTES != 0 || !hs_go_u64(heap, at, &word))
            return false;
    }
    *ret = at;
    *ret_word = word;
    return true;
}

/* Follows a word of a variable of a frame. */
static hs_status see_variables(struct hs_go_typing *t, hs_addr at, uint64_t word, hs_addr entry,
                               int32_t distance, struct hs_error *err)
{
    const struct hs_go_variable *all = t->code->variables;
    struct hs_go_type type;
    size_t first = HS_FIRST_NOT(i, 0, t->code->n_variables,
                                all[i].place.kind < HS_GO_FRAME ||
                                    (all[i].place.kind == HS_GO_FRAME && all[i].place.at < entry));

    for (size_t i = first; i < t->code->n_variables && all[i].place.at == entry &&
                           all[i].place.offsets[0] <= distance;
         i++) {
        uint64_t offset = (uint64_t)(distance - all[i].place.offsets[0]);
        if (hs_go_read_type(t->heap, all[i].type, &type) && offset < type.n_pointer_bytes)
            HS_TRY(hs_go_follow(t, all[i].type, offset, at, word, err));
    }
    return HS_OK;
}

/* Follows the words of package variables whose types are known. */
static hs_status see_statics(struct hs_go_typing *t, struct hs_error *err)
{
    const struct hs_go_code *code = t->code;
    struct hs_go_type type;
    uint64_t word;

    for (size_t i = 0; i < code->n_variables && code->variables[i].place.kind == HS_GO_CONSTANT;
         i++) {
        hs_addr begin = code->variables[i].place.at;
        if (begin % HS_WORD_BYTES != 0 ||
            !hs_go_read_type(t->heap, code->variables[i].type, &type) ||
            type.n_pointer_bytes > STATIC_BYTES_MAX)
            continue;
        for (uint64_t offset = 0; offset < type.n_pointer_bytes; offset += HS_WORD_BYTES)
            if (hs_go_u64(t->heap, begin + offset, &word) && word != 0)
                HS_TRY(hs_go_follow(t, type.address, offset, begin + offset, word, err));
    }
    return HS_OK;
}

static hs_status see_slot(void *context, hs_addr at, uint64_t word, bool is_exact,
                          struct hs_error *err)
{
    struct hs_go_typing *t = context;
    const struct hs_go_code *code = t->code;
    const struct hs_go_goroutines *gs = t->goroutines;
    hs_addr entry = gs->frame_entry;
    (void)is_exact;

    if (entry == 0 || at < gs->frame_sp || at - gs->frame_sp > INT32_MAX)
        return HS_OK;
    int32_t distance = (int32_t)(at - gs->frame_sp);
    size_t first = HS_FIRST_NOT(
        i, 0, code->n_slots,
        code->slots[i].place.at < entry ||
            (code->slots[i].place.at == entry && code->slots[i].place.offsets[0] < distance));
    for (size_t i = first; i < code->n_slots && code->slots[i].place.at == entry &&
                           code->slots[i].place.offsets[0] == distance;
         i++)
        HS_TRY(put_value(t, at, word, &code->slots[i].value, err));
    return see_variables(t, at, word, entry, distance, err);
}

hs_status hs_go_guess_types(struct hs_go_typing *t, struct hs_go_goroutines *gs,
                            struct hs_error *err)
{
    hs_addr at;
    uint64_t word;

    for (size_t i = 0; i < t->code->n_facts; i++)
        if (find_word(t->heap, &t->code->facts[i].place, &at, &word))
            HS_TRY(put_value(t, at, word, &t->code->facts[i].value, err));
    HS_TRY(see_statics(t, err));
    for (size_t i = 0; i < gs->n; i++)
        HS_TRY(hs_go_walk_stack(gs, &gs->goroutines[i], see_slot, t, err));
    return HS_OK;
}
