#include "guess.h"

#include <stdio.h>

#include "base/alloc.h"
#include "flow.h"

enum { WORD = 8, SLACK_BYTES = 16, MOST_SLOTS = 256, NAME_BYTES = 1024 };
enum { SIZES = 1 << 12, SIZE_SHIFT = 52, UNTYPED_ONE_IN = 8 };
#define GUESS_HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

struct guess_size {
    uint64_t n_bytes; /* 0: none yet */
    hs_ntype type;    /* of all blocks of this size */
    hs_ntype guessed; /* the name for what may be such; 0: not needed yet */
    uint64_t n_typed, n_untyped;
    bool is_mixed;
};

struct guess {
    const struct hs_native *native;
    struct hs_flow *flow;
    const struct hs_scan *scan;
    struct guess_size *sizes; /* owned */
};

static struct guess_size *size_of(struct guess *g, uint64_t n_bytes)
{
    return &g->sizes[n_bytes * GUESS_HASH_FACTOR >> SIZE_SHIFT];
}

static bool is_lost(const struct guess *g, const struct hs_heap_block *block)
{
    return (block->span->states & HS_BLOCK_STATIC) == 0 &&
           !hs_bitmap_get(&g->scan->reached, block->rank);
}

/* Sizes that share a place are taken for one, which is of several types then. */
static void learn(struct guess *g, const struct hs_heap_block *block)
{
    hs_ntype type = hs_flow_type(g->flow, block->rank);
    struct guess_size *size = size_of(g, block->n_bytes);

    if ((block->span->states & HS_BLOCK_STATIC) != 0 || (type == 0 && is_lost(g, block)))
        return;
    size->is_mixed |= size->n_bytes != 0 && size->n_bytes != block->n_bytes;
    size->n_bytes = block->n_bytes;
    size->n_untyped += type == 0;
    if (type == 0)
        return;
    size->is_mixed |= size->type != 0 && size->type != type;
    size->type = type;
    size->n_typed++;
}

/* A record whose words are known, as large as the block. */
static bool is_candidate(const struct guess *g, const struct guess_size *size)
{
    if (size->is_mixed || size->type == 0 || size->n_untyped > size->n_typed / UNTYPED_ONE_IN)
        return false;
    const struct hs_native_type *type = hs_native_type_of(&g->flow->types, size->type);
    return type->ctype != 0 && type->type.form == HS_FORM_RECORD && !type->is_array &&
           !type->is_open && !type->is_open_text && type->listed_as == 0 && type->n_slots != 0 &&
           type->n_slots <= MOST_SLOTS && type->said_bytes == type->n_bytes &&
           type->n_bytes <= size->n_bytes && size->n_bytes - type->n_bytes < SLACK_BYTES;
}

enum agreement { DISAGREES, MAY_BE, AGREES };

/* A pointer to `pointee` leads to the start of `block`. */
static enum agreement judge_block(const struct guess *g, const struct hs_heap_block *block,
                                  hs_ctype pointee)
{
    hs_ntype has = hs_flow_type(g->flow, block->rank);
    struct hs_ctype_facts facts;

    if (pointee == 0)
        return MAY_BE;
    hs_ctype_facts(g->native->ctypes, pointee, &facts);
    bool is_record = facts.kind == HS_CTYPE_RECORD || facts.kind == HS_CTYPE_UNION;
    if (facts.n_bytes > block->n_bytes)
        return DISAGREES;
    const struct hs_native_type *type = has == 0 ? NULL : hs_native_type_of(&g->flow->types, has);
    if (type == NULL || type->ctype == 0)
        return is_record && facts.n_bytes != 0 && is_lost(g, block) &&
                       block->n_bytes - facts.n_bytes < SLACK_BYTES
                   ? AGREES
                   : MAY_BE;
    if (hs_ctypes_same(g->native->ctypes, type->ctype, pointee))
        return is_record ? AGREES : MAY_BE;
    return is_record ? DISAGREES : MAY_BE;
}

