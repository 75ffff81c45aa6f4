#include "fits.h"

#include "agree.h"
#include "base/checked.h"
#include "base/load.h"
#include "flow.h"
#include "said.h"
#include "swiss.h"

/* The words that may be looked at beside eight times those of the copy. */
#define LOOKS_SPARE (UINT64_C(1) << 24)
enum { FITS_LEAST_SURE = 4 };
enum { FILE_BYTES = 216 };
#define FILE_MAGIC UINT64_C(0xfbad0000)
#define FILE_MAGIC_MASK UINT64_C(0xffff0000)
enum { WORD = 8 };

struct hs_fit hs_fit_of(const struct hs_native *native)
{
    uint64_t n_bytes = hs_image_resident_bytes(&native->dump->image, 0, UINT64_MAX);
    return (struct hs_fit){.native = native, .most_looks = LOOKS_SPARE + 8 * (n_bytes / WORD)};
}

bool hs_fit_may_look(struct hs_fit *f, const struct hs_heap_block *block)
{
    uint64_t n_words = block->n_bytes / WORD;

    if (n_words > f->most_looks - f->n_looks)
        return false;
    f->n_looks += n_words;
    return true;
}

/* Tells whether a word is zero or leads into a mapping. */
static bool is_plausible(struct hs_fit *f, uint64_t word)
{
    word &= ~f->native->dump->options->pointer_mask;
    if (word == 0 || (f->mapped != NULL && f->mapped->begin <= word && word < f->mapped->end))
        return true;
    const struct hs_mapping *found = hs_target_mapping_at(&f->native->dump->target, word);
    if (found != NULL)
        f->mapped = found;
    return found != NULL;
}

/* Tells whether a pointer of a container is one behind what the pointer before it leads to, and in
 * other memory than that. Then there is no such container: a vector begins and ends in one block.
 */
static bool is_end_of_other(const struct hs_fit *f, const uint8_t *element,
                            const struct hs_native_type *type, size_t slot)
{
    const struct hs_cslot *end = &type->slots[slot], *begin = end - 1;
    struct hs_heap_block block;

    if (slot == 0 || !end->is_end || !end->is_owned || begin->is_end || !begin->is_owned ||
        end->may_be_pointer_only || begin->may_be_pointer_only ||
        begin->offset_bytes + WORD != end->offset_bytes)
        return false;
    uint64_t from = hs_load_u64(element + begin->offset_bytes),
             to = hs_load_u64(element + end->offset_bytes);
    enum hs_pointer how = hs_flow_resolve(f->native, from, &block);
    return (how == HS_POINTER_START || how == HS_POINTER_INTERIOR) &&
           to - block.begin > block.n_bytes;
}

/* Tells whether all pointers of an element are plausible. */
static bool fits_one(struct hs_fit *f, const uint8_t *element, const struct hs_native_type *type)
{
    for (size_t i = 0; i < type->n_slots; i++) {
        const struct hs_cslot *slot = &type->slots[i];
        if (slot->offset_bytes + WORD > type->n_bytes)
            break;
        uint64_t word = hs_load_u64(element + slot->offset_bytes);
        if (!slot->may_be_pointer_only && !hs_cslot_dangles(slot, word) && !is_plausible(f, word))
            return false;
        if (is_end_of_other(f, element, type, i))
            return false;
    }
    return true;
}

/* Tells whether a type is a structure that surely has pointers. */
static bool is_record(const struct hs_native_type *type)
{
    for (size_t i = 0; i < type->n_slots && type->type.form != HS_FORM_POINTER; i++)
        if (!type->slots[i].may_be_pointer_only)
            return true;
    return false;
}

/* Tells whether any word of an element is not zero. */
static bool is_used(const uint8_t *element, const struct hs_native_type *type)
{
    for (uint64_t at = 0; at + WORD <= type->n_bytes; at += WORD)
        if (hs_load_u64(element + at) != 0)
            return true;
    return false;
}

/* Tells whether the first half of `n` elements, or more, fits: what a vector has in reserve may
 * hold anything. Zeros fit every type: a block of which only the first element is used is rather
 * one structure that begins with this one. */
static bool fits_half(struct hs_fit *f, const struct hs_heap_block *block,
                      const struct hs_native_type *type, uint64_t n)
{
    uint64_t n_fit = 0, n_used = 0, first_used = 0;

    for (; n_fit < n && fits_one(f, block->bytes + n_fit * type->n_bytes, type); n_fit++)
        if (is_used(block->bytes + n_fit * type->n_bytes, type) && n_used++ == 0)
            first_used = n_fit;
    return n_fit >= 2 && n_fit >= n / 2 && (n_used >= 2 || first_used != 0 || !is_record(type));
}

