/* Types of objects by what code says of the words that lead to them (code.h). The compiler's code
 * is followed in order of address, not of what runs: so only an object that is of the type's size,
 * and has its pointers where the type has, is one. */
#include "base/bisect.h"
#include "code.h"
#include "fits.h"
#include "typing.h"

enum { STATIC_BYTES_MAX = 1 << 16 };

static hs_status put_value(struct hs_go_typing *t, hs_addr at, uint64_t word,
                           const struct hs_go_value *value, struct hs_error *err)
{
    enum hs_go_holding holding;
    hs_addr type;

    if (word == 0 || !hs_go_value_of(t->code, value, &type, &holding) ||
        !hs_go_fits(t->heap, word, type, holding))
        return HS_OK;
    return hs_go_put(t, at, word, type, holding, err);
}

/* Goes from the word at an address to the one behind it, and so on. */
static bool take_steps(const struct hs_go_heap *heap, const struct hs_go_value *place, hs_addr *at,
                       uint64_t *word)
{
    if (*at % HS_WORD_BYTES != 0 || !hs_go_u64(heap, *at, word))
        return false;
    for (unsigned i = 0; i < place->n_steps; i++) {
        *at = *word + (uint64_t)(int64_t)place->offsets[i];
        if (*word == 0 || *at % HS_WORD_BYTES != 0 || !hs_go_u64(heap, *at, word))
            return false;
    }
    return true;
}

/* Finds the word that a place stands for now: behind an argument, by a word that is one. */
static bool find_word(const struct hs_go_code *code, const struct hs_go_value *place, hs_addr *ret,
                      uint64_t *ret_word)
{
    const struct hs_go_value *base = NULL;

    *ret = place->at;
    if (place->kind == HS_GO_ARGUMENT) {
        const uint64_t *known = hs_dict_find(&code->receivers, place->at);
        if (known == NULL)
            return false;
        base = &code->values[*known];
        *ret = base->at;
    }
    return (base == NULL || take_steps(code->heap, base, ret, ret_word)) &&
           take_steps(code->heap, place, ret, ret_word);
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
        if (!hs_go_read_type(t->heap, all[i].type, &type))
            continue;
        if (type.kind == HS_GO_MAP && offset == HS_GO_MAP_ENTRIES_AT &&
            hs_go_has_entries(t->heap, at - offset, all[i].type))
            HS_TRY(hs_go_put_entries(t, at - offset, all[i].type, err));
        if (offset < type.n_pointer_bytes && type.kind != HS_GO_MAP)
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
        if (find_word(t->code, &t->code->facts[i].place, &at, &word))
            HS_TRY(put_value(t, at, word, &t->code->facts[i].value, err));
    HS_TRY(see_statics(t, err));
    for (size_t i = 0; i < gs->n; i++)
        HS_TRY(hs_go_walk_stack(gs, &gs->goroutines[i], see_slot, t, err));
    return HS_OK;
}
