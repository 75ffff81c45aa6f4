#include "sole.h"

#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "flow.h"
#include "rule_lines.h"

enum { SOLE_WORD = 8, SOLE_SLOTS = 64 };

struct sole {
    const struct hs_native *native;
    struct hs_flow *flow;
    uint64_t *owners; /* owned: by type, bits of the slots that own alone */
    struct hs_error *err;
};

/* Tells whether a record is a smart pointer that cannot be copied, by its name without scopes and
 * template arguments. */
static bool sole_is_named(const char *name)
{
    static const char *const names[] = {"unique_ptr", "scoped_ptr", "QScopedPointer"};
    size_t end = strcspn(name, "<");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (end >= n && memcmp(name + end - n, names[i], n) == 0 &&
            (end == n || name[end - n - 1] == ':'))
            return true;
    }
    return false;
}

bool hs_sole_is(const struct hs_native *native, hs_ctype type, uint64_t offset)
{
    hs_ctype around[HS_CTYPE_MAX_AROUND];
    struct hs_ctype_facts facts;
    bool is_whole;

    if (native->ctypes == NULL || type == 0)
        return false;
    size_t n = hs_ctypes_around(native->ctypes, type, offset, around, &is_whole);
    for (size_t i = n; i > 0; i--) {
        hs_ctype_facts(native->ctypes, around[i - 1], &facts);
        if (facts.kind == HS_CTYPE_RECORD && sole_is_named(facts.name))
            return facts.n_bytes == SOLE_WORD;
    }
    return false;
}

uint64_t hs_sole_bytes(const struct hs_native *native, uint64_t n_blocks)
{
    return native->ctypes == NULL ? 0 : n_blocks / CHAR_BIT;
}

/* Returns the slots of a type that own alone what they lead to, the first 64. */
static uint64_t sole_slots(const struct hs_native *native, const struct hs_native_type *type)
{
    uint64_t bits = 0;

    for (size_t i = 0; type->ctype != 0 && i < type->n_slots && i < SOLE_SLOTS; i++) {
        const struct hs_cslot *slot = &type->slots[i];
        if (slot->is_owned && !slot->may_be_pointer_only && slot->n_choices == 0 &&
            slot->offset_bytes % SOLE_WORD == 0 &&
            hs_sole_is(native, type->ctype, slot->offset_bytes))
            bits |= UINT64_C(1) << i;
    }
    return bits;
}

static hs_status sole_mark(struct sole *s, uint64_t word)
{
    struct hs_heap_block target;
    enum hs_pointer how = hs_flow_resolve(s->native, word, &target);

    if (how != HS_POINTER_START && how != HS_POINTER_INTERIOR)
        return HS_OK;
    if (s->flow->sole.n_bits == 0)
        HS_TRY(hs_bitmap_init(&s->flow->sole, s->flow->n_blocks, s->err));
    hs_bitmap_set(&s->flow->sole, target.rank);
    return HS_OK;
}

/* Marks what the elements in use of a block own alone. */
static hs_status sole_in_block(struct sole *s, const struct hs_heap_block *block, hs_ntype number)
{
    const struct hs_native_type *type = hs_native_type_of(&s->flow->types, number);
    struct hs_native_use use =
        hs_native_reserves_use(&s->flow->reserves, block->rank, block->n_bytes);
    uint64_t end = type->is_array ? use.end : type->n_bytes;

    if (type->n_bytes == 0 || use.list != 0 || end > block->n_bytes)
        return HS_OK;
    for (uint64_t at = type->is_array ? use.from : 0; end - at >= type->n_bytes;
         at += type->n_bytes)
        for (uint64_t left = s->owners[number - 1]; left != 0; left &= left - 1) {
            uint64_t offset = type->slots[__builtin_ctzll(left)].offset_bytes;
            if (at + offset + SOLE_WORD <= block->n_bytes)
                HS_TRY(sole_mark(s, hs_load_u64(block->bytes + at + offset)));
        }
    return HS_OK;
}

static hs_status sole_in_blocks(struct sole *s)
{
    struct hs_heap_iterator it = {.map = &s->native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block)) {
        hs_ntype number = hs_flow_type(s->flow, block.rank);
        if (number != 0 && block.bytes != NULL && s->owners[number - 1] != 0)
            HS_TRY(sole_in_block(s, &block, number));
    }
    return HS_OK;
}

static hs_status sole_in_variables(struct sole *s)
{
    const struct hs_roots *roots = &s->native->roots;

    for (size_t i = 0; i < roots->n_leaves; i++)
        if (roots->leaves[i].owns_sole && roots->leaves[i].root.tier == HS_TIER_FIRM)
            HS_TRY(sole_mark(s, roots->leaves[i].target));
    return HS_OK;
}

static void sole_lower_roots(struct hs_native *native, const struct hs_flow *flow)
{
    struct hs_roots *roots = &native->roots;
    struct hs_heap_block block;

    for (size_t i = 0; flow->sole.n_bits != 0 && i < roots->n_leaves; i++) {
        struct hs_root_leaf *leaf = &roots->leaves[i];
        if (leaf->root.tier == HS_TIER_FIRM && !leaf->is_owned && !leaf->root.weak &&
            hs_heap_map_resolve(&native->dump->heaps.map, leaf->target, &block) ==
                HS_POINTER_START &&
            hs_bitmap_get(&flow->sole, block.rank))
            hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_SOLE_OWNER);
    }
}

hs_status hs_sole_find(struct hs_native *native, struct hs_flow *flow, struct hs_error *err)
{
    struct sole s = {.native = native, .flow = flow, .err = err};
    bool is_any = false;

    if (native->ctypes == NULL || !hs_native_asks(native, HS_REASON_SOLE_OWNER))
        return HS_OK;
    HS_TRY(HS_ALLOC(&s.owners, flow->types.n_types + 1, err));
    for (size_t i = 0; i < flow->types.n_types; i++)
        is_any |= (s.owners[i] = sole_slots(native, &flow->types.types[i])) != 0;
    hs_status status = is_any ? sole_in_blocks(&s) : HS_OK;
    hs_free(s.owners);
    HS_TRY(status);
    HS_TRY(sole_in_variables(&s));
    sole_lower_roots(native, flow);
    return HS_OK;
}
