/* The owners that a value has in blocks: what was pushed into a Vec, put into a Box or sent is
 * there, and no longer in the variable that it was moved from. */
#ifndef HS_NATIVE_MOVED_BLOCKS_H
#define HS_NATIVE_MOVED_BLOCKS_H

#include "borrowed.h"
#include "scan.h"

/* A value that variables hold. */
struct hs_moved_value {
    hs_addr target;
    uint8_t owning;    /* enum hs_owning */
    uint32_t n_owners; /* in blocks */
};

/* Counts the words of blocks that own the values, which are in order of `target`, then `owning`:
 * those of elements in use, of the alternative that is there, in what was not dropped. O(words of
 * blocks whose types own anything so). Fails with HS_LIMIT. */
hs_status hs_moved_in_blocks(const struct hs_native *native, const struct hs_flow *flow,
                             struct hs_moved_value *values, size_t n, struct hs_error *err);

#endif
