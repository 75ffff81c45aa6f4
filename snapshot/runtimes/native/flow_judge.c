/* The choice among the types that pointers say of a block: the one that most speaks for, whichever
 * of them is met first. All types are in one order (flow_judge's `claim`), so that the order in
 * which roots, blocks and regions are gone through changes nothing; decision 050. */
#include <string.h>

#include "base/checked.h"
#include "flow_private.h"

enum { WORD = 8 };

bool hs_flow_is_weak_(const struct flow *f, hs_ntype type)
{
    if (type == 0)
        return true;
    const struct hs_native_type *had = hs_native_type_of(&f->result->types, type);
    return had->type.form == HS_FORM_SCALAR && !had->is_plain; /* a stream's buffer is known */
}

static bool has_form(const struct hs_native_type *type)
{
    return type->ctype != 0 &&
           (type->type.form == HS_FORM_RECORD || type->type.form == HS_FORM_POINTER);
}

/* Tells whether the block is too large for the type, a record or one pointer: then this is only the
 * beginning of what the block is. */
static bool is_beginning(const struct hs_heap_block *block, const struct hs_native_type *type,
                         bool is_array)
{
    bool fills = type->type.form == HS_FORM_RECORD
                     ? hs_native_fills(block, type->n_bytes)
                     : block->n_bytes - type->n_bytes < HS_SLACK_BYTES;

    return has_form(type) && !is_array && !type->is_open && !type->is_open_text &&
           type->n_bytes <= block->n_bytes && !fills;
}

/* Tells whether it is an array of records or pointers of which no vector speaks: the block may be
 * one record that begins with such. */
static bool is_guessed_array(const struct flow *f, const struct hs_heap_block *block,
                             const struct hs_native_type *type, bool is_array)
{
    return has_form(type) && is_array && !type->is_table &&
           !hs_native_reserves_use(&f->result->reserves, block->rank, block->n_bytes).is_said;
}

/* Tells whether it is an array of one element with the number before it, which may as well be a
 * record that begins with a count of references. */
static bool is_one_numbered(const struct hs_heap_block *block, const struct hs_native_type *type)
{
    return type->tail.is_numbered && hs_load_u64(block->bytes + type->tail.at_bytes - WORD) == 1;
}

static enum hs_flow_strength strength_of(const struct flow *f, const struct hs_heap_block *block,
                                         const struct hs_native_type *type, bool is_array)
{
    if (type->type.form == HS_FORM_SCALAR && !type->is_plain)
        return type->is_of_middle ? HS_FLOW_MAY_BE_OF_OTHER : HS_FLOW_SCALAR;
    if (is_beginning(block, type, is_array) || is_guessed_array(f, block, type, is_array) ||
        is_one_numbered(block, type))
        return HS_FLOW_BEGINNING;
    return HS_FLOW_WHOLE;
}

enum hs_flow_strength hs_flow_strength_(const struct flow *f, const struct hs_heap_block *block,
                                        hs_ntype type)
{
    if (type == 0)
        return HS_FLOW_NOTHING;
    const struct hs_native_type *had = hs_native_type_of(&f->result->types, type);
    return strength_of(f, block, had, had->is_array);
}

bool hs_flow_is_early_(const struct flow *f, const struct hs_heap_block *block, hs_ntype type)
{
    return hs_flow_strength_(f, block, type) == HS_FLOW_WHOLE ||
           hs_native_type_of(&f->result->types, type)->type.form == HS_FORM_POINTER;
}

/* The evidence for a type of a block. */
struct claim {
    const struct hs_native_type *type;
    enum hs_flow_strength strength;
    unsigned kind; /* by what is known of it; more is better */
    uint64_t n_spare;
};

static struct claim claim_of(const struct flow *f, const struct hs_heap_block *block,
                             const struct hs_native_type *type, bool is_array)
{
    struct claim claim = {.type = type, .strength = strength_of(f, block, type, is_array)};
    const bool has_owner =
        hs_native_reserves_use(&f->result->reserves, block->rank, block->n_bytes).is_said;
    bool is_counted = type->tail.is_numbered || type->tail.is_table;
    bool is_said = type->is_table || is_counted || (is_array && has_owner);
    /* A holder that says how much of the block is in use speaks of what follows this header. */
    bool is_header = type->tail.element != 0 && !is_counted && has_owner;
    bool is_number = type->type.form == HS_FORM_SCALAR;
    /* Links lead to the head of a list as to a node; a node has a block of its own. */
    bool is_part_of_other = type->is_node && claim.strength == HS_FLOW_BEGINNING;

    if (is_number)
        claim.kind = !type->is_memory;
    else
        claim.kind = (unsigned)is_header << 4 | (unsigned)is_said << 3 |
                     (unsigned)type->is_ring_head << 2 | (unsigned)!is_part_of_other << 1 |
                     (type->type.form == HS_FORM_RECORD);
    if (type->n_bytes != 0 && type->n_bytes <= block->n_bytes && !is_number)
        claim.n_spare = is_array ? block->n_bytes % type->n_bytes : block->n_bytes - type->n_bytes;
    if (is_said || is_header)
        claim.n_spare = 0;
    return claim;
}

