#include "guess_evidence.h"

#include "flow.h"

enum { WORD = 8, MOST_SLOTS = 256, ARRAY_LOOK = 8, MUTE_LEAST_BYTES = 256 };
enum { ODD_LEAST_KNOWN = 2, ODD_ONE_IN = 16 };

static bool is_as_large(const struct hs_native_type *type, uint64_t n_bytes)
{
    return type->ctype != 0 && type->type.form == HS_FORM_RECORD && !type->is_array &&
           !type->is_open && !type->is_open_text && type->listed_as == 0 &&
           type->said_bytes == type->n_bytes && type->n_bytes <= n_bytes &&
           n_bytes - type->n_bytes < HS_SLACK_BYTES;
}

bool hs_guess_fills(const struct hs_native_type *type, uint64_t n_bytes)
{
    return type->n_slots != 0 && type->n_slots <= MOST_SLOTS && is_as_large(type, n_bytes);
}

bool hs_guess_fills_mute(const struct hs_native_type *type, uint64_t n_bytes)
{
    return type->n_slots == 0 && n_bytes >= MUTE_LEAST_BYTES && is_as_large(type, n_bytes);
}

bool hs_guess_denies(const struct hs_agreement *found, const struct hs_native_type *record)
{
    return found->disagrees &&
           (found->n_known < ODD_LEAST_KNOWN || found->n_odd > record->n_slots / ODD_ONE_IN);
}

unsigned hs_guess_code(const struct hs_agree_by *by, const struct hs_heap_block *block,
                       const struct hs_native_type *record, bool *ret_denies)
{
    unsigned n = 0;
    size_t slot = 0;
    *ret_denies = false;
    for (uint64_t at = 0; at + WORD <= record->n_bytes; at += WORD) {
        uint64_t word = hs_load_u64(block->bytes + at);
        while (slot < record->n_slots && record->slots[slot].offset_bytes < at)
            slot++;
        bool is_slot = slot < record->n_slots && record->slots[slot].offset_bytes == at;
        const struct hs_mapping *mapping =
            is_slot || word == 0 ? NULL : hs_target_mapping_at(&by->native->dump->target, word);
        if (mapping == NULL || !mapping->executable)
            continue;
        bool has_code = hs_ctypes_has_code_at(by->native->ctypes, record->ctype, at);
        n += has_code;
        *ret_denies |= !has_code;
    }
    return n;
}

/* Tells whether a slot of a record is a pointer without doubt. */
static bool is_sure(const struct hs_native_type *record, size_t slot)
{
    return !record->slots[slot].may_be_pointer_only &&
           record->slots[slot].offset_bytes + WORD <= record->n_bytes;
}

static uint64_t word_of(const struct hs_heap_block *block, const struct hs_native_type *record,
                        size_t slot)
{
    return hs_load_u64(block->bytes + record->slots[slot].offset_bytes);
}

/* Counts the pointers to blocks without a type that may be such records, in the array of pointers
 * that `to` is: all words of it up to the first zero, or none counts. */
static unsigned count_array(const struct hs_agree_by *by, const struct hs_heap_block *to,
                            hs_ctype pointee)
{
    struct hs_ctype_facts facts;
    struct hs_heap_block element;
    unsigned n = 0;

    hs_ctype_facts(by->native->ctypes, pointee, &facts);
    if (facts.kind != HS_CTYPE_POINTER || facts.of == 0)
        return 0;
    hs_ctype_facts(by->native->ctypes, facts.of, &facts);
    if (facts.kind != HS_CTYPE_RECORD || facts.n_bytes == 0)
        return 0;
    for (uint64_t at = 0; at + WORD <= to->n_bytes && n < ARRAY_LOOK; at += WORD) {
        uint64_t word = hs_load_u64(to->bytes + at);
        if (word == 0)
            break;
        if (hs_flow_resolve(by->native, word, &element) != HS_POINTER_START ||
            hs_flow_type(by->flow, element.rank) != 0 || facts.n_bytes > element.n_bytes ||
            element.n_bytes - facts.n_bytes >= HS_SLACK_BYTES)
            return 0;
        n++;
    }
    return n;
}

/* Counts the pointers to blocks in what the pointers of a lost block lead to: in a record that
 * fills a block of no type and agrees with it, or in an array of pointers to records
 * (*ret_n_arrays). Evidence one step further on. */
