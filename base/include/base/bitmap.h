/* A bitmap with a rank index: number of set bits below a position in two cache misses.
 *
 *   words: | 64 bits | 64 bits | ... |      one bit per position
 *   ranks: |  u64 per 512 positions  |      set bits before the block of eight words (37 bits), and
 *                                           in its first two, four and six words (3 times 9 bits)
 *
 * Resident: 1/8 + 1/64 byte per position. Set bits first, then hs_bitmap_index, then rank.
 * Limit: at most 2^37 - 1 set bits, told by hs_bitmap_index. */
#ifndef HS_BASE_BITMAP_H
#define HS_BASE_BITMAP_H

#include "base/error.h"

struct hs_bitmap {
    uint64_t *words; /* owned */
    uint64_t *ranks; /* owned; NULL until indexed */
    uint64_t n_bits;
};

hs_status hs_bitmap_init(struct hs_bitmap *map, uint64_t n_bits, struct hs_error *err);
void hs_bitmap_fini(struct hs_bitmap *map);

static inline bool hs_bitmap_get(const struct hs_bitmap *map, uint64_t at)
{
    return map->words[at >> 6] >> (at & 63) & 1;
}

static inline void hs_bitmap_set(struct hs_bitmap *map, uint64_t at)
{
    map->words[at >> 6] |= (uint64_t)1 << (at & 63);
}

static inline void hs_bitmap_clear(struct hs_bitmap *map, uint64_t at)
{
    map->words[at >> 6] &= ~((uint64_t)1 << (at & 63));
}

/* Builds the rank index; returns the number of set bits in *ret_n_set. O(n_bits / 64). Fails with
 * HS_LIMIT. */
hs_status hs_bitmap_index(struct hs_bitmap *map, uint64_t *ret_n_set, struct hs_error *err);

/* Counts the bits that are set in [0, at), at <= n_bits. Needs the index. */
uint64_t hs_bitmap_rank(const struct hs_bitmap *map, uint64_t at);

/* Finds the position of set bit number `rank`, from 0, which there must be. Needs the index.
 * O(log). */
uint64_t hs_bitmap_select(const struct hs_bitmap *map, uint64_t rank);

/* Finds the first set bit >= at, or n_bits when there is none. */
uint64_t hs_bitmap_next(const struct hs_bitmap *map, uint64_t at);

/* Finds the last set bit <= at, or UINT64_MAX when there is none. */
uint64_t hs_bitmap_previous(const struct hs_bitmap *map, uint64_t at);
/* The same in O(log distance), for bits that did not change since they were indexed. */
uint64_t hs_bitmap_previous_ranked(const struct hs_bitmap *map, uint64_t at);

#endif