/* Orders two types that nothing but their names and pointers tells apart: less than, equal to or
 * greater than 0. */
static int compare_names(const struct hs_native_types *types, const struct hs_native_type *a,
                         const struct hs_native_type *b)
{
    int order = strcmp(hs_strtab_get(types->strings, b->type.name),
                       hs_strtab_get(types->strings, a->type.name));

    if (order != 0 || a->n_slots != b->n_slots)
        return order != 0 ? order : a->n_slots > b->n_slots ? 1 : -1;
    for (size_t i = 0; i < a->n_slots; i++)
        if (a->slots[i].offset_bytes != b->slots[i].offset_bytes)
            return a->slots[i].offset_bytes < b->slots[i].offset_bytes ? 1 : -1;
    return 0;
}

/* Orders two claims: greater than 0 where more speaks for `a`. */
static int compare_claims(const struct hs_native_types *types, const struct claim *a,
                          const struct claim *b)
{
    if (a->strength != b->strength)
        return a->strength > b->strength ? 1 : -1;
    if (a->kind != b->kind)
        return a->kind > b->kind ? 1 : -1;
    if (a->n_spare != b->n_spare)
        return a->n_spare < b->n_spare ? 1 : -1;
    if (a->type->n_bytes != b->type->n_bytes)
        return a->type->n_bytes > b->type->n_bytes ? 1 : -1;
    if (a->type->depth != b->type->depth)
        return a->type->depth > b->type->depth ? 1 : -1;
    return a->type == b->type ? 0 : compare_names(types, a->type, b->type);
}

/* Tells whether more evidence speaks for a value of `type`, or an array of such, than for what the
 * block has. */
static bool is_stronger(const struct flow *f, const struct hs_heap_block *block,
                        const struct hs_native_type *type, bool is_array, hs_ntype had)
{
    const struct hs_native_types *types = &f->result->types;

    if (had == 0)
        return true;
    const struct hs_native_type *other = hs_native_type_of(types, had);
    const struct claim a = claim_of(f, block, type, is_array),
                       b = claim_of(f, block, other, other->is_array);
    bool is_same = type->ctype != 0 && type->ctype == other->ctype && is_array == other->is_array;
    return a.strength != b.strength ? a.strength > b.strength
                                    : !is_same && compare_claims(types, &a, &b) > 0;
}

bool hs_flow_is_stronger_(const struct flow *f, const struct hs_heap_block *block, hs_ntype type,
                          hs_ntype had)
{
    const struct hs_native_type *one = hs_native_type_of(&f->result->types, type);

    return type != had && is_stronger(f, block, one, one->is_array, had);
}

int hs_flow_compare_classes_(const struct flow *f, const struct hs_heap_block *block, hs_ntype type,
                             hs_ntype other)
{
    const struct hs_native_type *one = hs_native_type_of(&f->result->types, type),
                                *two = hs_native_type_of(&f->result->types, other);
    const struct claim a = claim_of(f, block, one, one->is_array),
                       b = claim_of(f, block, two, two->is_array);

    if (a.strength != b.strength)
        return a.strength > b.strength ? 1 : -1;
    return a.kind != b.kind ? (a.kind > b.kind ? 1 : -1) : 0;
}

/* Replaces `*ret` by the type that stands in its place where the block has room for more: see
 * hs_ctypes_larger. */
static hs_status judge_larger(struct flow *f, const struct hs_heap_block *block, hs_ntype *ret,
                              struct hs_error *err)
{
    const struct hs_native_type *type = hs_native_type_of(&f->result->types, *ret);
    hs_ntype larger = 0;

    if (type->larger == 0 || block->n_bytes < type->n_bytes ||
        block->n_bytes - type->n_bytes < HS_SLACK_BYTES)
        return HS_OK;
    HS_TRY(hs_native_types_of_ctype(&f->result->types, type->larger, false, &larger, err));
    if (larger != 0 && hs_native_type_of(&f->result->types, larger)->n_bytes <= block->n_bytes)
        *ret = larger;
    return HS_OK;
}

/* Tells whether a pointer to a `type` at `offset` may give the block a type that more speaks for
 * than for `had`, whatever its words are. */
static bool judge_may_win(const struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                          const struct hs_native_type *type, bool is_of_other, hs_ntype had)
{
    struct hs_native_type scalar;
    uint64_t n = block->n_bytes / type->n_bytes;

    if (type->type.form == HS_FORM_SCALAR && is_of_other) {
        scalar = *type;
        scalar.is_of_middle = true;
        type = &scalar;
    }
    bool may_be_one = offset == 0 || type->is_array;
    return (may_be_one && is_stronger(f, block, type, type->is_array, had)) ||
           (n >= 2 && is_stronger(f, block, type, true, had));
}