/* Tells whether all `n` elements fit, and none is empty: asked where a record that begins with this
 * one is more likely than an array of it. */
static bool fits_all(struct hs_fit *f, const struct hs_heap_block *block,
                     const struct hs_native_type *type, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *element = block->bytes + i * type->n_bytes;
        if (!fits_one(f, element, type) || !is_used(element, type))
            return false;
    }
    return true;
}

/* Tells whether a block fits an array of pointers in use in its middle only, as a deque's map is:
 * then most of what is not zero leads somewhere. */
static bool fits_middle(struct hs_fit *f, const struct hs_heap_block *block, uint64_t n)
{
    uint64_t n_fit = 0, n_odd = 0;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t word = hs_load_u64(block->bytes + i * WORD);
        bool fits = is_plausible(f, word);
        n_fit += word != 0 && fits;
        n_odd += !fits;
    }
    return n_fit >= 2 && n_fit / 2 >= n_odd;
}

bool hs_fits_mostly(struct hs_fit *f, const struct hs_heap_block *block,
                    const struct hs_native_type *type)
{
    size_t n_sure = 0, n_fit = 0;

    for (size_t i = 0; i < type->n_slots; i++) {
        const struct hs_cslot *slot = &type->slots[i];
        if (slot->offset_bytes > block->n_bytes - WORD)
            break;
        uint64_t word = hs_load_u64(block->bytes + slot->offset_bytes);
        n_sure += !slot->may_be_pointer_only;
        n_fit +=
            !slot->may_be_pointer_only && (hs_cslot_dangles(slot, word) || is_plausible(f, word));
        if (is_end_of_other(f, block->bytes, type, i))
            return false;
    }
    return n_fit >= n_sure - n_fit;
}

bool hs_fits_swiss_table(struct hs_fit *f, const struct hs_heap_block *block,
                         const struct hs_native_type *type, uint64_t offset)
{
    struct hs_swiss_table table;

    if (!hs_swiss_table_at(block, type->n_bytes, offset, &table))
        return false;
    for (uint64_t at = 0; at < table.n_bytes; at += type->n_bytes)
        if (hs_swiss_table_has(&table, at) && !fits_one(f, block->bytes + at, type))
            return false;
    return true;
}

bool hs_fits_flat_table(struct hs_fit *f, const struct hs_heap_block *block,
                        const struct hs_native_type *type, uint64_t offset)
{
    struct hs_swiss_table table;
    uint64_t n_full = 0;

    if (!hs_fit_may_look(f, block) || !hs_flat_table_at(block, type->n_bytes, offset, &table))
        return false;
    for (uint64_t at = offset; at < offset + table.n_bytes; at += type->n_bytes) {
        if (!hs_swiss_table_has(&table, at))
            continue;
        n_full++;
        if (!fits_one(f, block->bytes + at, type))
            return false;
    }
    return n_full != 0;
}

bool hs_fits_numbered(struct hs_fit *f, const struct hs_heap_block *block,
                      const struct hs_native_type *type, uint64_t offset)
{
    uint64_t n = hs_load_u64(block->bytes + offset - WORD), n_bytes, end;

    if (n == 0 || !hs_mul_fits(n, type->n_bytes, &n_bytes) || !hs_add_fits(n_bytes, offset, &end) ||
        end > block->n_bytes || !hs_said_is_tight(block, end) || !hs_fit_may_look(f, block))
        return false;
    for (uint64_t at = offset; at < end; at += type->n_bytes)
        if (!fits_one(f, block->bytes + at, type))
            return false;
    return true;
}

/* Tells whether no word of `n` elements leads to a block: all that can be checked of a type without
 * pointers. */
static bool has_no_pointer(struct hs_fit *f, const struct hs_heap_block *block,
                           const struct hs_native_type *type, uint64_t n)
{
    struct hs_heap_block found;

    for (uint64_t at = 0; at + WORD <= n * type->n_bytes; at += WORD)
        if (hs_flow_resolve(f->native, hs_load_u64(block->bytes + at), &found) != HS_POINTER_NONE)
            return false;
    return true;
}

