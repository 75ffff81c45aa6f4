#include "unwritten.h"

#include "base/load.h"

enum {
    UNWRITTEN_WORD = 8,
    UNWRITTEN_LEAST = 24,  /* of glibc's blocks */
    UNWRITTEN_MOST = 1032, /* of those in such lists */
    UNWRITTEN_SHIFT = 12,  /* by which links are masked */
    UNWRITTEN_TEXT = 3,    /* bytes of a text and its end: more leave too little of a link */
    UNWRITTEN_ALIGN = 16
};

/* Tells whether so many first bytes of the word may be a text of its own: 0 is always one. */
static bool unwritten_is_text(uint64_t word, unsigned n_bytes)
{
    for (unsigned i = 0; i + 1 < n_bytes; i++)
        if ((word >> 8 * i & 0xff) == 0)
            return false;
    return n_bytes == 0 || (word >> 8 * (n_bytes - 1) & 0xff) == 0;
}

bool hs_unwritten_is(const struct hs_heap_block *block)
{
    const struct hs_heap_span *span = block->span;

    if (span->form != HS_SPAN_HEADERS || block->bytes == NULL || block->n_bytes < UNWRITTEN_LEAST ||
        block->n_bytes > UNWRITTEN_MOST || hs_load_u64(block->bytes + UNWRITTEN_WORD) != 0)
        return false;
    uint64_t word = hs_load_u64(block->bytes);
    uint64_t next = word ^ block->begin >> UNWRITTEN_SHIFT;
    if (word == 0)
        return false;
    for (unsigned n = 0; n <= UNWRITTEN_TEXT; n++) {
        uint64_t low = (UINT64_C(1) << 8 * n) - 1;
        if (!unwritten_is_text(word, n) || (n == 0 && next % UNWRITTEN_ALIGN != 0))
            continue;
        if ((next & ~low) == 0 || ((next | low) >= span->begin && (next & ~low) < span->end))
            return true;
    }
    return false;
}
