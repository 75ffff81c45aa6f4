#include "owned.h"

static inline const struct hs_heaps *heaps_of(const struct hs_scan *scan)
{
    return &scan->native->dump->heaps;
}

/* The first block of the next range; false when there are no more ranges. */
static bool walk_range(const struct hs_scan *scan, const struct hs_heap_block *owner,
                       struct hs_owned_walk *walk)
{
    const struct hs_heap_map *map = &heaps_of(scan)->map;
    hs_addr begin;

    if (!hs_heaps_owned(heaps_of(scan), owner, &walk->cursor, &begin, &walk->end))
        return false;
    uint64_t rank = hs_heap_map_below(map, begin);
    walk->it = (struct hs_heap_iterator){.map = map};
    if (rank < map->n_blocks)
        hs_heap_map_seek(&walk->it, rank);
    else
        walk->end = 0;
    return true;
}

bool hs_owned_next(const struct hs_scan *scan, const struct hs_heap_block *owner,
                   struct hs_owned_walk *walk, struct hs_heap_block *ret)
{
    if (scan->entries.n_bits == 0)
        return false;
    for (;;) {
        while (walk->end != 0 && hs_heap_map_next(&walk->it, ret) && ret->begin < walk->end)
            if (hs_bitmap_get(&scan->entries, ret->rank) &&
                hs_heaps_owner(heaps_of(scan), ret) == owner->begin)
                return true;
        if (!walk_range(scan, owner, walk))
            return false;
    }
}

bool hs_owned_together(const struct hs_scan *scan, const struct hs_heap_block *a,
                       const struct hs_heap_block *b)
{
    return a->span->owner == b->span->owner && a->span->tag == b->span->tag &&
           hs_heaps_owner(heaps_of(scan), a) != 0;
}

bool hs_owned_is_borrowed(const struct hs_scan *scan, const struct hs_heap_block *from,
                          const struct hs_heap_block *to)
{
    if (scan->entries.n_bits == 0)
        return false;
    hs_addr owner = hs_heaps_owner(heaps_of(scan), to);
    return owner != 0 && owner != from->begin && !hs_owned_together(scan, from, to);
}
