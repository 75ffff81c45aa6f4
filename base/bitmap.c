/* Bits in anonymous pages: an untouched stretch of the address space costs nothing. Ranks apart. */
#include "base/bitmap.h"
#include "base/bisect.h"

#include <assert.h>

#include "base/alloc.h"

#define BLOCK_WORDS 8 /* 512 bits: one cache line of bits per rank */
#define PART_BITS 9   /* a count of up to 384 bits */
#define PARTS_BITS (3 * PART_BITS)
#define MAX_SET (((uint64_t)1 << (64 - PARTS_BITS)) - 1)

/* The compiler's own is a library call where the processor is not known to count bits. */
static inline uint64_t bitmap_count(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555U;
    bits = (bits & 0x3333333333333333U) + (bits >> 2 & 0x3333333333333333U);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fU;
    return bits * 0x0101010101010101U >> 56;
}

static size_t bitmap_n_words(uint64_t n_bits)
{
    return (size_t)(n_bits / 64 + (n_bits % 64 != 0));
}

/* Returns one more than the full blocks, so that rank(n_bits) needs no special case. */
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

/* The counts of one block of `n` <= 8 words as the low bits of its rank; its sum apart. */
static uint64_t bitmap_block(const uint64_t *words, size_t n, uint64_t *ret_n_set)
{
    uint64_t parts = 0;
    uint64_t n_set = 0;

    for (size_t i = 0; i < BLOCK_WORDS; i++) {
        if (i != 0 && i % 2 == 0)
            parts |= n_set << (PART_BITS * (i / 2 - 1));
        n_set += i < n ? bitmap_count(words[i]) : 0;
    }
    *ret_n_set = n_set;
    return parts;
}

hs_status hs_bitmap_index(struct hs_bitmap *map, uint64_t *ret_n_set, struct hs_error *err)
{
    size_t n_words = bitmap_n_words(map->n_bits);
    size_t n_ranks = bitmap_n_ranks(map->n_bits);
    uint64_t n_set = 0;

    assert(map->n_bits % 64 == 0 || map->words[n_words - 1] >> (map->n_bits % 64) == 0);
    if (map->ranks == NULL)
        HS_TRY(HS_PAGES_ALLOC(&map->ranks, n_ranks, err));
    for (size_t block = 0; block < n_ranks; block++) {
        uint64_t in_block;
        size_t first = block * BLOCK_WORDS;
        size_t left = n_words - first;
        uint64_t parts =
            bitmap_block(map->words + first, left < BLOCK_WORDS ? left : BLOCK_WORDS, &in_block);
        map->ranks[block] = n_set << PARTS_BITS | parts;
        n_set += in_block;
        if (n_set > MAX_SET)
            return hs_fail(err, HS_LIMIT, "cannot index more than %llu blocks",
                           (unsigned long long)MAX_SET);
    }
    *ret_n_set = n_set;
    return HS_OK;
}

uint64_t hs_bitmap_rank(const struct hs_bitmap *map, uint64_t at)
{
    assert(map->ranks != NULL && at <= map->n_bits);
    uint64_t word = at >> 6;
    uint64_t packed = map->ranks[word / BLOCK_WORDS];
    /* Before the first pair of words lie none: the parts moved up by one make room for that. */
    uint64_t parts = packed << PART_BITS;
    uint64_t part = parts >> (PART_BITS * (word / 2 % 4)) & ((1U << PART_BITS) - 1);
    uint64_t rank = (packed >> PARTS_BITS) + part;
    if (word % 2 != 0)
        rank += bitmap_count(map->words[word - 1]);
    if (at % 64 != 0)
        rank += bitmap_count(map->words[word] & (((uint64_t)1 << (at % 64)) - 1));
    return rank;
}

uint64_t hs_bitmap_select(const struct hs_bitmap *map, uint64_t rank)
{
    assert(map->ranks != NULL);
    /* The last block with at most `rank` bits before it. */
    uint64_t low =
        HS_FIRST_NOT(at, 1, bitmap_n_ranks(map->n_bits), map->ranks[at] >> PARTS_BITS <= rank) - 1;
    uint64_t left = rank - (map->ranks[low] >> PARTS_BITS), word = low * BLOCK_WORDS;
    for (;; word++) {
        assert(word < bitmap_n_words(map->n_bits));
        uint64_t n = bitmap_count(map->words[word]);
        if (left < n)
            break;
        left -= n;
    }
    uint64_t bits = map->words[word];
    for (; left != 0; left--)
        bits &= bits - 1;
    return word * 64 + (uint64_t)__builtin_ctzll(bits);
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

/* Finds the last set bit in words [first, word], of which only the bits `bits` of the last word
 * count. */
static uint64_t bitmap_last(const struct hs_bitmap *map, uint64_t first, uint64_t word,
                            uint64_t bits)
{
    while (bits == 0 && word > first)
        bits = map->words[--word];
    return bits == 0 ? UINT64_MAX : word * 64 + 63 - (uint64_t)__builtin_clzll(bits);
}

/* Counts the bits that are set before a block of words. */
static uint64_t bitmap_before(const struct hs_bitmap *map, uint64_t block)
{
    return map->ranks[block] >> PARTS_BITS;
}

uint64_t hs_bitmap_previous_ranked(const struct hs_bitmap *map, uint64_t at)
{
    if (map->n_bits == 0)
        return UINT64_MAX;
    if (at >= map->n_bits)
        at = map->n_bits - 1;
    assert(map->ranks != NULL);
    uint64_t word = at >> 6;
    uint64_t high = word / BLOCK_WORDS;
    uint64_t bits = map->words[word] & (~(uint64_t)0 >> (63 - (at & 63)));
    uint64_t found = bitmap_last(map, high * BLOCK_WORDS, word, bits);
    if (found != UINT64_MAX)
        return found;
    uint64_t n_set = bitmap_before(map, high);
    if (n_set == 0)
        return UINT64_MAX;
    /* The last block with fewer bits before it than all of them holds the last of them. */
    uint64_t low = high - 1;
    for (uint64_t step = 1; bitmap_before(map, low) == n_set; step *= 2) {
        high = low;
        low = low > step ? low - step : 0;
    }
    low = HS_FIRST_NOT(i, low + 1, high, bitmap_before(map, i) != n_set) - 1;
    word = low * BLOCK_WORDS + BLOCK_WORDS - 1;
    return bitmap_last(map, low * BLOCK_WORDS, word, map->words[word]);
}
