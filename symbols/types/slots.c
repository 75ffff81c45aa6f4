/* The pointers in a value, laid out flat.
 *
 * Each type is flattened once, from the flat slots of what it is made of: an explicit stack goes
 * down to what is not flat yet. A value that contains itself is damage; it has nothing there. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "pool.h"

enum { SLOTS_WORD_BYTES = 8, SLOTS_MAX_ALTERNATIVES = 64 };

struct slots_frame {
    hs_ctype type;
    uint32_t next; /* member that was not looked at yet */
};

/* The next thing that `type` is made of and that is not flat; 0 when there is none. */
static hs_ctype frame_needs(struct hs_ctypes *types, struct slots_frame *frame)
{
    struct ctypes_type type = *hs_ctypes_get_(types, frame->type);
    hs_ctype one = type.definition != 0 ? type.definition : type.of;
    bool is_one = type.definition != 0 || type.kind == HS_CTYPE_ARRAY;
    uint32_t n = is_one ? 1 : type.n_members;
    while (frame->next < n) {
        hs_ctype part = is_one ? one : types->members[type.first_member + frame->next].type;
        frame->next++;
        const struct ctypes_type *p = hs_ctypes_get_(types, part);
        bool is_made =
            p->kind == HS_CTYPE_RECORD || p->kind == HS_CTYPE_UNION || p->kind == HS_CTYPE_ARRAY;
        if (is_made && (p->flags & (TYPE_FLATTENED | TYPE_FLATTENING)) == 0)
            return part;
        if ((p->flags & TYPE_FLATTENING) != 0)
            types->n_damaged++; /* it contains itself */
    }
    return 0;
}

/* Adds a slot to what is being flattened; false at the limit. */
static bool slots_put(struct hs_ctypes *types, const struct hs_cslot *slot)
{
    struct hs_error err = HS_ERROR_INIT;
    if (types->n_scratch >= HS_CTYPE_MAX_SLOTS)
        return false;
    if (HS_GROW(&types->scratch, &types->scratch_capacity, types->n_scratch + 1, &err) != HS_OK) {
        hs_ctypes_out_(types);
        return false;
    }
    types->scratch[types->n_scratch++] = *slot;
    return true;
}

/* The slots of a part at `base`; those beyond `end` are left out. False at the limit. */
static bool slots_put_part(struct hs_ctypes *types, hs_ctype part, uint64_t base, uint64_t end)
{
    struct ctypes_type p = *hs_ctypes_get_(types, part);
    uint64_t last;
    if (p.kind == HS_CTYPE_POINTER || (p.flags & TYPE_HIDES) != 0) {
        struct hs_cslot slot = {base, p.kind == HS_CTYPE_POINTER ? p.of : 0,
                                (p.flags & TYPE_HIDES) != 0};
        return !hs_add_fits(base, SLOTS_WORD_BYTES, &last) || last > end || slots_put(types, &slot);
    }
    for (uint32_t i = 0; i < p.n_slots; i++) {
        struct hs_cslot slot = p.slots[i];
        if (!hs_add_fits(base, slot.offset_bytes, &slot.offset_bytes) ||
            !hs_add_fits(slot.offset_bytes, SLOTS_WORD_BYTES, &last) || last > end)
            break;
        if (!slots_put(types, &slot))
            return false;
    }
    return (p.flags & TYPE_CUT) == 0;
}

static bool slots_of_array(struct hs_ctypes *types, const struct ctypes_type *type)
{
    uint64_t stride = hs_ctypes_size_(types, type->of), base = 0;
    const struct ctypes_type *of = hs_ctypes_get_(types, type->of);
    bool has_slots = of->kind == HS_CTYPE_POINTER || (of->flags & TYPE_HIDES) != 0 ||
                     of->n_slots > 0 || (of->flags & TYPE_CUT) != 0;
    if (!has_slots || stride == 0)
        return true;
    for (uint64_t i = 0; i < type->n_elements; i++) {
        size_t before = types->n_scratch;
        if (!slots_put_part(types, type->of, base, UINT64_MAX))
            return false;
        if (types->n_scratch == before || !hs_add_fits(base, stride, &base))
            break;
    }
    return true;
}

