/* Finds out which unaligned words may be addresses of blocks at all, eight bytes at once.
 *
 * Addresses of blocks have one of a few sixth bytes (0x55, 0x7f). An unaligned word within two
 * aligned ones is such an address only where one of their bytes is:
 *
 *   bytes:   0 1 2 3 4 5 6 7 | 0 1 2 3 4 5 6 7
 *   sixth of the word at 1 ^-- ... the word at 7 --^
 */
#ifndef HS_NATIVE_UNALIGNED_H
#define HS_NATIVE_UNALIGNED_H

#include "heaps/heap_map.h"

enum { HS_UNALIGNED_TOPS = 8 };

struct hs_unaligned {
    hs_addr low, high;                /* all blocks lie in here */
    uint64_t tops[HS_UNALIGNED_TOPS]; /* the sixth bytes, each eight times */
    size_t n_tops;
    bool is_any; /* there are more, or bits of them are cleared: every word may be one */
};

/* Looks up the sixth bytes of a map's addresses; `mask`: bits that words are looked up without. */
struct hs_unaligned hs_unaligned_of(const struct hs_heap_map *map, uint64_t mask);

/* Returns a bit for each byte of the word that may be a sixth: the highest of the byte. */
static inline uint64_t hs_unaligned_sixths(const struct hs_unaligned *of, uint64_t word)
{
    const uint64_t low = UINT64_C(0x0101010101010101), high = low << 7;
    uint64_t found = of->is_any ? high : 0;

    for (size_t i = 0; i < of->n_tops; i++) {
        uint64_t same = word ^ of->tops[i];
        found |= (same - low) & ~same & high;
    }
    return found;
}

#define HS_UNALIGNED_ALL UINT64_C(0x0080808080808080)
/* Returns a bit for each unaligned word that begins in `word`, which `next` follows, and may be an
 * address: bit 8 i + 7 of the one at byte i + 1. */
static inline uint64_t hs_unaligned_in(const struct hs_unaligned *of, uint64_t word, uint64_t next)
{
    if ((word | next) == 0)
        return 0;
    return (hs_unaligned_sixths(of, word) >> 48 | hs_unaligned_sixths(of, next) << 16) &
           HS_UNALIGNED_ALL;
}

#endif