static enum agreement judge_word(const struct guess *g, uint64_t word, hs_ctype pointee)
{
    struct hs_heap_block block;

    if (word == 0)
        return MAY_BE;
    switch (hs_flow_resolve(g->native, word, &block)) {
    case HS_POINTER_START:
        return judge_block(g, &block, pointee);
    case HS_POINTER_NONE: /* into a constant, a variable */
        return hs_target_mapping_at(&g->native->dump->target, word) != NULL ? MAY_BE : DISAGREES;
    default:
        return MAY_BE;
    }
}

/* Does a word that is no pointer of the record lead to the start of a block? */
static bool has_other_pointer(const struct guess *g, const struct hs_heap_block *block,
                              const struct hs_native_type *type)
{
    struct hs_heap_block found;
    size_t slot = 0;

    for (uint64_t at = 0; at + WORD <= type->n_bytes; at += WORD) {
        while (slot < type->n_slots && type->slots[slot].offset_bytes < at)
            slot++;
        if ((slot == type->n_slots || type->slots[slot].offset_bytes != at) &&
            hs_flow_resolve(g->native, hs_load_u64(block->bytes + at), &found) == HS_POINTER_START)
            return true;
    }
    return false;
}

static bool agrees(const struct guess *g, const struct hs_heap_block *block,
                   const struct hs_native_type *type)
{
    bool is_shown = false;

    for (size_t i = 0; i < type->n_slots; i++) {
        const struct hs_cslot *slot = &type->slots[i];
        if (slot->may_be_pointer_only || slot->offset_bytes + WORD > type->n_bytes)
            continue;
        enum agreement found =
            judge_word(g, hs_load_u64(block->bytes + slot->offset_bytes), slot->pointee);
        if (found == DISAGREES)
            return false;
        is_shown |= found == AGREES;
    }
    return is_shown && !has_other_pointer(g, block, type);
}

static hs_status name_guess(struct guess *g, struct guess_size *size, struct hs_error *err)
{
    const struct hs_native_type *type = hs_native_type_of(&g->flow->types, size->type);
    char name[NAME_BYTES];

    snprintf(name, sizeof name, "block of %llu bytes" HS_TYPE_PERHAPS "%.900s",
             (unsigned long long)size->n_bytes,
             hs_strtab_get(g->flow->types.strings, type->type.name));
    return hs_native_types_of_name(&g->flow->types, name, HS_FORM_BYTES, &size->guessed, err);
}

static hs_status guess_all(struct guess *g, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &g->native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block)) {
        struct guess_size *size = size_of(g, block.n_bytes);
        if (block.bytes == NULL || block.n_bytes != size->n_bytes || !is_lost(g, &block) ||
            hs_flow_type(g->flow, block.rank) != 0 || !is_candidate(g, size) ||
            !agrees(g, &block, hs_native_type_of(&g->flow->types, size->type)))
            continue;
        if (size->guessed == 0)
            HS_TRY(name_guess(g, size, err));
        hs_flow_set_type(g->flow, block.rank, size->guessed);
    }
    return HS_OK;
}

hs_status hs_native_guess(const struct hs_native *native, struct hs_flow *flow,
                          const struct hs_scan *scan, struct hs_error *err)
{
    struct guess g = {.native = native, .flow = flow, .scan = scan};
    struct hs_heap_iterator it = {.map = &native->dump->heaps.map};
    hs_auto_free struct guess_size *sizes = NULL;
    struct hs_heap_block block;

    if (native->ctypes == NULL || scan->python.model != NULL || hs_scan_reaches_all(scan))
        return HS_OK;
    HS_TRY(HS_ALLOC(&sizes, SIZES, err));
    g.sizes = sizes;
    while (hs_heap_map_next(&it, &block))
        learn(&g, &block);
    return guess_all(&g, err);
}
