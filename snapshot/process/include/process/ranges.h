/* A set of address ranges: gathered in any order, then merged, then asked what is in it and what is
 * outside. */
#ifndef HS_PROCESS_RANGES_H
#define HS_PROCESS_RANGES_H

#include "base/error.h"
#include "snapshot/model.h"

struct hs_range_set {
    struct hs_range *ranges; /* owned; ascending, disjoint and not touching after merge */
    size_t n, capacity;
};

void hs_range_set_fini(struct hs_range_set *set);

/* Empty ranges are passed over. Fails with HS_LIMIT. */
hs_status hs_range_set_add(struct hs_range_set *set, hs_addr begin, hs_addr end,
                           struct hs_error *err);
/* O(n log n). */
void hs_range_set_merge(struct hs_range_set *set);
/* The range that has `address`, or NULL; merged only. O(log n). */
const struct hs_range *hs_range_set_find(const struct hs_range_set *set, hs_addr address);
/* The first part of [begin, end) outside of the set; false when there is none. Merged only. */
bool hs_range_set_next_outside(const struct hs_range_set *set, hs_addr begin, hs_addr end,
                               hs_addr *ret_begin, hs_addr *ret_end);

/* A range that belongs to number `of` of something: a thread, an object. */
struct hs_owned_range {
    hs_addr begin, end;
    size_t of;
};

/* Makes ranges ascending and disjoint, so that no memory is gone over twice whatever the target
 * says of itself: one ends where the next one begins; of those that begin together the one with the
 * lowest `of` stays. How many are left. O(n log n). */
size_t hs_owned_ranges_disjoin(struct hs_owned_range *ranges, size_t n);
/* Sorts by `of`, then by address. */
void hs_owned_ranges_sort(struct hs_owned_range *ranges, size_t n);

#endif
