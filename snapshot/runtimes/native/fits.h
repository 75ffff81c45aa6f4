/* Checks whether the words of a block look like a type that a pointer says it has: by what may be a
 * pointer at all, before anything is known of the blocks around it; agree.h asks more. */
#ifndef HS_NATIVE_FITS_H
#define HS_NATIVE_FITS_H

#include "native.h"
#include "reserve.h"

enum { HS_FIT_HEIRS = 64 };

struct hs_fit {
    const struct hs_native *native;  /* borrowed */
    const struct hs_mapping *mapped; /* the last one that a pointer led into */
    uint64_t n_looks, most_looks;    /* words of blocks read to see what they are arrays of */
    struct hs_fit_heir {
        hs_ctype type;
        bool has_heir;
        uint64_t n_bytes;  /* of blocks */
    } heirs[HS_FIT_HEIRS]; /* the last answers */
    bool has_plain_arrays; /* blocks may be arrays of a type without pointers */
};

struct hs_fit hs_fit_of(const struct hs_native *native);

/* Tells whether a block may be read through for one more pointer to it. A million pointers that
 * make nothing of a large block must not cost a million times its words. Counts the look. */
bool hs_fit_may_look(struct hs_fit *fit, const struct hs_heap_block *block);

/* Tells whether the block is an array of this type. One element and what an allocator adds is none.
 * Where a vector says what is in use, what it has in reserve may be anything. */
bool hs_fits_array(struct hs_fit *fit, const struct hs_heap_block *block,
                   const struct hs_native_type *type, struct hs_native_use use);

/* Tells whether it is an array of this type that begins at `offset`, with the number of its
 * elements in the word before, and fills the block. */
bool hs_fits_numbered(struct hs_fit *fit, const struct hs_heap_block *block,
                      const struct hs_native_type *type, uint64_t offset);

/* Tells whether at least half of the first element's pointers are plausible: memory that was not
 * written yet, or what a stale pointer of this type leads to, has fewer. */
bool hs_fits_mostly(struct hs_fit *fit, const struct hs_heap_block *block,
                    const struct hs_native_type *type);

/* Tells whether it is a hash table of abseil whose elements are of this type, the first one at
 * `offset`. */
bool hs_fits_flat_table(struct hs_fit *fit, const struct hs_heap_block *block,
                        const struct hs_native_type *type, uint64_t offset);

/* Tells whether it is a hash table of Rust whose elements are of this type, and `offset` where its
 * bytes are. */
bool hs_fits_swiss_table(struct hs_fit *fit, const struct hs_heap_block *block,
                         const struct hs_native_type *type, uint64_t offset);

#endif
