/* The encodings of whole numbers in Parquet's data pages. */
#ifndef HS_PARQUET_PACK_H
#define HS_PARQUET_PACK_H

#include "base/buffer.h"

/* Appends n values of `width` bits (0 to 64), the lowest bit first, filled up to whole bytes. */
hs_status pack_bits(const uint64_t *values, size_t n, unsigned width, struct hs_buffer *b,
                    struct hs_error *err);

/* Encodes as DELTA_BINARY_PACKED: blocks of 128 differences, each less the smallest of its block,
 * in four groups of 32 that have a width of their own. Differences wrap around, so every value is
 * told. */
hs_status pack_deltas(const int64_t *values, size_t n, struct hs_buffer *b, struct hs_error *err);

/* Encodes dictionary indices, all below 2^width: the width, then one bit-packed run. */
hs_status pack_indices(const uint64_t *indices, size_t n, unsigned width, struct hs_buffer *b,
                       struct hs_error *err);

/* Returns the bits that the number needs; 0 for 0. */
static inline unsigned pack_width(uint64_t value)
{
    return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

#endif
