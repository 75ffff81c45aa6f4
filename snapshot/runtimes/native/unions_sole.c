/* Judges whether the addresses that go with a number are live, or were left by others: what is firm
 * without them is marked, then what they lead to besides. Those of the number 0, which mostly
 * stands for nothing, come last: what others lead to is theirs. */
#include "base/alloc.h"
#include "firm.h"
#include "flow.h"
#include "roots.h"
#include "rule_lines.h"
#include "unions_private.h"

enum { SOLE_ROUNDS = 16, SOLE_ONE_IN = 8, SOLE_LEAST = 4 };

struct sole {
    struct hs_scan *scan;
    struct hs_native *native;
    struct hs_firm firm;
    struct hs_bitmap marks, seen; /* by rank: is firm; its words were looked at, in this turn */
    bool takes_zero, is_any;
};

/* Counts a word of a union that leads to a block to which nothing else did, and meets that block.
 */
static hs_status sole_word(struct sole *s, const struct hs_union *u, uint64_t word,
                           hs_cvalue_read *read, void *context, struct hs_error *err)
{
    struct hs_union_value *value = hs_union_value_(u, read, context);
    struct hs_heap_block target;

    if (value == NULL || (value->value == 0) != s->takes_zero ||
        hs_union_judge_(u, read, context) != HS_UNION_SURE)
        return HS_OK;
    enum hs_pointer how = hs_flow_resolve(s->native, word, &target);
    if ((how != HS_POINTER_START && how != HS_POINTER_INTERIOR) ||
        hs_bitmap_get(&s->marks, target.rank))
        return HS_OK;
    value->n_sole++;
    s->is_any = true;
    HS_TRY(hs_firm_take(&s->firm, &target, err));
    return hs_firm_drain(&s->firm, err);
}

static hs_status sole_slot(void *with, const struct hs_heap_block *block,
                           const struct hs_cslot *slot, uint64_t at, struct hs_error *err)
{
    struct sole *s = with;
    struct hs_value_bytes place = {block->bytes, block->n_bytes, at};
    const struct hs_union *u = hs_unions_of_(s->native, slot);

    return u == NULL
               ? HS_OK
               : sole_word(s, u, hs_load_u64(block->bytes + at), hs_value_read_bytes, &place, err);
}

static hs_status sole_roots(struct sole *s, struct hs_error *err)
{
    const struct hs_roots *roots = &s->native->roots;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        const struct hs_root_leaf *leaf = &roots->leaves[i];
        struct hs_value_place place = {&s->native->dump->image, leaf->root.address};
        uint64_t word;
        if (leaf->untold == 0 || leaf->root.address == 0 ||
            !hs_image_u64(place.image, place.address, &word))
            continue;
        HS_TRY(sole_word(s, &s->native->unions.unions[leaf->untold - 1], word, hs_value_read_image,
                         &place, err));
    }
    return HS_OK;
}

static hs_status sole_blocks(struct sole *s, struct hs_error *err)
{
    const struct hs_flow *flow = s->scan->flow;
    struct hs_heap_iterator it = {.map = &s->native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block)) {
        hs_ntype number = hs_flow_type(flow, block.rank);
        if (number == 0 || block.bytes == NULL || !flow->types.types[number - 1].has_untold ||
            !hs_bitmap_get(&s->marks, block.rank) || hs_bitmap_get(&s->seen, block.rank))
            continue;
        hs_bitmap_set(&s->seen, block.rank);
        HS_TRY(hs_unions_each_(s->native, hs_native_type_of(&flow->types, number), &block,
                               sole_slot, s, err));
    }
    return HS_OK;
}

/* Goes over roots and blocks until nothing new is met, SOLE_ROUNDS times at most: it takes more
 * where unions lead from block to block against their order, and enough was counted then. */
static hs_status sole_turn(struct sole *s, bool takes_zero, struct hs_error *err)
{
    s->takes_zero = takes_zero;
    s->is_any = true;
    hs_bitmap_fini(&s->seen);
    HS_TRY(hs_bitmap_init(&s->seen, s->marks.n_bits, err));
    HS_TRY(sole_roots(s, err));
    for (int round = 0; round < SOLE_ROUNDS && s->is_any; round++) {
        s->is_any = false;
        HS_TRY(sole_blocks(s, err));
    }
    return HS_OK;
}

