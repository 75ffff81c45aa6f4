/* A binary search among things that ascend by one of their fields: the one binary search of
 * all. It neither sorts nor checks that things ascend; among things that do not, the answer is
 * some index in [0, n], never one beyond.
 *
 *   size_t at = HS_FIRST_ABOVE(ranges, n_ranges, end, address);
 *   if (at < n_ranges && ranges[at].begin <= address)     the range that holds `address`
 *
 * `items` may be NULL when `n` is 0. The field has 64 bits: of others, and of orders of several
 * fields, HS_FIRST_NOT tells by an expression. O(log n). */
#ifndef HS_BASE_BISECT_H
#define HS_BASE_BISECT_H

#include "base/load.h"
#include "base/types.h"

/* Finds the index of the first of `n` things whose `field` is greater than `key`; n when there is
 * none. */
#define HS_FIRST_ABOVE(items, n, field, key) \
    hs_bisect_((items), (n), sizeof *(items), HS_FIELD_AT_(items, field), (key), true)

/* Finds the index of the first of `n` things whose `field` is at least `key`; n when there is
 * none. */
#define HS_FIRST_FROM(items, n, field, key) \
    hs_bisect_((items), (n), sizeof *(items), HS_FIELD_AT_(items, field), (key), false)

/* The first index in [begin, end) for which `is_before`, an expression of `at`, does not hold;
 * `end` when it holds for all. Where it holds must come first.
 *
 *   size_t first = HS_FIRST_NOT(at, 0, n, members[at].type < type); */
#define HS_FIRST_NOT(at, begin, end, is_before)             \
    ({                                                      \
        size_t hs_low_ = (begin), hs_high_ = (end);         \
        while (hs_low_ < hs_high_) {                        \
            size_t at = hs_low_ + (hs_high_ - hs_low_) / 2; \
            if (is_before)                                  \
                hs_low_ = at + 1;                           \
            else                                            \
                hs_high_ = at;                              \
        }                                                   \
        hs_low_;                                            \
    })

/* The offset of a field of 64 bits; any other does not compile. */
#define HS_FIELD_AT_(items, field) \
    (offsetof(__typeof__(*(items)), field) / (sizeof((items)->field) == sizeof(uint64_t)))

/* The size of a thing is a constant where this is called: no multiplication is left of it. */
static inline size_t hs_bisect_(const void *items, size_t n, size_t item_bytes, size_t field_at,
                                uint64_t key, bool passes_equal)
{
    const uint8_t *bytes = items; /* nothing is added to it where there is none */

    return HS_FIRST_NOT(
        at, 0, n,
        hs_load_u64(bytes + (field_at + at * item_bytes)) < key ||
            (passes_equal && hs_load_u64(bytes + (field_at + at * item_bytes)) == key));
}

#endif
