/* The pointers in a value, laid out flat.
 *
 * Each type is flattened once, from the flat slots of what it is made of: an explicit stack goes
 * down to what is not flat yet. A value that contains itself is damage; it has nothing there. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "parts.h"
#include "rules/rules.h"

enum { SLOTS_WORD_BYTES = 8, SLOTS_MAX_HIDDEN = 16 /* parts of one record */ };

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

/* Adds a slot to what is being flattened; false at the limit. `member`: that it is in, or NULL. */
static bool slots_put(struct hs_ctypes *types, const struct hs_cslot *slot,
                      const struct ctypes_member *member)
{
    struct hs_error err = HS_ERROR_INIT;
    if (types->n_scratch >= HS_CTYPE_MAX_SLOTS)
        return false;
    if (HS_GROW(&types->scratch, &types->scratch_capacity, types->n_scratch + 1, &err) != HS_OK) {
        hs_ctypes_out_(types);
        return false;
    }
    struct ctypes_found *found = &types->scratch[types->n_scratch++];
    *found = (struct ctypes_found){*slot, member == NULL ? 0 : member->first_when,
                                   member == NULL ? 0 : member->n_whens};
    if (member != NULL && member->finds && !slot->is_weak) {
        found->slot.is_weak = true;
        found->slot.weak_by = member->find_by;
    }
    return true;
}

static struct hs_cslot slot_of_word(const struct ctypes_type *type, uint64_t offset)
{
    return (struct hs_cslot){.offset_bytes = offset,
                             .pointee = type->kind == HS_CTYPE_POINTER ? type->of : 0,
                             .may_be_pointer_only = (type->flags & TYPE_HIDES) != 0};
}

/* A condition on the elements of an array becomes one on each: on that of the slot `nth`, `offset`
 * bytes into it. */
static const struct ctypes_member *slots_element(struct hs_ctypes *types,
                                                 const struct ctypes_member *array, uint32_t nth,
                                                 uint64_t offset, struct ctypes_member *ret)
{
    if (array == NULL || array->n_whens != 1)
        return array;
    struct ctypes_when when = types->whens[array->first_when];
    if (when.kind != WHEN_COUNTED && when.kind != WHEN_BELOW)
        return array;
    if (when.kind == WHEN_BELOW) {
        when.kind = WHEN_IS;
        nth = (uint32_t)(offset / when.high) + 1;
        when.high = UINT64_MAX;
    }
    when.low = nth;
    *ret = *array;
    ret->first_when = (uint32_t)types->n_whens;
    ret->n_whens = hs_ctypes_when_add_(types, &when) ? 1 : 0;
    return ret;
}

/* The slots of a part at `base`; those beyond `end` are left out. False at the limit. */
static bool slots_put_part(struct hs_ctypes *types, hs_ctype part, uint64_t base, uint64_t end,
                           const struct ctypes_member *member)
{
    struct ctypes_type p = *hs_ctypes_get_(types, part);
    bool is_end = member != NULL && member->name != NULL && hs_ctypes_is_end_name(member->name);
    uint64_t last;
    if (p.kind == HS_CTYPE_POINTER || (p.flags & TYPE_HIDES) != 0) {
        struct hs_cslot slot = slot_of_word(&p, base);
        slot.is_end = is_end;
        return !hs_add_fits(base, SLOTS_WORD_BYTES, &last) || last > end ||
               slots_put(types, &slot, member);
    }
    for (uint32_t i = 0; i < p.n_slots; i++) {
        struct hs_cslot slot = p.slots[i];
        if (!hs_add_fits(base, slot.offset_bytes, &slot.offset_bytes) ||
            !hs_add_fits(slot.offset_bytes, SLOTS_WORD_BYTES, &last) || last > end)
            break;
        slot.is_end |= is_end && p.n_slots == 1; /* an iterator, or what wraps a pointer */
        struct ctypes_member element;
        if (!slots_put(types, &slot,
                       slots_element(types, member, i, p.slots[i].offset_bytes, &element)))
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
        if (!slots_put_part(types, type->of, base, UINT64_MAX, NULL))
            return false;
        if (types->n_scratch == before || !hs_add_fits(base, stride, &base))
            break;
    }
    return true;
}

/* Tells whether a base class or a member is a record of which only the name is known, as compilers
 * leave it to the library that has its virtual table: std::ostringstream. */
static bool is_hidden_part(struct hs_ctypes *types, const struct ctypes_member *member)
{
    const struct ctypes_type *type = hs_ctypes_get_(types, member->type);
    return member->name != NULL && type->kind == HS_CTYPE_RECORD && type->definition == 0 &&
           type->n_bytes == 0 && (type->flags & TYPE_DECLARED) != 0;
}

