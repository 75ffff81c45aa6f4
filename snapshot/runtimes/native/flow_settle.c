#include "base/alloc.h"
#include "flow_private.h"
#include "said.h"

enum { SETTLED_ELEMENTS = 1024 };
enum { WORD = 8 };

static size_t settled_most(const struct flow *f)
{
    return (size_t)hs_flow_most_settled(f->result->n_blocks);
}

hs_status hs_flow_note_(struct flow *f, const struct hs_heap_block *block, hs_ntype had,
                        hs_ntype type, struct hs_error *err)
{
    const struct hs_native_type *before =
        had == 0 ? NULL : hs_native_type_of(&f->result->types, had);

    if (before == NULL || had == type || !before->has_pointees || f->n_changed == settled_most(f) ||
        !hs_flow_may_flow_(f, block->rank, had) ||
        (!f->is_late && !hs_flow_is_early_(f, block, had)))
        return HS_OK;
    HS_TRY(HS_GROW(&f->changed, &f->changed_capacity, f->n_changed + 1, err));
    f->changed[f->n_changed++] = (struct flow_changed){block->rank, had};
    return HS_OK;
}

/* Tells whether the type of a block may be what a pointer to `pointee` said of it. */
static hs_status may_be_said(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                             hs_ctype pointee, bool *ret, struct hs_error *err)
{
    struct hs_native_types *types = &f->result->types;
    hs_ntype type = hs_flow_type(f->result, block->rank), one = 0;

    *ret = false;
    if (type == 0 || pointee == 0)
        return HS_OK;
    HS_TRY(hs_native_types_of_ctype(types, pointee, false, &one, err));
    if (one == 0)
        return HS_OK;
    const struct hs_native_type *has = hs_native_type_of(types, type),
                                *said = hs_native_type_of(types, one);
    *ret = type == one || has->ctype == said->ctype || has->type.name == said->type.name ||
           (has->is_array && has->n_bytes == said->n_bytes) ||
           (offset != 0 && said->type.form == HS_FORM_RECORD);
    return HS_OK;
}

/* A block, and the types that it had and has. */
struct settled_block {
    struct hs_heap_block block;
    struct hs_native_type had, now;
};

/* Tells whether a pointer of the type that a block had, at `at` of it, may have told another
 * block's type, and the block's type now does not. */
static hs_status has_told(struct flow *f, const struct settled_block *of, uint64_t at,
                          const struct hs_cslot *slot, bool *ret, struct hs_error *err)
{
    const struct hs_heap_block *block = &of->block;
    struct hs_native_chosen to = {.pointee = slot->pointee};
    struct hs_heap_block target;

    *ret = false;
    if (at > block->n_bytes - WORD || (slot->pointee == 0 && slot->n_choices == 0))
        return HS_OK;
    const struct hs_cslot *same =
        of->now.n_bytes == 0 ? NULL : hs_said_slot(&of->now, at % of->now.n_bytes);
    if (same != NULL && of->now.is_array >= of->had.is_array && same->pointee == slot->pointee &&
        same->n_choices == 0 && slot->n_choices == 0)
        return HS_OK;
    uint64_t word = hs_load_u64(block->bytes + at);
    enum hs_pointer how = hs_flow_resolve(f->native, word, &target);
    if (how != HS_POINTER_START && how != HS_POINTER_INTERIOR)
        return HS_OK;
    if (slot->n_choices != 0)
        HS_TRY(hs_native_choose(f->native, slot, block->bytes, block->n_bytes, at, &to, err));
    return may_be_said(f, &target, hs_flow_offset(f->native, word, &target), to.pointee, ret, err);
}

static hs_status has_effect(struct flow *f, const struct flow_changed *changed, bool *ret,
                            struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->native->dump->heaps.map};
    struct settled_block of;
    hs_ntype type = hs_flow_type(f->result, changed->rank);

    *ret = false;
    hs_heap_map_seek(&it, changed->rank);
    if (type == changed->had || !hs_heap_map_next(&it, &of.block))
        return HS_OK;
    of.had = *hs_native_type_of(&f->result->types, changed->had);
    of.now = *hs_native_type_of(&f->result->types, type);
    uint64_t n = of.had.is_array && of.had.n_bytes != 0 ? of.block.n_bytes / of.had.n_bytes : 1;
    *ret = n > SETTLED_ELEMENTS || of.had.tail.element != 0; /* too many to be asked */
    for (uint64_t i = 0; i < n && !*ret; i++)
        for (size_t k = 0; k < of.had.n_slots && !*ret; k++)
            HS_TRY(has_told(f, &of, i * of.had.n_bytes + of.had.slots[k].offset_bytes,
                            &of.had.slots[k], ret, err));
    return HS_OK;
}

static hs_status settle(struct flow *f, struct hs_error *err)
{
    for (size_t i = 0; i < f->settled.n; i++)
        f->settled.entries[i].value = hs_flow_type(f->result, f->settled.entries[i].key);
    for (size_t i = 0; i < f->n_changed; i++)
        HS_TRY(hs_dict_put(&f->settled, f->changed[i].rank,
                           hs_flow_type(f->result, f->changed[i].rank), err));
    f->n_changed = 0;
    return HS_OK;
}

/* Tells whether types are unsettled; when there was no room for all changes none is settled: which
 * come first is luck. */
hs_status hs_flow_is_unsettled_(struct flow *f, bool *ret, struct hs_error *err)
{
    *ret = false;
    if (f->n_changed == settled_most(f) || f->settled.n >= settled_most(f))
        return HS_OK;
    for (size_t i = 0; i < f->settled.n && !*ret; i++) {
        const struct hs_dict_entry *entry = &f->settled.entries[i];
        *ret = entry->value != hs_flow_type(f->result, entry->key);
    }
    for (size_t i = 0; i < f->n_changed && !*ret; i++)
        HS_TRY(has_effect(f, &f->changed[i], ret, err));
    return *ret ? settle(f, err) : HS_OK;
}
