/* How much of an array is in use, as the vectors say that have it: what stands behind that, in its
 * reserve, was left by elements that are gone.
 *
 * Several may say it of one array: a vector that was moved from, in memory that is still there, and
 * the one that has it now. The one that says most is right.
 *
 * Resident: 24 bytes for each array with a reserve of an element and more, as many as there are
 * blocks by eight and 1,048,576 at the most (of others all is taken to be in use); a bit per block,
 * for where vectors say that all is in use. Who plans memory asks hs_native_reserves_bytes. */
#ifndef HS_NATIVE_RESERVE_H
#define HS_NATIVE_RESERVE_H

#include "base/bitmap.h"
#include "base/table.h"

struct hs_native_reserves {
    uint64_t n_blocks;
    struct hs_dict used;    /* by rank: bytes */
    struct hs_bitmap whole; /* by rank: all of it; empty before the first vector */
};

/* What it takes at the most. */
uint64_t hs_native_reserves_bytes(uint64_t n_blocks);
void hs_native_reserves_fini(struct hs_native_reserves *reserves);

/* Of a block of n_bytes, `used_bytes` are in use; elements have `element_bytes`. Fails with
 * HS_LIMIT. */
hs_status hs_native_reserves_say(struct hs_native_reserves *reserves, uint64_t rank,
                                 uint64_t n_bytes, uint64_t used_bytes, uint64_t element_bytes,
                                 struct hs_error *err);
/* The bytes that are in use; n_bytes when nothing was said. */
uint64_t hs_native_reserves_used(const struct hs_native_reserves *reserves, uint64_t rank,
                                 uint64_t n_bytes);

#endif