/* Returns the latest end of a hidden part: where the next member begins. One that begins where the
 * part does is all that is there: a base is empty. */
static uint64_t hidden_end(struct hs_ctypes *types, const struct ctypes_parts *parts,
                           const struct ctypes_member *base, uint64_t end)
{
    for (uint32_t i = 0; i < parts->n; i++) {
        struct ctypes_member member = hs_ctypes_part_(types, parts, i);
        bool is_behind = member.offset > base->offset;
        bool is_there = member.offset == base->offset && member.type != base->type;
        end = (is_behind || is_there) && member.offset < end ? member.offset : end;
    }
    return end;
}

/* Adds the words of a hidden part: each may be a pointer. */
static bool slots_of_hidden(struct hs_ctypes *types, const struct ctypes_parts *parts,
                            const struct ctypes_member *base, uint64_t end)
{
    if (end == UINT64_MAX)
        return true;
    end = hidden_end(types, parts, base, end);
    for (uint64_t at = base->offset; at < end && end - at >= SLOTS_WORD_BYTES;
         at += SLOTS_WORD_BYTES) {
        struct hs_cslot slot = {.offset_bytes = at, .may_be_pointer_only = true};
        if (!slots_put(types, &slot, base))
            return false;
    }
    return true;
}

static bool slots_of_members(struct hs_ctypes *types, const struct ctypes_type *type,
                             const struct ctypes_parts *parts)
{
    uint64_t end = type->n_bytes == 0 ? UINT64_MAX : type->n_bytes;
    size_t n_hidden = 0;
    struct ctypes_counted counted;
    bool is_counted = hs_ctypes_counted_by_(types, type, &counted);
    uint32_t first_when = (uint32_t)types->n_whens;
    is_counted = is_counted && hs_ctypes_when_add_(types, &counted.when);
    for (uint32_t i = 0; i < parts->n; i++) {
        struct ctypes_member member = hs_ctypes_part_(types, parts, i);
        bool is_hidden = n_hidden < SLOTS_MAX_HIDDEN && is_hidden_part(types, &member);
        n_hidden += is_hidden;
        if (is_counted && member.offset == counted.array_at && member.n_whens == 0) {
            member.first_when = first_when;
            member.n_whens = 1;
        }
        bool fits = is_hidden ? slots_of_hidden(types, parts, &member, end)
                              : slots_put_part(types, member.type, member.offset, end, &member);
        if (!fits)
            return false;
    }
    return true;
}

static int found_order(const void *a, const void *b)
{
    const struct ctypes_found *f = a, *g = b;
    if (f->slot.offset_bytes != g->slot.offset_bytes)
        return f->slot.offset_bytes < g->slot.offset_bytes ? -1 : 1;
    if (f->slot.pointee != g->slot.pointee)
        return f->slot.pointee < g->slot.pointee ? -1 : 1;
    return (f->first_when > g->first_when) - (f->first_when < g->first_when);
}

/* An alternative of a union: it has something in [begin, end); or anything may be left there, but
 * not in the word at `null_at`, which is 0 while it is the one. */
struct slots_alternative {
    uint64_t begin, end, null_at; /* UINT64_MAX: no such word */
};

/* Makes an alternative: the bytes of a member; or, of one with conditions, all of the union, since
 * what is left of others around its value tells nothing. False for one without conditions that is
 * empty. */
static bool alternative_make(struct hs_ctypes *types, const struct ctypes_member *member,
                             struct slots_alternative *ret)
{
    if (member->n_whens != 0) {
        const struct ctypes_when *when = &types->whens[member->first_when];
        bool is_null = when->kind == WHEN_IS && when->n_bytes == SLOTS_WORD_BYTES &&
                       when->low == 0 && when->high == 0;
        *ret = (struct slots_alternative){0, UINT64_MAX, is_null ? (uint64_t)when->at : UINT64_MAX};
        return true;
    }
    const struct ctypes_type *part = hs_ctypes_get_(types, member->type);
    bool is_empty =
        (part->kind == HS_CTYPE_RECORD || part->kind == HS_CTYPE_UNION) && part->n_members == 0;
    uint64_t n_bytes = hs_ctypes_size_(types, member->type);
    *ret = (struct slots_alternative){member->offset, member->offset + n_bytes, UINT64_MAX};
    return !is_empty && n_bytes != 0 && n_bytes <= UINT64_MAX - member->offset;
}