/* Tells whether all elements that a vector says are in use fit. False where it says of none. */
static bool fits_in_use(struct hs_fit *f, const struct hs_heap_block *block,
                        const struct hs_native_type *type, struct hs_native_use use)
{
    uint64_t first = use.from / type->n_bytes, end = use.end / type->n_bytes;

    if (!use.is_said || first >= end)
        return false;
    const struct hs_native_listed listed = hs_native_listed_of(&f->native->dump->image, &use);
    for (uint64_t i = first; i < end; i++)
        if (hs_native_listed_has(&listed, i) &&
            !fits_one(f, block->bytes + i * type->n_bytes, type))
            return false;
    return true;
}

/* Tells whether the second element of what would be an array has a pointer where its type has none.
 * Then it is more of the array of one element that the record ends with. */
static bool is_one_with_more(const struct hs_fit *f, const struct hs_heap_block *block,
                             const struct hs_native_type *type)
{
    struct hs_heap_block found;
    size_t slot = 0;

    for (uint64_t at = 0; type->tail.is_one && at + WORD <= type->n_bytes; at += WORD) {
        while (slot < type->n_slots && type->slots[slot].offset_bytes < at)
            slot++;
        bool is_slot = slot < type->n_slots && type->slots[slot].offset_bytes == at;
        if (!is_slot && hs_flow_resolve(f->native, hs_load_u64(block->bytes + type->n_bytes + at),
                                        &found) == HS_POINTER_START)
            return true;
    }
    return false;
}

/* Tells whether there is a class of C++ that has this one as its base and fills the block, or
 * nearly. Then the block is one of these, and what its words are decides nothing. */
static bool has_heir(struct hs_fit *f, const struct hs_heap_block *block,
                     const struct hs_native_type *type)
{
    struct hs_fit_heir *known = &f->heirs[(type->ctype ^ block->n_bytes / WORD) % HS_FIT_HEIRS];
    uint64_t slack = block->n_bytes < 2 * HS_SLACK_BYTES ? HS_SLACK_BYTES : 2 * HS_SLACK_BYTES;

    if (type->ctype == 0 || type->type.form != HS_FORM_RECORD || f->native->ctypes == NULL)
        return false;
    if (known->type != type->ctype || known->n_bytes != block->n_bytes) {
        known->type = type->ctype;
        known->n_bytes = block->n_bytes;
        known->has_heir = hs_ctypes_has_heir(f->native->ctypes, type->ctype,
                                             block->n_bytes - slack + 1, block->n_bytes);
    }
    return known->has_heir;
}

/* Tells whether a block is a FILE of glibc's fopen, with its lock and wide characters behind
 * (libio/iofopen.c, struct locked_FILE), which pointers in it lead to. Each FILE begins with a
 * number of its own. */
static bool is_one_file(const struct hs_heap_block *block, const struct hs_native_type *type)
{
    if (block->n_bytes < FILE_BYTES + WORD ||
        (hs_load_u64(block->bytes) & FILE_MAGIC_MASK) != FILE_MAGIC)
        return false;
    return type->n_bytes != FILE_BYTES ||
           (hs_load_u64(block->bytes + FILE_BYTES) & FILE_MAGIC_MASK) != FILE_MAGIC;
}

/* Tells whether there is room for one of these alone, or it has a block to itself, or more behind
 * it. */
static bool is_one(const struct hs_heap_block *block, const struct hs_native_type *type,
                   bool is_said)
{
    return type->larger != 0 || type->is_node || type->is_open || type->is_open_text ||
           (type->type.form == HS_FORM_RECORD && hs_native_fills(block, type->n_bytes) && !is_said);
}

bool hs_fits_array(struct hs_fit *f, const struct hs_heap_block *block,
                   const struct hs_native_type *type, struct hs_native_use use)
{
    uint64_t n = block->n_bytes / type->n_bytes;

    if (n < 2 || block->n_bytes - type->n_bytes < HS_SLACK_BYTES || type->larger != 0)
        return false;
    if (type->type.form == HS_FORM_SCALAR)
        return true;
    if (is_one(block, type, use.is_said))
        return false;
    if (fits_in_use(f, block, type, use))
        return true;
    if (type->is_header || is_one_with_more(f, block, type) || has_heir(f, block, type) ||
        is_one_file(block, type))
        return false;
    if (type->n_slots == 0) {
        f->has_plain_arrays = true;
        return has_no_pointer(f, block, type, n);
    }
    if (type->heir_bytes != 0 && block->n_bytes < type->heir_bytes + HS_SLACK_BYTES)
        return n >= FITS_LEAST_SURE && fits_all(f, block, type, n);
    return fits_half(f, block, type, n) || (type->type.form == HS_FORM_POINTER &&
                                            type->n_bytes == WORD && fits_middle(f, block, n));
}
