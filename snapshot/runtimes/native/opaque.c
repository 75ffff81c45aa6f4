#include "opaque.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "choose.h"
#include "ends.h"
#include "flow.h"
#include "rules/rules.h"

enum { WORD = 8, NAME_BYTES = 512 };

struct opaque {
    const struct hs_native *native;
    struct hs_flow *flow;
    bool *says;           /* owned: by number of a type, less 1: has pointers to undescribed ones */
    size_t n_types;       /* before the first name */
    struct hs_dict names; /* by undescribed type: the number of its name */
    bool is_behind;       /* pointers behind a header are taken, for blocks without a name */
    bool was_behind;      /* there was such a pointer */
};

/* Returns the number of the rule by which the pointers in such a record keep nothing that others
 * keep, as those of a loop of events; 0: none. */
static uint8_t rule_of(const struct opaque *o, const struct hs_ctype_facts *facts)
{
    static const char tag[] = "struct ";
    const struct hs_rules *rules = o->native->dump->options->rules;
    const char *const names[] = {
        facts->name + (strncmp(facts->name, tag, sizeof tag - 1) == 0 ? sizeof tag - 1 : 0),
        facts->alias};

    for (size_t i = 0; i < 2 && names[i] != NULL; i++) {
        const struct hs_rule *rule =
            hs_rules_type(rules, HS_RULE_FIND, HS_RULE_C | HS_RULE_CPP, names[i]);
        if (rule != NULL)
            return rule->number;
    }
    return 0;
}

/* Finds the number of the name: the typedef by which the program knows it, or its own. */
static hs_status name_of(struct opaque *o, hs_ctype pointee, hs_ntype *ret, struct hs_error *err)
{
    struct hs_ctype_facts facts;
    char name[NAME_BYTES];

    *ret = (hs_ntype)hs_dict_get(&o->names, pointee, 0);
    if (*ret != 0)
        return HS_OK;
    hs_ctype_facts(o->native->ctypes, pointee, &facts);
    (void)snprintf(name, sizeof name, "%.480s" HS_TYPE_OPAQUE,
                   facts.alias == NULL ? facts.name : facts.alias);
    HS_TRY(hs_native_types_of_name(&o->flow->types, name, HS_FORM_RECORD, ret, err));
    o->flow->types.types[*ret - 1].find_by = rule_of(o, &facts);
    return hs_dict_put(&o->names, pointee, *ret, err);
}

static const char *text_of(const struct opaque *o, hs_ntype type)
{
    return hs_strtab_get(o->flow->types.strings,
                         hs_native_type_of(&o->flow->types, type)->type.name);
}

static bool may_have_name(const struct opaque *o, const struct hs_heap_block *block)
{
    hs_ntype had = hs_flow_type(o->flow, block->rank);

    return (had == 0 || (had > o->n_types && !o->is_behind)) && block->bytes != NULL &&
           (block->span->states & (HS_BLOCK_MAPPING | HS_BLOCK_STATIC)) == 0 &&
           hs_heaps_pool_name(&o->native->dump->heaps, block->span) == 0;
}

/* Names the block that a pointer to `pointee` leads to, if it has no better name. */
static hs_status name_block(struct opaque *o, uint64_t word, const struct hs_heap_block *block,
                            hs_ctype pointee, struct hs_error *err)
{
    uint64_t offset = hs_flow_offset(o->native, word, block);
    hs_ntype had = hs_flow_type(o->flow, block->rank), name;

    if (offset > HS_OPAQUE_HEADER_BYTES || offset % WORD != 0 || !may_have_name(o, block))
        return HS_OK;
    o->was_behind |= offset != 0;
    if ((offset != 0) != o->is_behind)
        return HS_OK;
    HS_TRY(name_of(o, pointee, &name, err));
    if (name != had && (had == 0 || strcmp(text_of(o, name), text_of(o, had)) < 0))
        hs_flow_set_type(o->flow, block->rank, name);
    return HS_OK;
}

static bool leads_to_block(const struct opaque *o, uint64_t word, hs_ctype pointee,
                           struct hs_heap_block *ret)
{
    if (word == 0 || pointee == 0 || !hs_ctypes_is_opaque(o->native->ctypes, pointee))
        return false;
    enum hs_pointer how = hs_flow_resolve(o->native, word, ret);
    return how == HS_POINTER_START || how == HS_POINTER_INTERIOR;
}

/* Takes the pointers of a value of this type at `begin` in a block. */
static hs_status name_by_value(struct opaque *o, const struct hs_heap_block *block,
                               const struct hs_native_type *type, uint64_t begin,
                               struct hs_error *err)
{
    struct hs_heap_block target, before;

    for (size_t i = 0; i < type->n_slots; i++) {
        const struct hs_cslot *slot = &type->slots[i];
        uint64_t at = begin + slot->offset_bytes;
        if (at > block->n_bytes - WORD)
            break;
        uint64_t word = hs_load_u64(block->bytes + at);
        const struct hs_ends_place near = {block->bytes, block->n_bytes, at, NULL};
        if (!slot->may_be_pointer_only && leads_to_block(o, word, slot->pointee, &target) &&
            (word != target.begin || !hs_ends_is(o->native, &near, &target, slot->is_end, &before)))
            HS_TRY(name_block(o, word, &target, slot->pointee, err));
    }
    return HS_OK;
}