static bool slots_of_members(struct hs_ctypes *types, const struct ctypes_type *type)
{
    uint64_t end = type->n_bytes == 0 ? UINT64_MAX : type->n_bytes;
    for (uint32_t i = 0; i < type->n_members; i++) {
        struct ctypes_member member = types->members[type->first_member + i];
        if (!slots_put_part(types, member.type, member.offset, end))
            return false;
    }
    return true;
}

static int slot_order(const void *a, const void *b)
{
    const struct hs_cslot *s = a, *t = b;
    if (s->offset_bytes != t->offset_bytes)
        return s->offset_bytes < t->offset_bytes ? -1 : 1;
    return (s->pointee > t->pointee) - (s->pointee < t->pointee);
}

/* An alternative of a union with something in it: [begin, end). */
struct slots_alternative {
    uint64_t begin, end;
};

static size_t alternatives_list(struct hs_ctypes *types, const struct ctypes_type *type,
                                struct slots_alternative *ret)
{
    size_t n = 0;
    for (uint32_t i = 0; i < type->n_members; i++) {
        struct ctypes_member member = types->members[type->first_member + i];
        const struct ctypes_type *part = hs_ctypes_get_(types, member.type);
        bool is_empty =
            (part->kind == HS_CTYPE_RECORD || part->kind == HS_CTYPE_UNION) && part->n_members == 0;
        uint64_t n_bytes = hs_ctypes_size_(types, member.type);
        if (is_empty || n_bytes == 0 || n_bytes > UINT64_MAX - member.offset)
            continue;
        if (n == SLOTS_MAX_ALTERNATIVES)
            return SIZE_MAX; /* too many to compare */
        ret[n++] = (struct slots_alternative){member.offset, member.offset + n_bytes};
    }
    return n;
}

/* Slots of one place become one: sure when every alternative that has something there has a sure
 * pointer there. */
static void slots_merge(struct hs_ctypes *types, const struct ctypes_type *type)
{
    struct slots_alternative alternatives[SLOTS_MAX_ALTERNATIVES];
    bool is_union = type->kind == HS_CTYPE_UNION;
    size_t n_alternatives = is_union ? alternatives_list(types, type, alternatives) : 0, n = 0;
    struct hs_cslot *slots = types->scratch;
    for (size_t i = 0, end; i < types->n_scratch; i = end) {
        struct hs_cslot merged = slots[i];
        size_t n_sure = 0, n_there = n_alternatives == SIZE_MAX ? SIZE_MAX : 0;
        for (end = i; end < types->n_scratch && slots[end].offset_bytes == merged.offset_bytes;
             end++) {
            n_sure += !slots[end].may_be_pointer_only;
            if (slots[end].pointee != merged.pointee)
                merged.pointee = 0;
        }
        for (size_t j = 0; n_there != SIZE_MAX && j < n_alternatives; j++)
            n_there += alternatives[j].begin < merged.offset_bytes + SLOTS_WORD_BYTES &&
                       merged.offset_bytes < alternatives[j].end;
        if (is_union && n_sure < n_there)
            merged.may_be_pointer_only = true;
        slots[n++] = merged;
    }
    types->n_scratch = n;
}

static void slots_share(struct hs_ctypes *types, hs_ctype number, hs_ctype definition)
{
    struct ctypes_type from = *hs_ctypes_get_(types, definition);
    struct ctypes_type *to = hs_ctypes_get_(types, number);
    to->slots = from.slots;
    to->n_slots = from.n_slots;
    to->flags =
        (uint16_t)((to->flags & ~TYPE_FLATTENING) | TYPE_FLATTENED | (from.flags & TYPE_CUT));
}

