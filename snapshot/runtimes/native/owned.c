#include "owned.h"

static inline const struct hs_heaps *heaps_of(const struct hs_scan *scan)
{
    return &scan->native->dump->heaps;
}

/* Finds the number of blocks that begin in the next range, and below it; false when there are no
 * more ranges. */
static bool next_range(const struct hs_scan *scan, const struct hs_heap_block *owner,
                       uint64_t *cursor, uint64_t *ret_below, uint64_t *ret_n)
{
    const struct hs_heap_map *map = &heaps_of(scan)->map;
    hs_addr begin, end;

    if (!hs_heaps_owned(heaps_of(scan), owner, cursor, &begin, &end))
        return false;
    *ret_below = hs_heap_map_below(map, begin);
    *ret_n = hs_heap_map_below(map, end) - *ret_below;
    return true;
}

bool hs_owned_next(const struct hs_scan *scan, const struct hs_heap_block *owner,
                   struct hs_owned_walk *walk, struct hs_heap_block *ret)
{
    uint64_t below;

    if (scan->entries.n_bits == 0)
        return false;
    for (;;) {
        while (walk->n_left != 0 && hs_heap_map_next(&walk->it, ret)) {
            walk->n_left--;
            if (hs_bitmap_get(&scan->entries, ret->rank) &&
                hs_heaps_owner(heaps_of(scan), ret) == owner->begin)
                return true;
        }
        if (!next_range(scan, owner, &walk->cursor, &below, &walk->n_left))
            return false;
        walk->it = (struct hs_heap_iterator){.map = &heaps_of(scan)->map};
        if (walk->n_left != 0)
            hs_heap_map_seek(&walk->it, below);
    }
}

uint64_t hs_owned_most(const struct hs_scan *scan, const struct hs_heap_block *owner)
{
    uint64_t cursor = 0, below, n, most = 0;

    if (scan->entries.n_bits != 0)
        while (next_range(scan, owner, &cursor, &below, &n))
            most += n;
    return most;
}

bool hs_owned_together(const struct hs_scan *scan, const struct hs_heap_block *a,
                       const struct hs_heap_block *b)
{
    return hs_heaps_end_together(heaps_of(scan), a, b);
}

bool hs_owned_is_borrowed(const struct hs_scan *scan, const struct hs_heap_block *from,
                          const struct hs_heap_block *to)
{
    if (scan->entries.n_bits == 0)
        return false;
    hs_addr owner = hs_heaps_owner(heaps_of(scan), to);
    return owner != 0 && owner != from->begin && !hs_owned_together(scan, from, to) &&
           !hs_heaps_shares(heaps_of(scan), from, to);
}
