/* Where a number stands among things that ascend by one of their fields: the one binary search of
 * all. It neither sorts nor checks that things ascend; among things that do not, the answer is
 * some index in [0, n], never one beyond.
 *
 *   size_t at = HS_FIRST_ABOVE(ranges, n_ranges, end, address);
 *   if (at < n_ranges && ranges[at].begin <= address)     the range that holds `address`
 *
 * `items` may be NULL when `n` is 0. The field has 64 bits. O(log n). */
#ifndef HS_BASE_BISECT_H
#define HS_BASE_BISECT_H

#include <string.h>

#include "base/types.h"

/* Index of the first of `n` things whose `field` is greater than `key`; n when there is none. */
#define HS_FIRST_ABOVE(items, n, field, key) \
    hs_bisect_((items), (n), sizeof *(items), HS_FIELD_AT_(items, field), (key), true)

/* Index of the first of `n` things whose `field` is at least `key`; n when there is none. */
#define HS_FIRST_FROM(items, n, field, key) \
    hs_bisect_((items), (n), sizeof *(items), HS_FIELD_AT_(items, field), (key), false)

/* Offset of a field of 64 bits; any other does not compile. */
#define HS_FIELD_AT_(items, field) \
    (offsetof(__typeof__(*(items)), field) / (sizeof((items)->field) == sizeof(uint64_t)))

/* The size of a thing is a constant where this is called: no multiplication is left of it. */
static inline size_t hs_bisect_(const void *items, size_t n, size_t item_bytes, size_t field_at,
                                uint64_t key, bool passes_equal)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t found;
        memcpy(&found, (const uint8_t *)items + middle * item_bytes + field_at, sizeof found);
        if (found < key || (passes_equal && found == key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