static size_t alternatives_list(struct hs_ctypes *types, const struct ctypes_parts *parts,
                                struct slots_alternative *ret)
{
    struct slots_alternative one;
    size_t n = 0;
    for (uint32_t i = 0; parts->is_union && i < parts->n; i++) {
        struct ctypes_member member = hs_ctypes_part_(types, parts, i);
        if (!alternative_make(types, &member, &one))
            continue;
        if (n == PARTS_MAX)
            return SIZE_MAX; /* too many to compare */
        ret[n++] = one;
    }
    return n;
}

/* Counts the alternatives that have something at `offset`, which need be no pointer. */
static size_t alternatives_there(const struct slots_alternative *alternatives, size_t n,
                                 uint64_t offset)
{
    size_t n_there = 0;
    if (n == SIZE_MAX)
        return SIZE_MAX;
    for (size_t i = 0; i < n; i++)
        n_there += alternatives[i].begin < offset + SLOTS_WORD_BYTES &&
                   offset < alternatives[i].end && alternatives[i].null_at != offset;
    return n_there;
}

static bool found_is_told(const struct hs_ctypes *types, const struct ctypes_found *found)
{
    return found->n_whens != 0 && types->whens[found->first_when].kind >= WHEN_TABLE;
}

/* A vector's array, a deque's blocks. */
static bool found_is_used(const struct hs_ctypes *types, const struct ctypes_found *found)
{
    return found->n_whens != 0 && types->whens[found->first_when].kind >= WHEN_USED_END &&
           types->whens[found->first_when].kind <= WHEN_USED_BEFORE;
}

/* Tells whether a slot is there while a word of the same record says so: a std::optional's
 * value. */
static bool found_is_optional(const struct hs_ctypes *types, const struct ctypes_parts *parts,
                              const struct ctypes_found *found)
{
    return !parts->is_union && found->n_whens != 0 && !found_is_told(types, found) &&
           !found_is_used(types, found);
}

/* Adds the choices that one of several slots of a place stands for; false when there is no room. */
static bool choices_add(struct hs_ctypes *types, const struct ctypes_found *found)
{
    struct ctypes_choice inner = {found->slot.pointee, 0, 0};
    uint64_t offset = found->slot.offset_bytes;
    if (found->slot.n_choices == 0)
        return hs_ctypes_choice_add_(types, &inner, offset, found->first_when, found->n_whens);
    for (uint32_t i = 0; i < found->slot.n_choices; i++) {
        inner = types->choices[found->slot.first_choice + i];
        if (!hs_ctypes_choice_add_(types, &inner, offset, found->first_when, found->n_whens))
            return false;
    }
    return true;
}

/* Chooses what the slots [begin, end) of scratch, of one place, leave to the discriminant. Of what
 * nothing tells apart, as the alternatives of a union of C, nothing. */
static void slots_choose(struct hs_ctypes *types, size_t begin, size_t end, struct hs_cslot *merged)
{
    size_t first = types->n_choices;
    bool is_known = true;
    if (end - begin == 1 && types->scratch[begin].n_whens == 0)
        return; /* its own choices, if it has some */
    for (size_t i = begin; i < end && is_known; i++) {
        struct ctypes_found found = types->scratch[i];
        is_known = (end - begin == 1 || found.n_whens != 0) && choices_add(types, &found);
    }
    size_t n = types->n_choices - first;
    merged->first_choice = (uint32_t)first;
    merged->n_choices = is_known && n <= UINT8_MAX ? (uint8_t)n : 0;
}

/* Merges into one slot those of scratch from `begin` on that are at one place: sure when every
 * alternative that has something there (`n_there`) has a sure pointer there. Returns where they
 * end. */
static size_t slots_merge_place(struct hs_ctypes *types, const struct ctypes_parts *parts,
                                size_t begin, size_t n_there, struct hs_cslot *ret)
{
    const struct ctypes_found first = types->scratch[begin];
    bool differs = false, is_more = false; /* by the value; the value tells more */
    bool is_told = parts->may_lack;        /* by conditions, or by Rust's own means */
    size_t n_sure = 0, end;
    *ret = first.slot;
    for (end = begin;
         end < types->n_scratch && types->scratch[end].slot.offset_bytes == first.slot.offset_bytes;
         end++) {
        const struct ctypes_found *found = &types->scratch[end];
        bool is_optional = found_is_optional(types, parts, found);
        n_sure += !found->slot.may_be_pointer_only;
        is_told |= found->n_whens != 0 || found->slot.may_dangle;
        ret->may_be_pointer_only |= is_optional;
        ret->may_dangle |= found->slot.may_dangle;
        ret->is_weak &= found->slot.is_weak;
        ret->is_owned |= found->slot.is_owned;
        differs |=
            found->slot.pointee != first.slot.pointee || found_is_told(types, found) || is_optional;
        is_more |= found->slot.n_choices != 0 || found_is_used(types, found);
    }
    bool is_missing = parts->is_union && n_sure < n_there; /* in some alternative */
    ret->may_be_pointer_only |= is_missing;
    differs |= is_missing && first.n_whens != 0;
    if (differs)
        ret->pointee = 0;
    bool is_untold = is_missing && !is_more && !is_told && (ret->n_choices == 0);
    uint32_t untold = ret->is_untold && !is_untold ? ret->first_choice : 0;
    if (differs || is_more)
        slots_choose(types, begin, end, ret);
    if (ret->n_choices == 0)
        ret->first_choice = untold;
    ret->is_untold = ret->n_choices == 0 && (is_untold || untold != 0);
    return end;
}

