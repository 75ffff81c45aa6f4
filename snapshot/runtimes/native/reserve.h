/* How much of an array is in use, as the vectors say that have it: what stands behind that, in its
 * reserve, was left by elements that are gone.
 *
 * Several may say it of one array: a vector that was moved from, in memory that is still there, and
 * the one that has it now. The one that says most is right.
 *
 * A deque's blocks, and the map of these, may have had elements before the first one, too.
 *
 * Resident: 24 bytes for each array with a reserve of an element and more, as many as there are
 * blocks by eight and 1,048,576 at the most (of others all is taken to be in use); two bits per
 * block, for where vectors say that all is in use but for what an allocator adds. Who plans memory
 * asks hs_native_reserves_bytes. */
#ifndef HS_NATIVE_RESERVE_H
#define HS_NATIVE_RESERVE_H

#include "base/bitmap.h"
#include "base/table.h"

/* What is in use of a block: bytes [from, end). */
struct hs_native_use {
    uint64_t from, end;
    bool is_said; /* by a vector or a deque, not by the size of the block */
};

struct hs_native_reserves {
    uint64_t n_blocks;
    struct hs_dict used;    /* by rank: words, see reserve.c */
    struct hs_bitmap whole; /* two bits by rank: all of it; empty before the first vector */
};

/* What it takes at the most. */
uint64_t hs_native_reserves_bytes(uint64_t n_blocks);
void hs_native_reserves_fini(struct hs_native_reserves *reserves);

/* Of a block of n_bytes `use` is in use, to words; elements have `element_bytes`. What does not fit
 * is not believed. Fails with HS_LIMIT. */
hs_status hs_native_reserves_say(struct hs_native_reserves *reserves, uint64_t rank,
                                 uint64_t n_bytes, struct hs_native_use use, uint64_t element_bytes,
                                 struct hs_error *err);
/* What is in use; all of it when nothing was said. */
struct hs_native_use hs_native_reserves_use(const struct hs_native_reserves *reserves,
                                            uint64_t rank, uint64_t n_bytes);

#endif
