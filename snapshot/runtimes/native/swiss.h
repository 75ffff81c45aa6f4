/* Hash tables of Rust: hashbrown's raw/mod.rs, that of std's HashMap and HashSet since 1.36. The
 * table's pointer leads behind the buckets, which grow down from there; a byte for each follows
 * (its top bit: nothing is in it), the first 16 of them again at the end.
 *
 *   ... | bucket 1 | bucket 0 | byte 0 | byte 1 | ... | byte 0 ... 15 |
 *
 * What was taken out of a bucket stays there until another thing comes in. */
#ifndef HS_NATIVE_SWISS_H
#define HS_NATIVE_SWISS_H

#include "heaps/heap_map.h"

struct hs_swiss_table {
    const uint8_t *control; /* borrowed: a byte for each bucket */
    uint64_t n_buckets;
    uint64_t n_bytes; /* of all buckets, from the start of the block */
    uint64_t element_bytes;
};

/* Finds the table that a block of known words is when `offset` is where its bytes are and it fills
 * the block; false when it is none. O(n_buckets). */
bool hs_swiss_table_at(const struct hs_heap_block *block, uint64_t element_bytes, uint64_t offset,
                       struct hs_swiss_table *ret);

/* Finds the table that fills a block which is known to be one. O(log n_bytes). */
bool hs_swiss_table_of(const struct hs_heap_block *block, uint64_t element_bytes,
                       struct hs_swiss_table *ret);

/* Tells whether something is in the bucket that has the byte at `at` of the block. */
static inline bool hs_swiss_table_has(const struct hs_swiss_table *table, uint64_t at)
{
    return at < table->n_bytes &&
           table->control[table->n_buckets - 1 - at / table->element_bytes] < 0x80;
}

#endif
