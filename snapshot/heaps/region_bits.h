/* Regions of a slab or pool as runs of bits (private): into the map, into the ledger. */
#ifndef HS_HEAPS_REGION_BITS_H
#define HS_HEAPS_REGION_BITS_H

#include "heaps/allocator.h"

/* Sets the bits [first, first + n) of the map's `starts` that are set in `live`. */
void hs_region_bits_set(struct hs_bitmap *starts, uint64_t first, const uint64_t *live, unsigned n);

/* Moves every run of live regions, of n regions of unit_bytes from `begin` on, from state `from` to
 * `to`. One call of the ledger per run; blocks are not counted. */
struct hs_region_move {
    const char *owner;
    enum hs_memory_state from, to;
    hs_addr begin;
    uint64_t unit_bytes;
};
hs_status hs_region_bits_move(struct hs_ledger *ledger, const struct hs_region_move *move,
                              const uint64_t *live, unsigned n, struct hs_error *err);

#endif
