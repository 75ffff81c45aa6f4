/* Compares the words of a block with a record type that it may have. */
#ifndef HS_NATIVE_AGREE_H
#define HS_NATIVE_AGREE_H

#include "native.h"

/* The most bytes that an allocator adds to a request, if the block is not large. */
#define HS_SLACK_BYTES 16
/* The usable bytes of glibc's smallest block, which every smaller request gets. */
#define HS_LEAST_BYTES 24

/* Tells whether a block is glibc's smallest. */
static inline bool hs_native_is_least(const struct hs_heap_block *block)
{
    return block->n_bytes == HS_LEAST_BYTES && block->span->form == HS_SPAN_HEADERS;
}

/* Tells whether one value of n_bytes fills the block, but for what an allocator adds. */
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

/* Tells whether a block known as a `type` cannot be a `pointee`, both records: they differ, and
 * neither begins with the other as its first member or base. */
bool hs_native_is_other(struct hs_ctypes *types, hs_ctype type, hs_ctype pointee);

/* The verdict of one block's words about a record. */
struct hs_agreement {
    /* A pointer of the record leads nowhere or to a block that is known to be something else, or a
     * word that is no pointer of it leads to the start of a block. */
    bool disagrees;
    uint32_t n_shown;   /* pointers that lead to a block of their record, or to a lost one of its
                           size */
    uint32_t n_known;   /* of these, to a block that is known to be what the record says */
    uint32_t n_leading; /* that lead to the start of any block */
    uint32_t n_odd;     /* words that disagree: all, or one where n_known is 0 */
};

/* Compares the words of a block with one record, without the record's pointers at offsets in [skip,
 * skip_end). `block` has its bytes and room for the record. O(words of the record). */
struct hs_agreement hs_native_agree(const struct hs_agree_by *by, const struct hs_heap_block *block,
                                    const struct hs_native_type *record, uint64_t skip,
                                    uint64_t skip_end);

/* Returns how many bytes of a block, an array of `type` by its size and first words alone, its
 * other words confirm: up to the end of the last element before which at least two elements behind
 * the first have pointers to blocks, or begin with the first one's virtual table, and at most one
 * in eight of these contradicts. One element at least: a pointer says as much. O(words). */
uint64_t hs_native_agree_array(const struct hs_agree_by *by, const struct hs_heap_block *block,
                               const struct hs_native_type *type);

#endif