static void slots_merge(struct hs_ctypes *types, const struct ctypes_parts *parts)
{
    struct slots_alternative alternatives[PARTS_MAX];
    size_t n_alternatives = alternatives_list(types, parts, alternatives), n = 0;
    for (size_t i = 0; i < types->n_scratch;) {
        struct hs_cslot merged;
        size_t n_there =
            alternatives_there(alternatives, n_alternatives, types->scratch[i].slot.offset_bytes);
        n_there += n_there != SIZE_MAX && parts->may_lack ? 1 : 0;
        i = slots_merge_place(types, parts, i, n_there, &merged);
        types->scratch[n++].slot = merged;
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
    for (size_t i = 0; i < n; i++)
        slots[i] = types->scratch[i].slot;
    struct ctypes_type *done = hs_ctypes_get_(types, number);
    done->slots = slots;
    done->n_slots = (uint32_t)n;
    done->flags =
        (uint16_t)((done->flags & ~TYPE_FLATTENING) | TYPE_FLATTENED | (is_whole ? 0 : TYPE_CUT));
    types->n_all_slots += n;
}

/* Tells whether the pointers of a record are weak by a rule, of its own name or, for want of one,
 * of its typedef's (GLib's GWeakRef). *ret_by is the rule's number. */
static bool is_weak(const struct hs_ctypes *types, const struct ctypes_type *type, uint8_t *ret_by)
{
    const struct hs_rule *rule = NULL;

    *ret_by = type->weak_by;
    if ((type->flags & TYPE_WEAK) != 0 || type->alias == NULL)
        return (type->flags & TYPE_WEAK) != 0;
    rule = hs_rules_type(types->rules, HS_RULE_FIND, HS_RULE_C, type->alias);
    *ret_by = rule == NULL ? 0 : rule->number;
    return rule != NULL;
}

/* Adds the slots that a record has by all pointers in it. */
static void slots_of_record(struct hs_ctypes *types, const struct ctypes_type *type)
{
    uint8_t weak_by;
    bool finds = is_weak(types, type, &weak_by);

    for (size_t i = 0; i < types->n_scratch; i++) {
        struct hs_cslot *slot = &types->scratch[i].slot;
        slot->may_dangle |= (type->flags & TYPE_DANGLES) != 0;
        slot->is_owned |= (type->flags & TYPE_OWNS) != 0;
        if (finds && !slot->is_weak)
            slot->weak_by = weak_by;
        slot->is_weak |= finds;
    }
}

static void slots_finish(struct hs_ctypes *types, hs_ctype number)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    if (type.definition != 0) {
        slots_share(types, number, type.definition);
        return;
    }
    if ((type.flags & TYPE_DANGLES) == 0)
        hs_ctypes_mark_gone_(types, &type);
    struct ctypes_parts parts = hs_ctypes_parts_(types, number);
    types->n_scratch = 0;
    bool is_whole = type.kind == HS_CTYPE_ARRAY ? slots_of_array(types, &type)
                                                : slots_of_members(types, &type, &parts);
    bool is_sorted = true;
    for (size_t i = 1; i < types->n_scratch; i++)
        is_sorted &= types->scratch[i - 1].slot.offset_bytes <= types->scratch[i].slot.offset_bytes;
    if (!is_sorted)
        qsort(types->scratch, types->n_scratch, sizeof(*types->scratch), found_order);
    slots_of_record(types, &type);
    slots_merge(types, &parts);
    if (type.kind != HS_CTYPE_ARRAY)
        hs_ctypes_untold_adopt_(types, number);
    if (type.rule != 0)
        hs_ctypes_rule_apply_(types, number, types->scratch, types->n_scratch);
    slots_keep(types, number, is_whole);
}

void hs_ctypes_flatten_(struct hs_ctypes *types, hs_ctype type)
{
    struct slots_frame stack[CTYPES_MAX_NESTED];
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
        } else if (n < CTYPES_MAX_NESTED) {
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
                *slot = slot_of_word(&type, 0);
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