static unsigned count_behind(const struct hs_agree_by *by, const struct hs_heap_block *block,
                             const struct hs_native_type *record, unsigned *ret_n_arrays)
{
    unsigned n = 0;
    struct hs_heap_block to;

    *ret_n_arrays = 0;
    for (size_t i = 0; i < record->n_slots; i++) {
        hs_ctype pointee = record->slots[i].pointee;
        if (pointee == 0 || !is_sure(record, i) ||
            hs_flow_resolve(by->native, word_of(block, record, i), &to) != HS_POINTER_START ||
            to.rank == block->rank || to.bytes == NULL || hs_flow_type(by->flow, to.rank) != 0)
            continue;
        unsigned n_elements = count_array(by, &to, pointee);
        n += n_elements;
        *ret_n_arrays += n_elements != 0;
        const struct hs_native_type *inner = hs_native_types_known(&by->flow->types, pointee);
        if (inner == NULL || !hs_guess_fills(inner, to.n_bytes))
            continue;
        const struct hs_agreement found = hs_native_agree(by, &to, inner, 0, 0);
        n += found.disagrees ? 0 : found.n_leading;
    }
    return n;
}

/* Tells whether a word leads into a block, or to its end, to whose start another sure pointer of
 * the record leads. */
static bool is_beside(const struct hs_agree_by *by, const struct hs_heap_block *block,
                      const struct hs_native_type *record, uint64_t word)
{
    struct hs_heap_block other;

    for (size_t i = 0; i < record->n_slots; i++)
        if (is_sure(record, i) &&
            hs_flow_resolve(by->native, word_of(block, record, i), &other) == HS_POINTER_START &&
            word > other.begin && word - other.begin <= other.n_bytes)
            return true;
    return false;
}

/* Tells whether a word leads into the record itself, behind the pointer. */
static bool is_own(const struct hs_heap_block *block, const struct hs_native_type *record,
                   size_t slot)
{
    uint64_t word = word_of(block, record, slot);
    return word > block->begin + record->slots[slot].offset_bytes &&
           word - block->begin < record->n_bytes;
}

/* Tells whether a slot of a record is a pointer to a record that is described nowhere, as what a
 * library hands out is. */
static bool is_handle(const struct hs_agree_by *by, const struct hs_native_type *record,
                      size_t slot)
{
    struct hs_ctype_facts facts;

    if (record->slots[slot].pointee == 0)
        return false;
    hs_ctype_facts(by->native->ctypes, record->slots[slot].pointee, &facts);
    return facts.is_declaration;
}

/* Tells whether each sure pointer of a record leads where one of its kind would. */
static bool is_full(const struct hs_agree_by *by, const struct hs_heap_block *block,
                    const struct hs_native_type *record)
{
    struct hs_heap_block to;
    unsigned n = 0;
    bool has_handle = false;

    for (size_t i = 0; i < record->n_slots; i++) {
        uint64_t word = word_of(block, record, i);
        if (!is_sure(record, i))
            continue;
        bool leads =
            is_own(block, record, i) || hs_flow_resolve(by->native, word, &to) == HS_POINTER_START;
        has_handle |= leads && is_handle(by, record, i);
        if (!leads && hs_objects_object_at(&by->native->dump->objects, word) == NULL &&
            !is_beside(by, block, record, word))
            return false;
        n += leads;
    }
    return n >= 2 || (has_handle && record->n_bytes >= HS_GUESS_LARGE_BYTES);
}

/* Counts the sure pointers that lead into a binary. */
static unsigned count_static(const struct hs_agree_by *by, const struct hs_heap_block *block,
                             const struct hs_native_type *record)
{
    unsigned n = 0;

    for (size_t i = 0; i < record->n_slots; i++)
        n += is_sure(record, i) &&
             hs_objects_object_at(&by->native->dump->objects, word_of(block, record, i)) != NULL;
    return n;
}

struct hs_evidence hs_guess_evidence(const struct hs_agree_by *by,
                                     const struct hs_heap_block *block,
                                     const struct hs_native_type *record)
{
    const struct hs_agreement found = hs_native_agree(by, block, record, 0, 0);
    unsigned n_arrays, n_behind;
    bool is_denied;
    unsigned n_code = hs_guess_code(by, block, record, &is_denied);

    if (hs_guess_denies(&found, record) || is_denied)
        return (struct hs_evidence){.is_denied = true};
    n_behind = count_behind(by, block, record, &n_arrays);
    bool speaks = found.n_shown + n_code + n_arrays != 0 &&
                  (found.n_leading + n_code >= 2 || n_behind >= (n_arrays != 0 ? 2U : 1U));
    bool is_told = found.n_known != 0 && found.n_leading + count_static(by, block, record) >= 2;
    return (struct hs_evidence){.speaks = speaks,
                                .fits = speaks || is_told || is_full(by, block, record)};
}
