/* Tells arrays of a type without pointers from single values.
 *
 * glibc leaves no rest below 32 bytes, so that some blocks are 16 larger than others of a type:
 * such a block is a single value, too, if nearly all others are. */
#include "flow_private.h"

enum {
    ALIKE_MOST = 1 << 16, /* types and sizes; of the others each block is what its words say */
    ALIKE_ODD_ONE_IN = 8, /* with pointers, for so many arrays that have none */
    ALIKE_WIDE_BYTES = 16,
    ALIKE_SIZE_BITS = 24, /* of blocks; larger ones are arrays */
    ALIKE_SINGLE_BIT = 32 /* above it the number of those with pointers, below of those without */
};

/* Tells whether a block may be one value of this type or many, and nobody says which. */
static bool alike_is_open(const struct flow *f, const struct hs_heap_block *block,
                          const struct hs_native_type *type)
{
    return type->ctype != 0 && type->type.form == HS_FORM_RECORD && type->n_slots == 0 &&
           !type->is_table && !type->is_open && !type->is_open_text && !type->tail.is_numbered &&
           type->n_bytes != 0 && type->n_bytes <= block->n_bytes &&
           block->n_bytes >> ALIKE_SIZE_BITS == 0 &&
           !hs_native_reserves_use(&f->result->reserves, block->rank, block->n_bytes).is_said;
}

/* A block of which that is open: its type as one value, and a number for this and its size, or for
 * all that one value fills. */
struct alike_block {
    struct hs_heap_block block;
    hs_ntype one;
    uint64_t key, tight_key;
    bool is_array, is_wide;
};

/* Finds the next such block; *ret_is_any is false behind the last. */
static hs_status alike_next(struct flow *f, struct hs_heap_iterator *it, struct alike_block *ret,
                            bool *ret_is_any, struct hs_error *err)
{
    while ((*ret_is_any = hs_heap_map_next(it, &ret->block))) {
        hs_ntype number = hs_flow_type(f->result, ret->block.rank);
        const struct hs_native_type *type =
            number == 0 ? NULL : hs_native_type_of(&f->result->types, number);
        if (type == NULL || !alike_is_open(f, &ret->block, type))
            continue;
        ret->is_array = type->is_array;
        HS_TRY(hs_native_types_of_ctype(&f->result->types, type->ctype, false, &ret->one, err));
        type = hs_native_type_of(&f->result->types, number);
        bool is_tight = hs_native_fills(&ret->block, type->n_bytes);
        struct hs_heap_block less = ret->block;
        less.n_bytes -= less.n_bytes >= ALIKE_WIDE_BYTES ? ALIKE_WIDE_BYTES : 0;
        ret->is_wide = !is_tight && hs_native_fills(&less, type->n_bytes);
        ret->tight_key = (uint64_t)ret->one << ALIKE_SIZE_BITS;
        ret->key = ret->tight_key | (is_tight ? 0 : ret->block.n_bytes);
        return HS_OK;
    }
    return HS_OK;
}

static hs_status alike_count(struct flow *f, struct hs_dict *counts, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->native->dump->heaps.map};
    struct alike_block at;
    bool is_any;

    for (;;) {
        HS_TRY(alike_next(f, &it, &at, &is_any, err));
        if (!is_any)
            return HS_OK;
        if (counts->n == ALIKE_MOST && hs_dict_find(counts, at.key) == NULL)
            continue;
        uint64_t one = at.is_array ? UINT64_C(1) : UINT64_C(1) << ALIKE_SINGLE_BIT;
        HS_TRY(hs_dict_put(counts, at.key, hs_dict_get(counts, at.key, 0) + one, err));
    }
}

static bool alike_are_single(const struct hs_dict *counts, const struct alike_block *at)
{
    uint64_t sum = hs_dict_get(counts, at->key, 0);
    uint64_t n_single = sum >> ALIKE_SINGLE_BIT, n_many = sum & UINT32_MAX;
    uint64_t n_tight = hs_dict_get(counts, at->tight_key, 0) >> ALIKE_SINGLE_BIT;

    return n_single > n_many / ALIKE_ODD_ONE_IN ||
           (at->is_wide && n_many <= n_tight / ALIKE_ODD_ONE_IN);
}

static hs_status alike_set(struct flow *f, const struct hs_dict *counts, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->native->dump->heaps.map};
    struct alike_block at;
    bool is_any;

    for (;;) {
        HS_TRY(alike_next(f, &it, &at, &is_any, err));
        if (!is_any)
            return HS_OK;
        if (at.is_array && alike_are_single(counts, &at))
            hs_flow_set_type(f->result, at.block.rank, at.one);
    }
}

hs_status hs_flow_alike_(struct flow *f, struct hs_error *err)
{
    struct hs_dict counts = {0};

    if (!f->fit.has_plain_arrays)
        return HS_OK;
    hs_status status = alike_count(f, &counts, err);
    if (status == HS_OK)
        status = alike_set(f, &counts, err);
    hs_dict_fini(&counts);
    return status;
}
