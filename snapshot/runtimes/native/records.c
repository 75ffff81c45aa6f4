#include "records.h"

#include "base/alloc.h"
#include "flow.h"
#include "heaps/rule_applies.h"
#include "rules/rules.h"
#include "shapes.h"

enum { WORD = 8, MOST_RULES = 64 };

/* A rule whose library the process has. */
struct record_of {
    const struct hs_rule *rule; /* borrowed */
    hs_ntype type;              /* 0: none was met yet */
};

struct records {
    struct hs_native *native;
    struct hs_flow *flow;
    struct record_of of[MOST_RULES];
    size_t n;
};

/* Lists the rules that the process may have records of, or, without a list, counts up to one. */
static size_t find_rules(const struct hs_native *native, struct record_of *ret, size_t most)
{
    const struct hs_rules *rules = native->dump->options->rules;
    size_t n = 0;

    if (native->dump->process.objects == NULL)
        return 0;
    for (size_t i = 0; rules != NULL && i < rules->of[HS_RULE_RECORD].n && n < most; i++) {
        const struct hs_rule *rule = &rules->rules[rules->of[HS_RULE_RECORD].rules[i]];
        if (hs_rule_applies(&native->dump->process, rule))
            ret[n++].rule = rule;
    }
    return n;
}

bool hs_native_has_records(const struct hs_native *native)
{
    struct record_of one[1];
    return find_rules(native, one, 1) != 0;
}

/* ---- one block */

static bool leads_as_said(const struct records *r, const struct hs_heap_block *block,
                          const struct hs_record_word *said)
{
    uint64_t word = hs_load_u64(block->bytes + said->at);
    struct hs_heap_block target;

    switch (said->leads) {
    case HS_LEADS_SELF:
        return word == block->begin + said->into;
    case HS_LEADS_BLOCK:
        return hs_flow_resolve(r->native, word, &target) != HS_POINTER_NONE;
    case HS_LEADS_CODE:
        return hs_objects_object_at(&r->native->dump->objects, word) != NULL;
    default:
        return word == 0 || hs_flow_resolve(r->native, word, &target) != HS_POINTER_NONE ||
               hs_objects_object_at(&r->native->dump->objects, word) != NULL;
    }
}

static bool is_record(const struct records *r, const struct hs_heap_block *block,
                      const struct hs_rule_record *record)
{
    if (record->is_more ? block->n_bytes < record->n_bytes
                        : !hs_shapes_fits(block, record->n_bytes))
        return false;
    for (size_t i = 0; i < record->n_magics; i++) {
        const struct hs_record_magic *magic = &record->magics[i];
        if (((hs_load_u32(block->bytes + magic->at) ^ magic->value) & magic->mask) != 0)
            return false;
    }
    for (size_t i = 0; i < record->n_words; i++)
        if (!leads_as_said(r, block, &record->words[i]))
            return false;
    return true;
}

/* ---- types */

/* Gives a type the names of its record's members. */
static hs_status add_members(const struct records *r, const struct hs_rule_record *record,
                             hs_ntype number, struct hs_error *err)
{
    struct hs_native_type *type = &r->flow->types.types[number - 1];
    struct hs_object_member *members;

    HS_TRY(HS_ALLOC(&members, record->n_members, err));
    type->own_members = members;
    type->members = members;
    type->n_members = record->n_members;
    for (size_t i = 0; i < record->n_members; i++) {
        members[i].offset_bytes = record->members[i].at;
        HS_TRY(hs_strtab_add(&r->native->dump->strings, record->members[i].name, &members[i].name,
                             err));
    }
    return HS_OK;
}

static hs_status type_of(const struct records *r, struct record_of *of, hs_ntype *ret,
                         struct hs_error *err)
{
    const struct hs_rules *rules = r->native->dump->options->rules;
    const struct hs_rule *rule = of->rule;
    hs_str name;

    *ret = of->type;
    if (*ret != 0)
        return HS_OK;
    HS_TRY(hs_strtab_add(&r->native->dump->strings, rules->patterns[rule->first_pattern].text,
                         &name, err));
    HS_TRY(hs_native_types_of_finder(&r->flow->types, name, rule->words, ret, err));
    of->type = *ret;
    return rule->record.n_members == 0 || hs_native_type_of(&r->flow->types, *ret)->n_members != 0
               ? HS_OK
               : add_members(r, &rule->record, *ret, err);
}

/* Tells whether a block is malloc's, has no type yet and is in the copy. */
static bool is_unnamed(const struct records *r, const struct hs_heap_block *block)
{
    return block->bytes != NULL && hs_flow_type(r->flow, block->rank) == 0 &&
           (block->span->states & (HS_BLOCK_MAPPING | HS_BLOCK_STATIC)) == 0;
}

static void give(const struct records *r, const struct hs_heap_block *block, hs_ntype type)
{
    hs_flow_set_type(r->flow, block->rank, type);
    r->flow->n_typed++;
}

/* Names the blocks that members lead to the beginning of. */
static hs_status name_parts(struct records *r, const struct hs_heap_block *block,
                            const struct hs_rule_record *record, struct hs_error *err)
{
    struct hs_heap_block part;
    hs_ntype type;

    for (size_t i = 0; i < record->n_members; i++) {
        const struct hs_record_member *member = &record->members[i];
        uint64_t word = hs_load_u64(block->bytes + member->at);
        if (member->to == NULL || hs_flow_resolve(r->native, word, &part) != HS_POINTER_START ||
            !is_unnamed(r, &part))
            continue;
        HS_TRY(hs_native_types_of_name(&r->flow->types, member->to, HS_FORM_RECORD, &type, err));
        give(r, &part, type);
    }
    return HS_OK;
}

static hs_status name_blocks(struct records *r, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &r->native->dump->heaps.map};
    struct hs_heap_block block;
    hs_ntype type;

    while (hs_heap_map_next(&it, &block)) {
        if (!is_unnamed(r, &block))
            continue;
        size_t i = 0;
        while (i < r->n && !is_record(r, &block, &r->of[i].rule->record))
            i++;
        if (i == r->n)
            continue;
        HS_TRY(type_of(r, &r->of[i], &type, err));
        give(r, &block, type);
    }
    return HS_OK;
}

/* Goes over the records once all are named: a part may look like one. */
static hs_status name_all_parts(struct records *r, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &r->native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block)) {
        hs_ntype type = block.bytes == NULL ? 0 : hs_flow_type(r->flow, block.rank);
        for (size_t i = 0; type != 0 && i < r->n; i++)
            if (r->of[i].type == type && is_record(r, &block, &r->of[i].rule->record))
                HS_TRY(name_parts(r, &block, &r->of[i].rule->record, err));
    }
    return HS_OK;
}

hs_status hs_native_records(struct hs_native *native, struct hs_flow *flow, struct hs_error *err)
{
    struct records r = {.native = native, .flow = flow};

    r.n = find_rules(native, r.of, MOST_RULES);
    if (r.n == 0)
        return HS_OK;
    HS_TRY(name_blocks(&r, err));
    return name_all_parts(&r, err);
}