static hs_status sole_walk(struct sole *s, struct hs_error *err)
{
    const struct hs_roots *roots = &s->native->roots;

    HS_TRY(hs_bitmap_init(&s->marks, s->native->dump->heaps.map.n_blocks, err));
    HS_TRY(hs_firm_open(&s->firm, s->scan, &s->marks, err));
    hs_status status = HS_OK;
    for (size_t i = 0; status == HS_OK && i < roots->n_leaves; i++)
        if (roots->leaves[i].untold == 0)
            status = hs_firm_add(&s->firm, &roots->leaves[i], err);
    if (status == HS_OK)
        status = hs_firm_drain(&s->firm, err);
    if (status == HS_OK)
        status = sole_turn(s, false, err);
    if (status == HS_OK)
        status = sole_turn(s, true, err);
    hs_firm_close(&s->firm);
    return status;
}

/* Judges which values have addresses that were left: those that lead to nothing new while those of
 * another value do; of the number 0 it is enough that they do not. */
static void sole_judge(struct hs_union *u)
{
    struct hs_union_tag *tag = u->chosen == u->n_tags ? NULL : &u->tags[u->chosen];
    bool is_told = false;

    for (size_t i = 0; tag != NULL && i < tag->n_values; i++) {
        const struct hs_union_value *value = &tag->values[i];
        is_told |= value->n_good >= SOLE_LEAST && value->n_sole >= value->n_good / SOLE_ONE_IN &&
                   value->n_sole != 0;
    }
    for (size_t i = 0; tag != NULL && i < tag->n_values; i++) {
        struct hs_union_value *value = &tag->values[i];
        bool is_nothing = value->value == 0 && tag->at.n_bytes != 0;
        value->is_left =
            value->n_sole == 0 && value->n_good >= SOLE_LEAST && (is_told || is_nothing);
    }
}

static void lower_roots(struct hs_native *native)
{
    if (!hs_native_asks(native, HS_REASON_UNSURE_UNION))
        return;
    for (size_t i = 0; i < native->roots.n_leaves; i++) {
        struct hs_root_leaf *leaf = &native->roots.leaves[i];
        struct hs_value_place place = {&native->dump->image, leaf->root.address};
        struct hs_heap_block block;
        if (leaf->untold == 0 ||
            hs_heap_map_resolve(&native->dump->heaps.map, leaf->target, &block) !=
                HS_POINTER_START ||
            hs_unions_owns_(native, &native->unions.unions[leaf->untold - 1], hs_value_read_image,
                            &place, block.rank))
            continue;
        leaf->root.edge_class = HS_EDGE_GUESSED;
        if (hs_edge_tier(HS_EDGE_GUESSED) > leaf->root.tier)
            hs_root_lower(&leaf->root, HS_TIER_DOUBTFUL, HS_REASON_UNSURE_UNION);
    }
}

/* Tells whether it matters if addresses are there or were left: they go with several values, or
 * with the one that may be nothing; or there is a value of which too little is known. */
static bool sole_matters(const struct hs_union *u)
{
    const struct hs_union_tag *tag = u->chosen == u->n_tags ? NULL : &u->tags[u->chosen];
    size_t n = 0;
    bool is_full = tag != NULL && tag->n_values == HS_UNION_VALUES;
    bool is_rare = tag == NULL || is_full || u->n_counted == HS_UNION_COUNTED;

    for (size_t i = 0; tag != NULL && i < tag->n_values; i++) {
        bool has_addresses = hs_union_has_addresses_(&tag->values[i]);
        is_rare |= !has_addresses && tag->values[i].n_bad == 0;
        if (has_addresses && tag->at.n_bytes != 0)
            n += tag->values[i].value == 0 ? 2 : 1;
    }
    return n > 1 || is_rare;
}

hs_status hs_unions_learn(struct hs_scan *scan, struct hs_error *err)
{
    struct hs_native *native = scan->native;
    struct sole s = {.scan = scan, .native = native};
    uint64_t n_bytes = native->dump->heaps.map.n_blocks / 4;
    bool is_any = false;

    if (native->ctypes == NULL)
        return HS_OK;
    HS_TRY(hs_unions_count_(native, scan->flow, err));
    for (size_t i = 0; i < native->unions.n; i++) {
        hs_union_choose_(&native->unions.unions[i]);
        is_any |= sole_matters(&native->unions.unions[i]);
    }
    if (is_any) {
        HS_TRY(hs_dump_plan_reserve(&native->dump->plan, n_bytes, "what unions lead to", err));
        hs_status status = sole_walk(&s, err);
        native->unions.surer = s.marks;
        hs_bitmap_fini(&s.seen);
        hs_dump_plan_release(&native->dump->plan, n_bytes / 2);
        HS_TRY(status);
    }
    for (size_t i = 0; i < native->unions.n; i++)
        sole_judge(&native->unions.unions[i]);
    native->unions.is_known = true;
    lower_roots(native);
    return HS_OK;
}
