/* Types of blocks that another runtime's objects have for data: a Bigarray of OCaml, a channel. */
#include "flow.h"
#include "rules/rules.h"

struct outside {
    const struct hs_native *native;
    struct hs_flow *flow;
};

/* Finds the type of a name: of data without pointers, or of a record some words of which only find,
 * as a rule of that class says. */
static hs_status type_of(const struct outside *o, const char *name, hs_ntype *ret,
                         struct hs_error *err)
{
    const struct hs_rule *rule = hs_rules_class(o->native->dump->options->rules, name, "(OCaml)");

    if (rule == NULL)
        return hs_native_types_of_plain(&o->flow->types, name, ret, err);
    HS_TRY(hs_native_types_of_name(&o->flow->types, name, HS_FORM_RECORD, ret, err));
    o->flow->types.types[*ret - 1].other_words = rule->words;
    return HS_OK;
}

static hs_status take(void *context, hs_addr data, const char *name, struct hs_error *err)
{
    const struct outside *o = context;
    struct hs_heap_block block;
    hs_ntype type;

    if (hs_flow_resolve(o->native, data, &block) != HS_POINTER_START ||
        hs_flow_type(o->flow, block.rank) != 0 || (block.span->states & HS_BLOCK_MAPPING) != 0)
        return HS_OK;
    HS_TRY(type_of(o, name, &type, err));
    hs_flow_set_type(o->flow, block.rank, type);
    o->flow->n_typed++;
    return HS_OK;
}

hs_status hs_native_outside(const struct hs_native *native, struct hs_flow *flow,
                            struct hs_error *err)
{
    struct outside o = {native, flow};
    struct hs_dump *dump = native->dump;

    for (size_t i = 0; i < dump->n_serving; i++)
        if (dump->serving[i].runtime->outside != NULL)
            HS_TRY(dump->serving[i].runtime->outside(dump->serving[i].state, take, &o, err));
    return HS_OK;
}
