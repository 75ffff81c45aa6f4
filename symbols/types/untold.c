/* Pointers in unions of C and C++ of which debug information does not say when they are there. The
 * program knows it by a number: beside the union, in a record around it, or with which every
 * alternative begins (XEvent). Which one is not told either, so the numbers near by are listed, and
 * who has many such values at hand finds out (snapshot/runtimes/native/unions.c). */
#include <dwarf.h>
#include <stdlib.h>

#include "pool.h"

enum {
    UNTOLD_MAX = 1 << 16, /* of all types */
    UNTOLD_NUMBERS = 64,  /* of one record */
    UNTOLD_NESTED = 8,    /* records in records that are looked into */
    UNTOLD_WORD = 8,
    UNTOLD_BITS = 32,
    BYTE_BITS = 8
};

struct untold_numbers {
    struct hs_ctag tags[UNTOLD_NUMBERS]; /* from the record's start */
    size_t n;
};

static void untold_add(struct untold_numbers *numbers, const struct hs_ctag *tag)
{
    if (numbers->n < UNTOLD_NUMBERS)
        numbers->tags[numbers->n++] = *tag;
}

static bool untold_is_size(uint64_t n_bytes)
{
    return n_bytes == 1 || n_bytes == 2 || n_bytes == 4 || n_bytes == UNTOLD_WORD;
}

/* Fields of bits, which are no members elsewhere. Before DWARF 4 their places were told otherwise,
 * and are left out. */
static void untold_bits(struct hs_ctypes *types, const struct ctypes_type *type, uint64_t base,
                        struct untold_numbers *numbers)
{
    struct debug_info *info = type->die == 0 ? NULL : hs_ctypes_info_(types, type->file);
    struct debug_entry top, entry;
    uint64_t n_bits, at;
    if (info == NULL || !hs_entry_read_(info, type->die, &top))
        return;
    struct debug_walk walk = hs_walk_begin_(info, &top);
    while (hs_walk_next_(&walk, &entry)) {
        if (entry.tag == DW_TAG_member && walk.depth == 1 &&
            hs_entry_number_(info, &entry, DW_AT_bit_size, &n_bits) &&
            hs_entry_number_(info, &entry, DW_AT_data_bit_offset, &at) && n_bits != 0 &&
            n_bits <= UNTOLD_BITS && at / BYTE_BITS <= INT32_MAX && base <= INT32_MAX) {
            struct hs_ctag tag = {.at = (int64_t)(base + at / BYTE_BITS),
                                  .shift = (uint8_t)(at % BYTE_BITS),
                                  .n_bits = (uint8_t)n_bits};
            tag.n_bytes = 1;
            while (tag.n_bytes * BYTE_BITS < tag.shift + tag.n_bits)
                tag.n_bytes = (uint8_t)(tag.n_bytes * 2);
            untold_add(numbers, &tag);
        }
        hs_walk_skip_(&walk, &entry);
    }
}

/* Lists all numbers of a value: its own, and those of records in it. */
static void untold_list(struct hs_ctypes *types, hs_ctype number, struct untold_numbers *ret)
{
    struct {
        hs_ctype type;
        uint64_t base;
    } waiting[UNTOLD_NESTED] = {{number, 0}};
    size_t n = 1;
    ret->n = 0;
    while (n > 0) {
        hs_ctype at = waiting[--n].type;
        uint64_t base = waiting[n].base;
        struct ctypes_type type = *hs_ctypes_get_(types, at);
        if (type.definition != 0)
            type = *hs_ctypes_get_(types, type.definition);
        uint64_t n_bytes = hs_ctypes_size_(types, at);
        if (type.kind == HS_CTYPE_SCALAR && untold_is_size(n_bytes)) {
            const struct hs_ctag tag = {(int64_t)base, (uint8_t)n_bytes, 0,
                                        (uint8_t)(n_bytes * BYTE_BITS)};
            untold_add(ret, &tag);
        }
        if (type.kind != HS_CTYPE_RECORD || type.rule != 0)
            continue;
        untold_bits(types, &type, base, ret);
        for (uint32_t i = 0; i < type.n_members && n < UNTOLD_NESTED; i++) {
            const struct ctypes_member *member = &types->members[type.first_member + i];
            if (member->offset > INT32_MAX || base > INT32_MAX)
                continue;
            waiting[n].type = member->type;
            waiting[n++].base = base + member->offset;
        }
    }
}