/* Keeps a copy of what stands in scratch. */
static void slots_keep(struct hs_ctypes *types, hs_ctype number, bool is_whole)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_cslot *slots = NULL;
    size_t n = types->n_scratch;
    if (n > CTYPES_MAX_ALL_SLOTS - types->n_all_slots) {
        n = 0;
        is_whole = false;
        types->n_damaged++;
    }
    if (n > 0 && HS_ALLOC(&slots, n, &err) != HS_OK) {
        hs_ctypes_out_(types);
        n = 0;
        is_whole = false;
    }
    if (n > 0)
        memcpy(slots, types->scratch, n * sizeof(*slots));
    struct ctypes_type *done = hs_ctypes_get_(types, number);
    done->slots = slots;
    done->n_slots = (uint32_t)n;
    done->flags =
        (uint16_t)((done->flags & ~TYPE_FLATTENING) | TYPE_FLATTENED | (is_whole ? 0 : TYPE_CUT));
    types->n_all_slots += n;
}

static void slots_finish(struct hs_ctypes *types, hs_ctype number)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    if (type.definition != 0) {
        slots_share(types, number, type.definition);
        return;
    }
    types->n_scratch = 0;
    bool is_whole =
        type.kind == HS_CTYPE_ARRAY ? slots_of_array(types, &type) : slots_of_members(types, &type);
    bool is_sorted = true;
    for (size_t i = 1; i < types->n_scratch; i++)
        is_sorted &= types->scratch[i - 1].offset_bytes <= types->scratch[i].offset_bytes;
    if (!is_sorted)
        qsort(types->scratch, types->n_scratch, sizeof(*types->scratch), slot_order);
    slots_merge(types, &type);
    if (type.rule != 0)
        hs_ctypes_rule_apply_(types, number, types->scratch, types->n_scratch);
    slots_keep(types, number, is_whole);
}

void hs_ctypes_flatten_(struct hs_ctypes *types, hs_ctype type)
{
    struct slots_frame stack[CTYPES_MAX_HOPS];
    size_t n = 0;
    struct ctypes_type *top = hs_ctypes_get_(types, type);
    if ((top->flags & TYPE_FLATTENED) != 0)
        return;
    top->flags |= TYPE_FLATTENING;
    stack[n++] = (struct slots_frame){type, 0};
    while (n > 0) {
        hs_ctype needed = frame_needs(types, &stack[n - 1]);
        if (needed == 0) {
            slots_finish(types, stack[--n].type);
        } else if (n < CTYPES_MAX_HOPS) {
            hs_ctypes_get_(types, needed)->flags |= TYPE_FLATTENING;
            stack[n++] = (struct slots_frame){needed, 0};
        } else {
            hs_ctypes_get_(types, needed)->flags |= TYPE_FLATTENED | TYPE_CUT;
            types->n_damaged++;
        }
    }
}

const struct hs_cslot *hs_ctypes_slots(struct hs_ctypes *types, hs_ctype number, size_t *ret_n,
                                       bool *ret_is_cut)
{
    hs_ctypes_trim_(types);
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    if (type.kind == HS_CTYPE_POINTER || (type.flags & TYPE_HIDES) != 0) {
        if ((type.flags & TYPE_FLATTENED) == 0) { /* one slot, kept like the others */
            struct hs_error err = HS_ERROR_INIT;
            struct hs_cslot *slot = NULL;
            if (HS_ALLOC(&slot, 1, &err) != HS_OK) {
                hs_ctypes_out_(types);
            } else {
                *slot = (struct hs_cslot){0, type.kind == HS_CTYPE_POINTER ? type.of : 0,
                                          (type.flags & TYPE_HIDES) != 0};
                type.slots = slot;
                type.n_slots = 1;
                type.flags |= TYPE_FLATTENED;
                *hs_ctypes_get_(types, number) = type;
            }
        }
    } else if (type.kind == HS_CTYPE_RECORD || type.kind == HS_CTYPE_UNION ||
               type.kind == HS_CTYPE_ARRAY) {
        hs_ctypes_flatten_(types, number);
    }
    type = *hs_ctypes_get_(types, number);
    *ret_n = type.n_slots;
    *ret_is_cut = (type.flags & TYPE_CUT) != 0;
    return type.slots;
}
