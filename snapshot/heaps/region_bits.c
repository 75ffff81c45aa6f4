/* Regions of a slab or pool as runs of bits. */
#include "region_bits.h"

void hs_region_bits_set(struct hs_bitmap *starts, uint64_t first, const uint64_t *live, unsigned n)
{
    for (unsigned i = 0; i * 64 < n; i++) {
        uint64_t at = first + i * 64, word = live[i];
        if (n - i * 64 < 64)
            word &= (UINT64_C(1) << (n - i * 64)) - 1;
        if (word == 0)
            continue;
        starts->words[at >> 6] |= word << (at & 63);
        if ((at & 63) != 0 && word >> (64 - (at & 63)) != 0)
            starts->words[(at >> 6) + 1] |= word >> (64 - (at & 63));
    }
}

/* The first bit >= i that has the given value, at most n. */
static unsigned region_next(const uint64_t *live, unsigned i, unsigned n, bool value)
{
    while (i < n) {
        uint64_t word = (value ? live[i / 64] : ~live[i / 64]) >> (i % 64);
        if (word != 0) {
            i += (unsigned)__builtin_ctzll(word);
            return i < n ? i : n;
        }
        i = (i / 64 + 1) * 64;
    }
    return n;
}

hs_status hs_region_bits_move(struct hs_ledger *ledger, const struct hs_region_move *move,
                              const uint64_t *live, unsigned n, struct hs_error *err)
{
    unsigned i = region_next(live, 0, n, true);

    while (i < n) {
        unsigned begin = i;
        i = region_next(live, begin, n, false);
        HS_TRY(hs_ledger_move(ledger, move->owner, move->from, move->to,
                              move->begin + begin * move->unit_bytes,
                              move->begin + i * move->unit_bytes, 0, err));
        i = region_next(live, i, n, true);
    }
    return HS_OK;
}
