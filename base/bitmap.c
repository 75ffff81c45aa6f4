/* Bits in anonymous pages: an untouched stretch of the address space costs nothing. Ranks apart. */
#include "base/bitmap.h"

#include <assert.h>

#include "base/alloc.h"

#define BLOCK_WORDS 8 /* 512 bits: one cache line of bits per rank */

static size_t bitmap_n_words(uint64_t n_bits)
{
    return (size_t)(n_bits / 64 + (n_bits % 64 != 0));
}

/* One more than the full blocks, so that rank(n_bits) needs no special case. */
static size_t bitmap_n_ranks(uint64_t n_bits)
{
    return bitmap_n_words(n_bits) / BLOCK_WORDS + 1;
}

hs_status hs_bitmap_init(struct hs_bitmap *map, uint64_t n_bits, struct hs_error *err)
{
    void *words;
    HS_TRY(hs_pages_alloc(bitmap_n_words(n_bits), sizeof(uint64_t), &words, err));
    *map = (struct hs_bitmap){.words = words, .n_bits = n_bits};
    return HS_OK;
}

void hs_bitmap_fini(struct hs_bitmap *map)
{
    if (map == NULL)
        return;
    hs_pages_free(map->words, bitmap_n_words(map->n_bits), sizeof(uint64_t));
    hs_pages_free(map->ranks, bitmap_n_ranks(map->n_bits), sizeof(uint64_t));
    *map = (struct hs_bitmap){0};
}

hs_status hs_bitmap_index(struct hs_bitmap *map, uint64_t *ret_n_set, struct hs_error *err)
{
    size_t n_words = bitmap_n_words(map->n_bits);
    uint64_t n_set = 0;

    assert(map->n_bits % 64 == 0 || map->words[n_words - 1] >> (map->n_bits % 64) == 0);
    if (map->ranks == NULL) {
        void *ranks;
        HS_TRY(hs_pages_alloc(bitmap_n_ranks(map->n_bits), sizeof(uint64_t), &ranks, err));
        map->ranks = ranks;
    }
    for (size_t i = 0; i < n_words; i++) {
        if (i % BLOCK_WORDS == 0)
            map->ranks[i / BLOCK_WORDS] = n_set;
        n_set += (uint64_t)__builtin_popcountll(map->words[i]);
    }
    if (n_words % BLOCK_WORDS == 0)
        map->ranks[n_words / BLOCK_WORDS] = n_set;
    *ret_n_set = n_set;
    return HS_OK;
}

uint64_t hs_bitmap_rank(const struct hs_bitmap *map, uint64_t at)
{
    assert(map->ranks != NULL && at <= map->n_bits);
    uint64_t word = at >> 6;
    uint64_t rank = map->ranks[word / BLOCK_WORDS];
    for (uint64_t i = word & ~(uint64_t)(BLOCK_WORDS - 1); i < word; i++)
        rank += (uint64_t)__builtin_popcountll(map->words[i]);
    if ((at & 63) != 0) {
        uint64_t below = ((uint64_t)1 << (at & 63)) - 1;
        rank += (uint64_t)__builtin_popcountll(map->words[word] & below);
    }
    return rank;
}

uint64_t hs_bitmap_next(const struct hs_bitmap *map, uint64_t at)
{
    if (at >= map->n_bits)
        return map->n_bits;
    uint64_t n_words = bitmap_n_words(map->n_bits);
    uint64_t bits = map->words[at >> 6] & (~(uint64_t)0 << (at & 63));
    for (uint64_t word = at >> 6;; bits = map->words[word]) {
        if (bits != 0)
            return word * 64 + (uint64_t)__builtin_ctzll(bits);
        if (++word == n_words)
            return map->n_bits;
    }
}

uint64_t hs_bitmap_previous(const struct hs_bitmap *map, uint64_t at)
{
    if (map->n_bits == 0)
        return UINT64_MAX;
    if (at >= map->n_bits)
        at = map->n_bits - 1;
    uint64_t bits = map->words[at >> 6] & (~(uint64_t)0 >> (63 - (at & 63)));
    for (uint64_t word = at >> 6;; bits = map->words[word]) {
        if (bits != 0)
            return word * 64 + 63 - (uint64_t)__builtin_clzll(bits);
        if (word-- == 0)
            return UINT64_MAX;
    }
}