/* Keeps those that stand at one place in every alternative. */
static void untold_common(struct hs_ctypes *types, hs_ctype number, struct untold_numbers *ret)
{
    const struct ctypes_type type = *hs_ctypes_get_(types, number);
    struct untold_numbers other;
    ret->n = 0;
    for (uint32_t i = 0; i < type.n_members; i++) {
        const struct ctypes_member member = types->members[type.first_member + i];
        size_t n = 0;
        untold_list(types, member.type, i == 0 ? ret : &other);
        if (member.offset != 0)
            ret->n = 0;
        for (size_t j = 0; i != 0 && j < ret->n; j++)
            for (size_t k = 0; k < other.n; k++)
                if (other.tags[k].at == ret->tags[j].at &&
                    other.tags[k].n_bits == ret->tags[j].n_bits &&
                    other.tags[k].shift == ret->tags[j].shift) {
                    ret->tags[n++] = ret->tags[j];
                    break;
                }
        ret->n = i == 0 ? ret->n : n;
    }
}

static void untold_numbers(struct hs_ctypes *types, hs_ctype number, struct untold_numbers *ret)
{
    if (hs_ctypes_get_(types, number)->kind == HS_CTYPE_UNION)
        untold_common(types, number, ret);
    else
        untold_list(types, number, ret);
}

void hs_ctypes_untold_adopt_(struct hs_ctypes *types, hs_ctype number)
{
    struct untold_numbers numbers = {.n = 0};
    struct hs_error err = HS_ERROR_INIT;
    bool is_listed = false;
    for (size_t i = 0; i < types->n_scratch; i++) {
        struct hs_cslot *slot = &types->scratch[i].slot;
        if (!slot->is_untold ||
            (slot->first_choice != 0 && types->untold[slot->first_choice - 1].has_numbers))
            continue;
        if (!is_listed)
            untold_numbers(types, number, &numbers);
        is_listed = true;
        if (slot->first_choice != 0 && numbers.n == 0)
            continue;
        if (types->n_untold >= UNTOLD_MAX)
            return;
        if (HS_GROW(&types->untold, &types->untold_capacity, types->n_untold + 1, &err) != HS_OK) {
            hs_ctypes_out_(types);
            return;
        }
        types->untold[types->n_untold++] =
            (struct ctypes_untold){number, numbers.n != 0, slot->offset_bytes};
        slot->first_choice = (uint32_t)types->n_untold;
    }
}

bool hs_ctypes_untold(const struct hs_ctypes *types, const struct hs_cslot *slot, hs_ctype *ret,
                      uint64_t *ret_offset)
{
    if (!slot->is_untold || slot->first_choice == 0)
        return false;
    *ret = types->untold[slot->first_choice - 1].record;
    *ret_offset = types->untold[slot->first_choice - 1].offset;
    return true;
}

static int tag_order(const void *a, const void *b)
{
    const struct hs_ctag *s = a, *t = b;
    int64_t left = llabs(s->at), right = llabs(t->at);
    return left != right ? (left > right) - (left < right) : (s->at > t->at) - (s->at < t->at);
}

size_t hs_ctypes_tags(struct hs_ctypes *types, hs_ctype record, uint64_t offset,
                      struct hs_ctag ret[HS_CTAGS_MOST])
{
    struct untold_numbers numbers;
    size_t n = 0;
    hs_ctypes_trim_(types);
    untold_numbers(types, record, &numbers);
    for (size_t i = 0; i < numbers.n; i++) {
        struct hs_ctag tag = numbers.tags[i];
        tag.at -= (int64_t)offset;
        if (tag.at <= -(int64_t)tag.n_bytes || tag.at >= UNTOLD_WORD) /* not in the word itself */
            numbers.tags[n++] = tag;
    }
    qsort(numbers.tags, n, sizeof(*numbers.tags), tag_order);
    n = n < HS_CTAGS_MOST ? n : HS_CTAGS_MOST;
    for (size_t i = 0; i < n; i++)
        ret[i] = numbers.tags[i];
    return n;
}
