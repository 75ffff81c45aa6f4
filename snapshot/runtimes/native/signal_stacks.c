#include "signal_stacks.h"

#include "base/alloc.h"

enum { WORD = 8, LEAST_BYTES = 2048, SIZES = 1 << 16, SIZE_SHIFT = 48 };
#define SIZE_HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

static bool may_be_one(const struct hs_scan *scan, const struct hs_heap_block *block)
{
    return block->n_bytes >= LEAST_BYTES && hs_scan_is_lost(scan, block);
}

static inline size_t size_number(const struct hs_heap_block *block)
{
    return (size_t)(block->n_bytes / WORD * SIZE_HASH_FACTOR >> SIZE_SHIFT);
}

hs_status hs_signal_stacks_mark(struct hs_scan *scan, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &scan->native->dump->heaps.map}, again = it;
    hs_auto_free uint32_t *counts = NULL;
    struct hs_heap_block block;

    if (!scan->native->has_signal_stacks)
        return HS_OK;
    HS_TRY(HS_ALLOC(&counts, SIZES, err));
    while (hs_heap_map_next(&it, &block))
        counts[size_number(&block)] += may_be_one(scan, &block);
    while (hs_heap_map_next(&again, &block)) {
        if (!may_be_one(scan, &block) ||
            counts[size_number(&block)] > scan->native->dump->target.n_threads)
            continue;
        scan->n_signal_stacks++;
        HS_TRY(hs_scan_mark_unsure(scan, &block, err));
    }
    return HS_OK;
}