hs_status hs_flow_says_itself_(struct flow *f, const struct hs_heap_block *block, hs_ntype had,
                               hs_ntype one, bool *ret, struct hs_error *err)
{
    const struct hs_native_type *type = hs_native_type_of(&f->result->types, had);
    bool is_array = type->is_array, is_told = type->ctype == 0;
    struct hs_named_type named = {0};
    hs_ntype own = 0;

    *ret = is_told && type->type.form != HS_FORM_SCALAR;
    if (*ret || hs_flow_is_weak_(f, had))
        return HS_OK;
    if (!hs_flow_is_stale_(f, block->rank))
        HS_TRY(hs_rtti_find(&f->rtti, &f->result->types, hs_load_u64(block->bytes), &own, err));
    *ret = own != 0 && is_array; /* of an array of such others say nothing */
    if (*ret || hs_flow_strength_(f, block, one) > hs_flow_strength_(f, block, had))
        return HS_OK;
    if (own != had && hs_heaps_have_object_names(&f->native->dump->heaps))
        HS_TRY(hs_native_named_type(f->native, &f->result->types, block, &named, err));
    *ret = own == had || named.type == had || hs_native_task_type(&f->native->tasks, block) != 0;
    return HS_OK;
}

bool hs_flow_is_record_(const struct hs_native_type *type)
{
    return type->ctype != 0 && type->type.form == HS_FORM_RECORD && !type->is_array &&
           type->n_bytes != 0;
}

bool hs_flow_are_others_(const struct flow *f, hs_ntype a, hs_ntype b)
{
    const struct hs_native_type *one = hs_native_type_of(&f->result->types, a),
                                *two = hs_native_type_of(&f->result->types, b);

    return one->ctype != two->ctype && one->type.name != two->type.name &&
           hs_native_is_other(f->native->ctypes, one->ctype, two->ctype);
}

/* Notes a block of type `had` that a pointer to `one` leads to the start of, where the two records
 * exclude each other (flow_vote.c). *ret: it has been decided that the block is another record than
 * `one`. */
static hs_status judge_contest(struct flow *f, const struct hs_heap_block *block, hs_ntype one,
                               hs_ntype had, bool *ret, struct hs_error *err)
{
    const struct hs_native_types *types = &f->result->types;
    hs_ntype decided = f->decided.n == 0 ? 0 : (hs_ntype)hs_dict_get(&f->decided, block->rank, 0);

    *ret = false;
    if (!hs_flow_is_record_(hs_native_type_of(types, one)))
        return HS_OK;
    *ret = decided != 0 && decided != one && hs_flow_are_others_(f, decided, one);
    if (had == 0 || decided != 0 || f->contested.n > hs_flow_most_contested(f->result->n_blocks) ||
        !hs_flow_is_record_(hs_native_type_of(types, had)) ||
        hs_dict_find(&f->contested, block->rank) != NULL || !hs_flow_are_others_(f, one, had))
        return HS_OK;
    return hs_dict_put(&f->contested, block->rank, f->contested.n, err);
}

/* Tells whether a block that has this type may be an array of such, as its owner has said since. */
static bool may_be_many(const struct flow *f, const struct hs_heap_block *block, hs_ntype type)
{
    const struct hs_native_type *one = hs_native_type_of(&f->result->types, type);

    return !one->is_array && is_beginning(block, one, false) &&
           hs_native_reserves_use(&f->result->reserves, block->rank, block->n_bytes).is_said;
}

hs_status hs_flow_judge_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                         hs_ctype pointee, hs_ntype *ret, struct hs_error *err)
{
    struct hs_native_types *types = &f->result->types;
    hs_ntype had = hs_flow_type(f->result, block->rank), one;
    bool is_of_other = offset != 0 || (pointee & HS_FLOW_MAY_BE_END) != 0, is_own = false;
    bool is_decided = false;

    *ret = 0;
    if (!hs_flow_may_have_type_(block) || hs_flow_is_left_(f, block, offset, pointee))
        return HS_OK;
    HS_TRY(hs_native_types_of_ctype(types, pointee & ~HS_FLOW_MAY_BE_END, false, &one, err));
    if (one == 0 || (one == had && !may_be_many(f, block, one)))
        return HS_OK;
    HS_TRY(judge_larger(f, block, &one, err));
    const struct hs_native_type *type = hs_native_type_of(types, one);
    if (type->n_bytes == 0 || type->n_bytes > block->n_bytes)
        return HS_OK;
    if (offset == 0) {
        HS_TRY(hs_flow_suspect_(f, block, one, had, err));
        HS_TRY(judge_contest(f, block, one, had, &is_decided, err));
    }
    if (is_decided || (offset != 0 && offset % type->n_bytes != 0) ||
        !judge_may_win(f, block, offset, type, is_of_other, had))
        return HS_OK;
    if (had != 0)
        HS_TRY(hs_flow_says_itself_(f, block, had, one, &is_own, err));
    *ret = is_own ? 0 : one;
    return HS_OK;
}
