#include "disguise.h"

#include "arch/processor.h"

/* The bits of a user's address on both processors; the lowest are tags, too. */
#define DISGUISE_ADDRESS_MASK (UINT64_C(0x7fffffffffff) & ~UINT64_C(7))

struct hs_disguise hs_disguise_begin(const struct hs_native *native)
{
    const struct hs_heap_map *map = &native->dump->heaps.map;
    struct hs_disguise d = {.map = map};

    if (map->n_spans != 0) {
        d.low = map->spans[0].begin;
        d.high = map->spans[map->n_spans - 1].end;
    }
    for (size_t i = 0; HS_ARCH_POINTER_GUARD_AT != 0 && i < native->dump->target.n_threads; i++) {
        hs_addr at = hs_regs_thread_pointer(&native->dump->target.threads[i].regs);
        if (hs_image_u64(&native->dump->image, at + HS_ARCH_POINTER_GUARD_AT, &d.guard) &&
            d.guard != 0)
            break;
    }
    return d;
}

static bool leads_to_start(const struct hs_disguise *d, uint64_t word, struct hs_heap_block *ret)
{
    return word - d->low < d->high - d->low &&
           hs_heap_map_resolve(d->map, word, ret) == HS_POINTER_START;
}

bool hs_disguise_resolve(const struct hs_disguise *d, uint64_t word, struct hs_heap_block *ret)
{
    if (word < (uint64_t)1 << 47) { /* perhaps an address as it is, and no complement of one */
        uint64_t plain = hs_arch_unmangle(word, d->guard);
        return d->guard != 0 && plain - d->low < d->high - d->low &&
               hs_heap_map_resolve(d->map, plain, ret) != HS_POINTER_NONE;
    }
    if (leads_to_start(d, word & DISGUISE_ADDRESS_MASK, ret) || leads_to_start(d, ~word, ret))
        return true;
    uint64_t plain = hs_arch_unmangle(word, d->guard);
    return d->guard != 0 && plain - d->low < d->high - d->low &&
           hs_heap_map_resolve(d->map, plain, ret) != HS_POINTER_NONE;
}
