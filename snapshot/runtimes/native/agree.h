/* Do the words of a block agree with a record that it may be? */
#ifndef HS_NATIVE_AGREE_H
#define HS_NATIVE_AGREE_H

#include "native.h"

/* An allocator gives at most this much more than was asked for, to a block that is not large. */
#define HS_SLACK_BYTES 16
/* And to the least block there is, which is the same for all that is smaller, of glibc's. */
#define HS_LEAST_BYTES 24

/* Does one value of n_bytes fill the block, but for what an allocator adds? */
static inline bool hs_native_fills(const struct hs_heap_block *block, uint64_t n_bytes)
{
    return n_bytes <= block->n_bytes &&
           (block->n_bytes - n_bytes < HS_SLACK_BYTES || block->n_bytes <= HS_LEAST_BYTES);
}

struct hs_agree_by {
    const struct hs_native *native; /* with ctypes */
    const struct hs_flow *flow;
    const struct hs_bitmap *reached; /* by rank; NULL: no block is lost */
};

/* Is a block that is known as a record `type` something else than a `pointee`, also a record? One
 * may be the first member or base of the other. */
bool hs_native_is_other(struct hs_ctypes *types, hs_ctype type, hs_ctype pointee);

/* The verdict of one block's words about a record. */
struct hs_agreement {
    /* A pointer of the record leads nowhere or to a block that is known to be something else, or a
     * word that is no pointer of it leads to the start of a block. */
    bool disagrees;
    uint32_t n_shown;   /* pointers that lead to a block of their record, or to a lost one of its
                           size */
    uint32_t n_leading; /* that lead to the start of any block */
};

/* Compares a block with records; of one in [skip, skip_end) nothing is asked. `block` has its bytes
 * and room for the record. O(pointers of the record). */
struct hs_agreement hs_native_agree(const struct hs_agree_by *by, const struct hs_heap_block *block,
                                    const struct hs_native_type *record, uint64_t skip,
                                    uint64_t skip_end);

/* Returns how much of a block that is an array of `type` only because its size and its first words
 * allow it is confirmed by its words: up to the end of the last element before which pointers of
 * two others than the first lead to blocks, or two begin with the first one's virtual table, and at
 * most one element in eight denies it. One element where nothing does: a pointer says as much.
 * O(words). */
uint64_t hs_native_agree_array(const struct hs_agree_by *by, const struct hs_heap_block *block,
                               const struct hs_native_type *type);

#endif
