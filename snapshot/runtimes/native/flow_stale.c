/* The remains of objects that are gone, in memory that something else has by now: their virtual
 * tables, and pointers to them in variables of calls. */
#include "base/load.h"
#include "flow_private.h"

enum { WORD = 8 };

/* Tells whether a value of `one`, at the start of this block, leaves no room for a virtual table.
 * An array counts only where its owner says that it is one: then its elements may begin with
 * pointers, too, as one that is in use has written its first word. */
static bool denies_table(const struct flow *f, const struct hs_heap_block *block,
                         const struct hs_native_type *one)
{
    bool is_said =
        hs_native_reserves_use(&f->result->reserves, block->rank, block->n_bytes).is_said;
    bool fills = one->type.form == HS_FORM_RECORD && hs_native_fills(block, one->n_bytes);

    if (one->ctype == 0 || one->is_array || (!fills && !is_said))
        return false;
    enum hs_cfirst first = hs_ctypes_first(f->native->ctypes, one->ctype);
    return first == HS_CFIRST_NUMBER ? one->type.form == HS_FORM_RECORD
                                     : first == HS_CFIRST_POINTER && is_said;
}

/* Reserves the two bits per block once they are needed: hardly any heap needs them, so that they
 * are not foreseen. Takes no room from a copy in a file. */
static bool has_room(struct flow *f)
{
    struct hs_error ignored = HS_ERROR_INIT;

    if (!f->has_stale_room && !f->lacks_stale_room) {
        uint64_t n_bytes = HS_FLOW_STALE_BYTES(f->result->n_blocks);
        f->has_stale_room = n_bytes <= hs_budget_left_bytes(f->native->dump->options->budget) &&
                            hs_dump_plan_reserve(&f->native->dump->plan, n_bytes, "virtual tables",
                                                 &ignored) == HS_OK;
        f->lacks_stale_room = !f->has_stale_room;
    }
    return f->has_stale_room;
}

hs_status hs_flow_suspect_(struct flow *f, const struct hs_heap_block *block, hs_ntype one,
                           hs_ntype had, struct hs_error *err)
{
    hs_ntype own;

    if (had == 0 || f->is_of_call || !f->rtti.is_possible ||
        (f->suspected.n_bits != 0 && hs_bitmap_get(&f->suspected, block->rank)) ||
        hs_flow_is_stale_(f, block->rank) ||
        !denies_table(f, block, hs_native_type_of(&f->result->types, one)))
        return HS_OK;
    HS_TRY(hs_rtti_find(&f->rtti, &f->result->types, hs_load_u64(block->bytes), &own, err));
    if (own == 0 || hs_native_type_of(&f->result->types, own)->n_bytes > block->n_bytes ||
        !has_room(f))
        return HS_OK;
    if (f->suspected.n_bits == 0)
        HS_TRY(hs_bitmap_init(&f->suspected, f->result->n_blocks, err));
    hs_bitmap_set(&f->suspected, block->rank);
    return HS_OK;
}

bool hs_flow_is_left_(const struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                      hs_ctype pointee)
{
    return f->is_of_call && offset == 0 && hs_flow_is_stale_(f, block->rank) &&
           hs_ctypes_first(f->native->ctypes, pointee) == HS_CFIRST_UNKNOWN;
}

/* Returns how much more of a block's words speaks against the record than for it: a pointer of it
 * that leads nowhere or a word that is no pointer of it and leads to the start of a block, and
 * pointers of it that lead somewhere. */
static int64_t odds_against(struct flow *f, const struct hs_heap_block *block,
                            const struct hs_native_type *type)
{
    uint64_t mask = ~f->native->dump->options->pointer_mask;
    struct hs_heap_block found;
    int64_t odds = 0;
    size_t slot = 0;

    for (uint64_t at = 0; at + WORD <= type->n_bytes; at += WORD) {
        uint64_t word = hs_load_u64(block->bytes + at);
        while (slot < type->n_slots && type->slots[slot].offset_bytes < at)
            slot++;
        const struct hs_cslot *here = slot < type->n_slots ? &type->slots[slot] : NULL;
        if (word == 0)
            continue;
        if (here == NULL || here->offset_bytes >= at + WORD)
            odds += hs_flow_resolve(f->native, word, &found) == HS_POINTER_START;
        else if (!here->may_be_pointer_only && !hs_cslot_dangles(here, word))
            odds += hs_target_mapping_at(&f->native->dump->target, word & mask) == NULL ? 1 : -1;
    }
    return odds;
}

hs_status hs_flow_denies_(struct flow *f, const struct hs_heap_block *block, hs_ctype pointee,
                          bool *ret, struct hs_error *err)
{
    hs_ntype one;

    *ret = false;
    if (!f->is_of_call || !f->is_bare || !hs_flow_may_have_type_(block) ||
        !hs_ctypes_is_c_or_cpp(f->native->ctypes, pointee))
        return HS_OK;
    HS_TRY(hs_native_types_of_ctype(&f->result->types, pointee, false, &one, err));
    if (one == 0)
        return HS_OK;
    const struct hs_native_type type = *hs_native_type_of(&f->result->types, one);
    bool is_record = type.type.form == HS_FORM_RECORD && type.ctype != 0 && !type.is_table;
    *ret = is_record && type.n_bytes <= block->n_bytes && odds_against(f, block, &type) > 0;
    return HS_OK;
}

hs_status hs_flow_confirm_(struct flow *f, const struct hs_heap_block *block, hs_ctype pointee,
                           struct hs_error *err)
{
    struct hs_ctype_facts facts;

    if (f->is_of_call || !hs_bitmap_get(&f->suspected, block->rank))
        return HS_OK;
    hs_ctype_facts(f->native->ctypes, pointee, &facts);
    if (facts.kind != HS_CTYPE_RECORD ||
        hs_ctypes_first(f->native->ctypes, pointee) != HS_CFIRST_UNKNOWN)
        return HS_OK;
    hs_bitmap_clear(&f->suspected, block->rank);
    return hs_block_queue_push(&f->queue, block, err);
}

hs_status hs_flow_take_stale_(struct flow *f, bool *ret, struct hs_error *err)
{
    uint64_t n_bits = f->suspected.n_bits;

    *ret = false;
    for (uint64_t rank = 0; rank < n_bits; rank++) {
        rank = hs_bitmap_next(&f->suspected, rank);
        if (rank == n_bits)
            break;
        if (f->stale.n_bits == 0)
            HS_TRY(hs_bitmap_init(&f->stale, n_bits, err));
        hs_bitmap_set(&f->stale, rank);
        *ret = true;
    }
    hs_bitmap_fini(&f->suspected);
    return HS_OK;
}
