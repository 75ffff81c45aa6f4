#include "agree.h"

#include "choose.h"
#include "flow.h"

enum { WORD = 8 };
enum { ARRAY_LEAST = 2, ARRAY_ODD_ONE_IN = 8 }; /* elements that speak for it; that may deny it */

enum agreement { DISAGREES, MAY_BE, AGREES, IS_KNOWN };

static bool is_lost(const struct hs_agree_by *by, const struct hs_heap_block *block)
{
    return by->reached != NULL && (block->span->states & HS_BLOCK_STATIC) == 0 &&
           !hs_bitmap_get(by->reached, block->rank);
}

/* Tells whether a block that is known as `type` may be a `pointee` as well: a record may be the
 * first member of another one. */
static enum agreement agree_types(struct hs_ctypes *types, hs_ctype type, hs_ctype pointee)
{
    if (hs_ctypes_same(types, type, pointee) || hs_ctypes_begins_with(types, type, pointee))
        return AGREES;
    return hs_ctypes_begins_with(types, pointee, type) ? MAY_BE : DISAGREES;
}

bool hs_native_is_other(struct hs_ctypes *types, hs_ctype type, hs_ctype pointee)
{
    return agree_types(types, type, pointee) == DISAGREES;
}

/* Judges a pointer to a `pointee` that leads to the start of `block`, by what is known of that
 * block. */
static enum agreement agree_block(const struct hs_agree_by *by, const struct hs_heap_block *block,
                                  hs_ctype pointee)
{
    hs_ntype has = hs_flow_type(by->flow, block->rank);
    struct hs_ctype_facts facts;

    if (pointee == 0 || (has & HS_FLOW_IS_TENTATIVE) != 0)
        return MAY_BE;
    hs_ctype_facts(by->native->ctypes, pointee, &facts);
    bool is_record = facts.kind == HS_CTYPE_RECORD || facts.kind == HS_CTYPE_UNION;
    if (facts.n_bytes > block->n_bytes)
        return DISAGREES;
    const struct hs_native_type *type = has == 0 ? NULL : hs_native_type_of(&by->flow->types, has);
    if (type == NULL || type->ctype == 0)
        return is_record && facts.n_bytes != 0 && is_lost(by, block) &&
                       block->n_bytes - facts.n_bytes < HS_SLACK_BYTES
                   ? AGREES
                   : MAY_BE;
    enum agreement found =
        is_record ? agree_types(by->native->ctypes, type->ctype, pointee) : MAY_BE;
    return found == AGREES ? IS_KNOWN : found;
}

static enum agreement agree_word(const struct hs_agree_by *by, uint64_t word,
                                 const struct hs_cslot *slot, bool *leads)
{
    struct hs_heap_block block;

    *leads = false;
    if (word == 0 || hs_cslot_dangles(slot, word))
        return MAY_BE;
    switch (hs_flow_resolve(by->native, word, &block)) {
    case HS_POINTER_START:
        *leads = true;
        return agree_block(by, &block, slot->pointee);
    case HS_POINTER_NONE: /* into a constant, a variable */
        return hs_target_mapping_at(&by->native->dump->target, word) != NULL ? MAY_BE : DISAGREES;
    default:
        return MAY_BE;
    }
}

/* Counts the words that are no pointers of the record and lead to the start of a block, `most` of
 * them. */
static uint32_t count_other_pointers(const struct hs_agree_by *by,
                                     const struct hs_heap_block *block,
                                     const struct hs_native_type *record, uint32_t most)
{
    struct hs_heap_block found;
    uint32_t n = 0;
    size_t slot = 0;

    for (uint64_t at = 0; at + WORD <= record->n_bytes && n < most; at += WORD) {
        while (slot < record->n_slots && record->slots[slot].offset_bytes < at)
            slot++;
        n +=
            (slot == record->n_slots || record->slots[slot].offset_bytes != at) &&
            hs_flow_resolve(by->native, hs_load_u64(block->bytes + at), &found) == HS_POINTER_START;
    }
    return n;
}

struct hs_agreement hs_native_agree(const struct hs_agree_by *by, const struct hs_heap_block *block,
                                    const struct hs_native_type *record, uint64_t skip,
                                    uint64_t skip_end)
{
    struct hs_agreement sum = {0};

    for (size_t i = 0; i < record->n_slots; i++) {
        const struct hs_cslot *slot = &record->slots[i];
        bool leads;
        if (slot->may_be_pointer_only || slot->offset_bytes + WORD > record->n_bytes ||
            (slot->offset_bytes >= skip && slot->offset_bytes < skip_end))
            continue;
        enum agreement found =
            agree_word(by, hs_load_u64(block->bytes + slot->offset_bytes), slot, &leads);
        sum.n_odd += found == DISAGREES;
        sum.n_shown += found >= AGREES;
        sum.n_known += found == IS_KNOWN;
        sum.n_leading += leads;
    }
    if (sum.n_odd == 0 || sum.n_known != 0) /* else one says it all */
        sum.n_odd += count_other_pointers(by, block, record, sum.n_known != 0 ? UINT32_MAX : 1);
    sum.disagrees = sum.n_odd != 0;
    return sum;
}

/* Tells whether an alternative that the element says is there leads to the start of a block. */
static bool has_chosen(const struct hs_agree_by *by, const struct hs_heap_block *element,
                       const struct hs_native_type *type)
{
    struct hs_heap_block target;

    for (size_t i = 0; i < type->n_slots; i++) {
        const struct hs_cslot *slot = &type->slots[i];
        if (slot->may_be_pointer_only && slot->n_choices != 0 &&
            slot->offset_bytes + WORD <= type->n_bytes &&
            hs_native_is_chosen(by->native, slot, element->bytes, type->n_bytes,
                                slot->offset_bytes) &&
            hs_flow_resolve(by->native, hs_load_u64(element->bytes + slot->offset_bytes),
                            &target) == HS_POINTER_START)
            return true;
    }
    return false;
}

uint64_t hs_native_agree_array(const struct hs_agree_by *by, const struct hs_heap_block *block,
                               const struct hs_native_type *type)
{
    const struct hs_objects *objects = &by->native->dump->objects;
    uint64_t first = hs_load_u64(block->bytes), n_for = 0, n_odd = 0, end = type->n_bytes;
    bool is_table = type->n_bytes >= WORD && hs_objects_object_at(objects, first) != NULL;

    for (uint64_t at = type->n_bytes; at + type->n_bytes <= block->n_bytes; at += type->n_bytes) {
        struct hs_heap_block element = *block;
        element.bytes += at;
        element.n_bytes -= at;
        const struct hs_agreement found = hs_native_agree(by, &element, type, 0, 0);
        n_odd += found.disagrees;
        n_for += !found.disagrees &&
                 (found.n_leading != 0 || (is_table && hs_load_u64(element.bytes) == first) ||
                  has_chosen(by, &element, type));
        if (n_for >= ARRAY_LEAST && n_odd <= n_for / ARRAY_ODD_ONE_IN)
            end = at + type->n_bytes;
    }
    return end;
}
