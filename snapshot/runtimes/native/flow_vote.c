/* The choice between two records for a block that have nothing to do with each other: the one that
 * more pointers lead to. In memory that does not grow with the heap. */
#include "base/alloc.h"
#include "flow_private.h"

/* The weight of one pointer: more than all variables of calls together. */
#define VOTE_ONE (UINT64_C(1) << 24)
enum { VOTE_OF_CALLS = (1 << 24) - 1 };

bool hs_flow_is_contested_(const struct flow *f)
{
    return f->contested.n != 0 && f->contested.n <= hs_flow_most_contested(f->result->n_blocks);
}

/* Finds the type that a pointer votes for: the one that the block has, where the pointer agrees
 * with it. */
static hs_status voted_for(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                           hs_ctype pointee, hs_ntype *ret, struct hs_error *err)
{
    hs_ntype has = hs_flow_type(f->result, block->rank), one;

    *ret = 0;
    HS_TRY(hs_native_types_of_ctype(&f->result->types, pointee, false, &one, err));
    if (one == 0 || !hs_flow_is_record_(hs_native_type_of(&f->result->types, one)) ||
        hs_native_type_of(&f->result->types, one)->n_bytes > block->n_bytes)
        return HS_OK;
    bool is_of_has = has != 0 && hs_flow_is_record_(hs_native_type_of(&f->result->types, has)) &&
                     (offset != 0 || !hs_flow_are_others_(f, has, one));
    if (is_of_has || offset == 0)
        *ret = is_of_has ? has : one;
    return HS_OK;
}

hs_status hs_flow_count_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                         hs_ctype pointee, struct hs_error *err)
{
    const uint64_t *number = hs_dict_find(&f->contested, block->rank);
    hs_ntype type;

    if (number == NULL)
        return HS_OK;
    HS_TRY(voted_for(f, block, offset, pointee, &type, err));
    if (type == 0)
        return HS_OK;
    uint64_t key = *number << 32 | type;
    uint64_t n = hs_dict_get(&f->votes, key, 0);
    if (n == 0 && f->votes.n == 2 * hs_flow_most_contested(f->result->n_blocks))
        return HS_OK;
    if (!f->is_of_call)
        n += VOTE_ONE;
    else if ((n & VOTE_OF_CALLS) != VOTE_OF_CALLS)
        n++;
    return hs_dict_put(&f->votes, key, n, err);
}

/* A type of a block, and what is counted for it. */
struct vote {
    hs_ntype type;
    uint64_t n;
};

/* Tells whether more speaks for `a` than for `b`, which may be none (type 0). */
static bool is_more(const struct flow *f, const struct hs_heap_block *block, struct vote a,
                    struct vote b)
{
    if (b.type == 0 || (a.n >= VOTE_ONE) != (b.n >= VOTE_ONE))
        return b.type == 0 || a.n >= VOTE_ONE;
    int order = hs_flow_compare_classes_(f, block, a.type, b.type);
    if (order != 0)
        return order > 0;
    return a.n != b.n ? a.n > b.n : hs_flow_is_stronger_(f, block, a.type, b.type);
}

static void block_of(const struct flow *f, uint64_t number, struct hs_heap_block *ret)
{
    struct hs_heap_iterator it = {.map = &f->native->dump->heaps.map};
    hs_block_queue_seek(&it, f->contested.entries[number].key, ret);
}

/* Notes that a block is the record with most votes, where it has another type and does not say so
 * itself. */
static hs_status decide_one(struct flow *f, uint64_t number, struct vote best, bool *ret,
                            struct hs_error *err)
{
    struct hs_heap_block block;
    hs_ntype has = hs_flow_type(f->result, f->contested.entries[number].key);
    bool is_own;

    if (best.type == 0 || has == 0 ||
        !hs_flow_is_record_(hs_native_type_of(&f->result->types, has)) ||
        !hs_flow_are_others_(f, has, best.type))
        return HS_OK;
    block_of(f, number, &block);
    HS_TRY(hs_flow_says_itself_(f, &block, has, best.type, &is_own, err));
    if (is_own)
        return HS_OK;
    *ret = true;
    return hs_dict_put(&f->decided, block.rank, best.type, err);
}

static hs_status decide(struct flow *f, struct vote *best, bool *ret, struct hs_error *err)
{
    struct hs_heap_block block;

    for (size_t i = 0; i < f->votes.n; i++) {
        const struct hs_dict_entry *entry = &f->votes.entries[i];
        const struct vote vote = {(hs_ntype)entry->key, entry->value};
        uint64_t number = entry->key >> 32;
        block_of(f, number, &block);
        if (is_more(f, &block, vote, best[number]))
            best[number] = vote;
    }
    for (size_t i = 0; i < f->contested.n; i++)
        HS_TRY(decide_one(f, i, best[i], ret, err));
    return HS_OK;
}

hs_status hs_flow_decide_(struct flow *f, bool *ret, struct hs_error *err)
{
    struct vote *best;

    *ret = false;
    if (f->votes.n ==
        2 * hs_flow_most_contested(
                f->result->n_blocks)) /* perhaps not all were counted, and which is luck */
        return HS_OK;
    HS_TRY(HS_ALLOC(&best, f->contested.n, err));
    hs_status status = decide(f, best, ret, err);
    hs_free(best);
    hs_dict_fini(&f->votes);
    return status;
}