/* Takes the elements of a block, and what stands behind a record. */
static hs_status name_by_block(struct opaque *o, const struct hs_heap_block *block, hs_ntype number,
                               struct hs_error *err)
{
    const struct hs_native *native = o->native;
    const struct hs_native_type type = *hs_native_type_of(&o->flow->types, number);
    hs_ntype tail = type.tail.element == 0 ? 0 : type.tail_type;
    const struct hs_native_use use =
        hs_native_reserves_use(&o->flow->reserves, block->rank, block->n_bytes);
    bool has_own = o->says[number - 1] && !type.is_table && type.n_bytes != 0;
    uint64_t n = !has_own ? 0 : type.is_array ? use.end / type.n_bytes : 1;

    for (uint64_t i = type.is_array && has_own ? use.from / type.n_bytes : 0; i < n; i++) {
        if (i % HS_FLOW_PART == 0)
            i = hs_flow_touched(native, block, i * type.n_bytes) / type.n_bytes;
        if (i < n)
            HS_TRY(name_by_value(o, block, &type, i * type.n_bytes, err));
    }
    if (tail == 0 || tail > o->n_types || !o->says[tail - 1])
        return HS_OK;
    const struct hs_native_type element = *hs_native_type_of(&o->flow->types, tail);
    const struct hs_native_use behind = hs_native_tail_use(&type.tail, block, element.n_bytes);
    for (uint64_t at = behind.from, k = 0; at < behind.end; at += element.n_bytes, k++) {
        if (k % HS_FLOW_PART == 0) { /* past what was never touched */
            uint64_t next = hs_flow_touched(native, block, at & ~(HS_FLOW_PART - 1));
            at += next > at ? (next - at) / element.n_bytes * element.n_bytes : 0;
        }
        HS_TRY(name_by_value(o, block, &element, at, err));
    }
    return HS_OK;
}

/* Notes which types have such pointers. *ret: there are some. */
static hs_status find_types(struct opaque *o, bool *ret, struct hs_error *err)
{
    const struct hs_native_types *types = &o->flow->types;

    *ret = false;
    o->n_types = types->n_types;
    HS_TRY(HS_ALLOC(&o->says, o->n_types == 0 ? 1 : o->n_types, err));
    for (size_t i = 0; i < o->n_types; i++) {
        const struct hs_native_type *type = &types->types[i];
        for (size_t k = 0; type->ctype != 0 && k < type->n_slots && !o->says[i]; k++)
            o->says[i] = type->slots[k].pointee != 0 &&
                         hs_ctypes_is_opaque(o->native->ctypes, type->slots[k].pointee);
        *ret |= o->says[i];
    }
    return HS_OK;
}

static hs_status name_by_blocks(struct opaque *o, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &o->native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block)) {
        hs_ntype type = hs_flow_type(o->flow, block.rank);
        if (type == 0 || type > o->n_types || block.bytes == NULL || block.n_bytes < WORD)
            continue;
        const struct hs_native_type *of = hs_native_type_of(&o->flow->types, type);
        if (o->says[type - 1] || (of->tail.element != 0 && of->tail_type != 0))
            HS_TRY(name_by_block(o, &block, type, err));
    }
    return HS_OK;
}

/* Takes the variables of calls, or all others. */
static hs_status name_by_variables(struct opaque *o, bool of_calls, struct hs_error *err)
{
    const struct hs_native *native = o->native;
    struct hs_heap_block block;

    for (size_t i = 0; i < native->n_seeds; i++) {
        const struct hs_native_seed *seed = &native->seeds[i];
        if (seed->is_of_call == of_calls && leads_to_block(o, seed->word, seed->pointee, &block) &&
            (!of_calls || hs_flow_type(o->flow, block.rank) == 0))
            HS_TRY(name_block(o, seed->word, &block, seed->pointee, err));
    }
    return HS_OK;
}

/* Names what pointers lead to the start of or behind a header of. */
static hs_status name_all(struct opaque *o, bool is_any, struct hs_error *err)
{
    if (is_any)
        HS_TRY(name_by_blocks(o, err));
    HS_TRY(name_by_variables(o, /* of_calls= */ false, err));
    return name_by_variables(o, /* of_calls= */ true, err);
}

hs_status hs_native_opaque(const struct hs_native *native, struct hs_flow *flow,
                           struct hs_error *err)
{
    struct opaque o = {.native = native, .flow = flow};
    bool is_any;

    if (native->ctypes == NULL)
        return HS_OK;
    hs_status status = find_types(&o, &is_any, err);
    if (status == HS_OK)
        status = name_all(&o, is_any, err);
    if (status == HS_OK && o.was_behind) {
        o.is_behind = true;
        status = name_all(&o, is_any, err);
    }
    hs_free(o.says);
    hs_dict_fini(&o.names);
    return status;
}
