/* Hash tables with a byte for each bucket, whose top bit says that nothing is in it.
 *
 * Rust: hashbrown's raw/mod.rs, that of std's HashMap and HashSet since 1.36. The table's pointer
 * leads behind the buckets, which grow down from there; the bytes follow, the first 16 of them
 * again at the end.
 *
 *   ... | bucket 1 | bucket 0 | byte 0 | byte 1 | ... | byte 0 ... 15 |
 *
 * abseil (container/internal/raw_hash_set.h, up to 2022): a power of two less one of buckets behind
 * their bytes, to which two pointers lead. Behind the bytes is 0xff, then the first 15 of them
 * again.
 *
 *   | byte 0 | byte 1 | ... | 0xff | byte 0 ... 14 | up to the alignment | bucket 0 | bucket 1 |
 * ...
 *
 * What was taken out of a bucket stays there until another thing comes in. */
#ifndef HS_NATIVE_SWISS_H
#define HS_NATIVE_SWISS_H

#include "heaps/heap_map.h"

struct hs_swiss_table {
    const uint8_t *control; /* borrowed: a byte for each bucket */
    uint64_t n_buckets;
    uint64_t n_bytes; /* of all buckets */
    uint64_t element_bytes;
    uint64_t first_at; /* where the lowest bucket is */
    bool is_forward;   /* the lowest one is the first */
};

/* Finds the table that a block of known words is when `offset` is where its bytes are and it fills
 * the block; false when it is none. O(n_buckets). */
bool hs_swiss_table_at(const struct hs_heap_block *block, uint64_t element_bytes, uint64_t offset,
                       struct hs_swiss_table *ret);

/* Finds the table that fills a block which is known to be one. O(log n_bytes). */
bool hs_swiss_table_of(const struct hs_heap_block *block, uint64_t element_bytes,
                       struct hs_swiss_table *ret);

/* The same of abseil, whose first bucket is at `first_at`: O(n_buckets), and O(log first_at). */
bool hs_flat_table_at(const struct hs_heap_block *block, uint64_t element_bytes, uint64_t first_at,
                      struct hs_swiss_table *ret);
bool hs_flat_table_of(const struct hs_heap_block *block, uint64_t element_bytes, uint64_t first_at,
                      struct hs_swiss_table *ret);

/* Tells whether something is in the bucket that has the byte at `at` of the block. */
static inline bool hs_swiss_table_has(const struct hs_swiss_table *table, uint64_t at)
{
    uint64_t from = at - table->first_at, bucket = from / table->element_bytes;

    return at >= table->first_at && from < table->n_bytes &&
           table->control[table->is_forward ? bucket : table->n_buckets - 1 - bucket] < 0x80;
}

#endif
