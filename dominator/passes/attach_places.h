/* The positions at which core nodes are attached, numbered in ascending order: several core nodes
 * often share one. 0.14 bytes per position. */
#ifndef HS_ATTACH_PLACES_H
#define HS_ATTACH_PLACES_H

#include "passes/passes.h"

struct attach_places {
    struct hs_bitmap is_place; /* by position; indexed */
    uint64_t n;
    struct hs_budget *budget;
};

hs_status attach_places_find(const struct hs_passes *passes, struct attach_places *ret,
                             struct hs_error *err);
/* Returns the least memory that attach_places_fini gives back. */
static inline uint64_t attach_places_bytes(const struct attach_places *places)
{
    return places->is_place.n_bits / 8;
}
void attach_places_fini(struct attach_places *places);

/* Returns the place of a core node that is reached and not node 0. */
static inline uint64_t attach_place_of(const struct attach_places *places,
                                       const struct hs_passes *passes, uint32_t core)
{
    return hs_bitmap_rank(&places->is_place, hs_ids_get(&passes->attach, core));
}

#endif
