#include "pairs.h"

#include "base/load.h"

enum {
    PAIRS_WORD = 8,
    PAIRS_BYTES = 16,
    PAIRS_LEAST = 64,     /* pairs */
    PAIRS_MOST = 1 << 10, /* pairs */
    PAIRS_NUMBER = 8,     /* what the low byte of an even word is at most */
    PAIRS_CODES = 16,     /* pointers to code, at least */
    PAIRS_ONE_IN = 32     /* of which one may be another thing */
};

static bool pairs_is_code(const struct hs_native *native, uint64_t word,
                          const struct hs_mapping **last)
{
    if (*last == NULL || word < (*last)->begin || word >= (*last)->end)
        *last = hs_target_mapping_at(&native->dump->target, word);
    return *last != NULL && (*last)->executable;
}

bool hs_pairs_are(const struct hs_native *native, const struct hs_heap_block *block)
{
    uint64_t n = block->n_bytes / PAIRS_BYTES, n_other = 0, n_codes = 0;
    const struct hs_mapping *last = NULL;

    if (block->bytes == NULL || n < PAIRS_LEAST || n > PAIRS_MOST)
        return false;
    for (uint64_t i = 0; i < n && n_other <= n / PAIRS_ONE_IN; i++) {
        const uint8_t *pair = block->bytes + i * PAIRS_BYTES;
        uint64_t code = hs_load_u64(pair + PAIRS_WORD);
        bool is_code = code != 0 && pairs_is_code(native, code, &last);
        n_codes += is_code;
        n_other += pair[0] > PAIRS_NUMBER || (code != 0 && !is_code);
    }
    return n_other <= n / PAIRS_ONE_IN && n_codes >= PAIRS_CODES;
}
