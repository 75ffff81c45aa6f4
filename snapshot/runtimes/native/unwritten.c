#include "unwritten.h"

#include "base/load.h"

enum {
    UNWRITTEN_WORD = 8,
    UNWRITTEN_LEAST = 24,  /* of glibc's blocks */
    UNWRITTEN_MOST = 1032, /* of those in such lists */
    UNWRITTEN_SHIFT = 12,  /* by which links are masked */
    UNWRITTEN_TEXT = 3,    /* bytes of a text and its end: more leave too little of a link */
    UNWRITTEN_ALIGN = 16,
    UNWRITTEN_HALF = 32,        /* bits of a number over a link */
    UNWRITTEN_NUMBER = 1 << 16, /* such a number is below it, or above its negative */
    UNWRITTEN_ROOM = 64,        /* bytes of a block from which on it may be an array of these */
    UNWRITTEN_SEARCHED = 128,   /* bytes of a block from which on other traces are looked for */
    UNWRITTEN_LITTLE = 16,      /* a block's part of which it is not known, and then no matter */
    UNWRITTEN_SEARCHED_MOST = 1 << 20, /* larger ones come fresh from the system */
    UNWRITTEN_ROUNDED = 4,             /* a block's part that is more than was asked for */
    UNWRITTEN_CHUNK = 32,              /* the least size of a chunk */
    UNWRITTEN_PAGE = 4096,
    UNWRITTEN_FIELD = 16,         /* from a chunk to its first neighbour's address */
    UNWRITTEN_CHUNKS = 3,         /* that follow each other, or one with a neighbour's size */
    UNWRITTEN_LARGE_CHUNK = 1024, /* from here on chunks have the next of another size, too */
    UNWRITTEN_POOL_OLD = 72704,   /* libstdc++'s, of gcc 7 to 12 */
    UNWRITTEN_POOL = 73728,       /* of gcc 13 and later */
    UNWRITTEN_ENTRY = 16,         /* of a free part of that: its size, and the next one */
    UNWRITTEN_ROW = 128,          /* a table's header begins at a multiple of this, by its maker */
    UNWRITTEN_HEADER = 32,        /* of such a table */
    UNWRITTEN_ROWS = 32,          /* entries, at least: then room that is lost makes none larger */
    UNWRITTEN_ROW_LEAST = 24,     /* bytes of an entry: 32 in 2.36, 40 in 2.43 */
    UNWRITTEN_ROW_MOST = 48
};
/* The largest chunk, and the flags in its size (malloc.c). */
#define UNWRITTEN_CHUNK_MOST (UINT64_C(1) << 26)
#define UNWRITTEN_IN_USE UINT64_C(1) /* the chunk before it is */
#define UNWRITTEN_MAPPED UINT64_C(2)
#define UNWRITTEN_OF_ARENA UINT64_C(4)
#define UNWRITTEN_FLAGS UINT64_C(7)

/* ---- links */

/* Tells whether so many first bytes of the word may be a text of its own: 0 is always one. */
static bool unwritten_is_text(uint64_t word, unsigned n_bytes)
{
    for (unsigned i = 0; i + 1 < n_bytes; i++)
        if ((word >> 8 * i & 0xff) == 0)
            return false;
    return n_bytes == 0 || (word >> 8 * (n_bytes - 1) & 0xff) == 0;
}

/* Tells whether a small number of 32 bits stands over a link. */
static bool unwritten_is_half(const struct hs_heap_block *block, uint64_t word, uint64_t next)
{
    const struct hs_heap_span *span = block->span;
    uint64_t half = next >> UNWRITTEN_HALF, low = word & UINT32_MAX;

    if (block->n_bytes < UNWRITTEN_ROOM || word >> UNWRITTEN_HALF == 0 ||
        (low >= UNWRITTEN_NUMBER && low <= UINT32_MAX - UNWRITTEN_NUMBER))
        return false;
    return half == 0 ||
           (half >= span->begin >> UNWRITTEN_HALF && half <= (span->end - 1) >> UNWRITTEN_HALF);
}

static bool unwritten_is_linked(const struct hs_heap_block *block)
{
    const struct hs_heap_span *span = block->span;
    uint64_t word = hs_load_u64(block->bytes);

    if (block->n_bytes > UNWRITTEN_MOST || word == 0 ||
        hs_load_u64(block->bytes + UNWRITTEN_WORD) != 0)
        return false;
    uint64_t next = word ^ block->begin >> UNWRITTEN_SHIFT;
    for (unsigned n = 0; n <= UNWRITTEN_TEXT; n++) {
        uint64_t low = (UINT64_C(1) << 8 * n) - 1;
        if (!unwritten_is_text(word, n) || (n == 0 && next % UNWRITTEN_ALIGN != 0))
            continue;
        if ((next & ~low) == 0 || ((next | low) >= span->begin && (next & ~low) < span->end))
            return true;
    }
    return unwritten_is_half(block, word, next);
}

/* ---- texts */

static inline bool unwritten_is_letter(uint8_t byte)
{
    return (byte >= ' ' && byte < 0x7f) || (byte >= '\t' && byte <= '\r') || byte == '\033';
}

/* Tells whether all of a word are letters that are no control characters: none has its highest
 * bit, and none is below a blank. */
static inline bool unwritten_is_all_letters(uint64_t word)
{
    const uint64_t each = UINT64_C(0x0101010101010101), high = 0x80 * each;

    return (word & high) == 0 && ((word - ' ' * each) & ~word & high) == 0;
}

/* Returns the first byte behind the texts that the block begins with, each with its end. */
static uint64_t unwritten_text_end(const struct hs_heap_block *block)
{
    const uint8_t *bytes = block->bytes;
    uint64_t end = 0;

    for (uint64_t at = 0; at + UNWRITTEN_WORD <= block->n_bytes; at += UNWRITTEN_WORD) {
        if (unwritten_is_all_letters(hs_load_u64(bytes + at)))
            continue;
        for (uint64_t i = at; i < at + UNWRITTEN_WORD; i++) {
            bool is_end = bytes[i] == 0 && i != 0 && unwritten_is_letter(bytes[i - 1]);
            if (!is_end && !unwritten_is_letter(bytes[i]))
                return end;
            end = is_end ? i + 1 : end;
        }
    }
    return end;
}

/* Returns the first word behind texts that are three quarters of the block; UINT64_MAX: they are
 * not, or there is none. */
static inline uint64_t unwritten_behind_text(const struct hs_heap_block *block)
{
    uint64_t least = block->n_bytes - block->n_bytes / UNWRITTEN_ROUNDED;

    if (block->n_bytes > UNWRITTEN_SEARCHED_MOST ||
        !unwritten_is_all_letters(hs_load_u64(block->bytes)))
        return UINT64_MAX;
    uint64_t end = unwritten_text_end(block);
    return end < least || end + UNWRITTEN_WORD > block->n_bytes
               ? UINT64_MAX
               : (end + UNWRITTEN_WORD - 1) & ~(uint64_t)(UNWRITTEN_WORD - 1);
}

/* ---- rings */

/* Tells whether the head of a ring of free chunks is there: both its neighbours lead back, and it
 * is no chunk of this heap. An address in front of two others is what only such a head has. */
static bool unwritten_is_bin(const struct hs_image *image, const struct hs_heap_span *span,
                             uint64_t address)
{
    uint64_t next, last, back, forth;

    return address % UNWRITTEN_ALIGN == 0 && address != 0 &&
           address - span->begin >= span->end - span->begin &&
           hs_image_u64(image, address + UNWRITTEN_FIELD, &next) && next % UNWRITTEN_ALIGN == 0 &&
           next != 0 && hs_image_u64(image, address + UNWRITTEN_FIELD + UNWRITTEN_WORD, &last) &&
           hs_image_u64(image, next + UNWRITTEN_FIELD + UNWRITTEN_WORD, &back) &&
           hs_image_u64(image, last + UNWRITTEN_FIELD, &forth) && back == address &&
           forth == address;
}

/* Tells whether the block begins as a chunk in a ring does. A large one that is alone of its size
 * has its own address, twice, behind those of its neighbours. */
static bool unwritten_is_in_ring(const struct hs_image *image, const struct hs_heap_block *block)
{
    const uint8_t *bytes = block->bytes;
    uint64_t chunk = block->begin - 2 * (uint64_t)UNWRITTEN_WORD;

    return (block->n_bytes >= UNWRITTEN_LARGE_CHUNK &&
            hs_load_u64(bytes + 2 * UNWRITTEN_WORD) == chunk &&
            hs_load_u64(bytes + 3 * UNWRITTEN_WORD) == chunk) ||
           unwritten_is_bin(image, block->span, hs_load_u64(bytes + UNWRITTEN_WORD)) ||
           unwritten_is_bin(image, block->span, hs_load_u64(bytes));
}

/* ---- headers */

/* Tells whether the word may be a chunk's size. Where the chunk before it is free, that one's size
 * stands before it, which *ret_n_free counts. */
static inline bool unwritten_is_header(const struct hs_heap_block *block, uint64_t at,
                                       unsigned *ret_n_free)
{
    uint64_t word = hs_load_u64(block->bytes + at), size = word & ~UNWRITTEN_FLAGS;

    if (size - UNWRITTEN_CHUNK >= UNWRITTEN_CHUNK_MOST || size % UNWRITTEN_ALIGN != 0 ||
        (word & UNWRITTEN_MAPPED) != 0)
        return false;
    if ((word & UNWRITTEN_IN_USE) != 0)
        return true;
    uint64_t before = hs_load_u64(block->bytes + at - UNWRITTEN_WORD);
    *ret_n_free += 1;
    return before - UNWRITTEN_CHUNK < UNWRITTEN_CHUNK_MOST && before % UNWRITTEN_ALIGN == 0;
}

/* Returns where the chunk with this header ends, if it was the top of the heap then, behind which
 * the system's pages end; 0: it was not. */
static uint64_t unwritten_top(const struct hs_heap_block *block, uint64_t at)
{
    uint64_t word = hs_load_u64(block->bytes + at), end = at + (word & ~UNWRITTEN_FLAGS);

    return end > block->n_bytes && (word & UNWRITTEN_FLAGS) == UNWRITTEN_IN_USE &&
                   (block->begin + end) % UNWRITTEN_PAGE == UNWRITTEN_WORD
               ? end
               : 0;
}

/* Tells whether headers follow each other from `at` on until the block ends, where the next block's
 * own stands. Lengths beside pointers rarely do, never with a size before them, nor to the top. */
static bool unwritten_is_tiled(const struct hs_heap_block *block, uint64_t at)
{
    uint64_t arena = hs_load_u64(block->bytes + at) & UNWRITTEN_OF_ARENA, last = at;
    unsigned n_free = 0, n = 0;

    for (; at < block->n_bytes && unwritten_is_header(block, at, &n_free); n++) {
        uint64_t word = hs_load_u64(block->bytes + at);
        if ((word & UNWRITTEN_OF_ARENA) != arena)
            return false;
        last = at;
        at += word & ~UNWRITTEN_FLAGS;
    }
    if (at < block->n_bytes)
        return false;
    n += at == block->n_bytes;
    return n > UNWRITTEN_CHUNKS || (n >= 2 && (n_free != 0 || unwritten_top(block, last) != 0));
}

uint64_t hs_unwritten_rest(const struct hs_heap_block *block)
{
    uint64_t top = 0, from = 0;
    unsigned n_free = 0;

    if (block->span->form != HS_SPAN_HEADERS || block->bytes == NULL ||
        block->n_bytes < UNWRITTEN_SEARCHED || block->n_bytes > UNWRITTEN_SEARCHED_MOST)
        return UINT64_MAX;
    for (uint64_t at = UNWRITTEN_WORD; at + UNWRITTEN_WORD <= block->n_bytes;
         at += UNWRITTEN_ALIGN) {
        if (!unwritten_is_header(block, at, &n_free))
            continue;
        uint64_t end = unwritten_top(block, at);
        if (end != 0 && end == top)
            return from - UNWRITTEN_WORD;
        from = end != 0 ? at : from;
        top = end != 0 ? end : top;
        if (unwritten_is_tiled(block, at))
            return at - UNWRITTEN_WORD;
    }
    return UINT64_MAX;
}

/* ---- libstdc++'s pool */

/* Tells whether all of the block is the one free part of a pool for exceptions. */
static bool unwritten_is_pool(const struct hs_heap_block *block)
{
    uint64_t size = hs_load_u64(block->bytes), next = hs_load_u64(block->bytes + UNWRITTEN_WORD);

    return (size == UNWRITTEN_POOL || size == UNWRITTEN_POOL_OLD) && next == 0 &&
           block->n_bytes >= size && block->n_bytes - size < UNWRITTEN_ALIGN;
}

/* ---- the dynamic linker's tables of what is mapped where
 *
 *   the table before | address of this block | n in use | n that there are | entries
 *
 * It stands at a multiple of a line of the cache (dl-find_object.c), and only entries in use are
 * written. */

/* Returns where the entries in use end; UINT64_MAX: the block is no such table. */
static uint64_t unwritten_behind_count(const struct hs_heap_block *block)
{
    const uint8_t *bytes = block->bytes;
    uint64_t at = -block->begin % UNWRITTEN_ROW;

    if (block->n_bytes > UNWRITTEN_SEARCHED_MOST ||
        at + UNWRITTEN_HEADER + UNWRITTEN_ROWS * UNWRITTEN_WORD > block->n_bytes ||
        hs_load_u64(bytes + at + UNWRITTEN_WORD) != block->begin)
        return UINT64_MAX;
    uint64_t n_used = hs_load_u64(bytes + at + 2 * UNWRITTEN_WORD);
    uint64_t n = hs_load_u64(bytes + at + 3 * UNWRITTEN_WORD);
    uint64_t room = block->n_bytes - at - UNWRITTEN_HEADER;
    if (n < UNWRITTEN_ROWS || n_used > n || n > room / UNWRITTEN_WORD)
        return UINT64_MAX;
    uint64_t entry = room / n & ~(uint64_t)(UNWRITTEN_WORD - 1);
    return entry < UNWRITTEN_ROW_LEAST || entry > UNWRITTEN_ROW_MOST ||
                   room - n * entry > UNWRITTEN_ROW + UNWRITTEN_ALIGN
               ? UINT64_MAX
               : at + UNWRITTEN_HEADER + n_used * entry;
}

uint64_t hs_unwritten_from(const struct hs_image *image, const struct hs_heap_block *block)
{
    if (block->bytes == NULL || block->n_bytes < UNWRITTEN_LEAST)
        return UINT64_MAX;
    uint64_t behind = unwritten_behind_text(block);
    if (behind != UINT64_MAX || block->span->form != HS_SPAN_HEADERS)
        return behind;
    if (unwritten_is_linked(block))
        return 0;
    if (block->n_bytes < UNWRITTEN_SEARCHED)
        return UINT64_MAX;
    if (unwritten_is_in_ring(image, block))
        return 0;
    if (unwritten_is_pool(block))
        return UNWRITTEN_ENTRY;
    uint64_t behind_count = unwritten_behind_count(block);
    if (behind_count != UINT64_MAX)
        return behind_count;
    uint64_t from = hs_unwritten_rest(block);
    return from < block->n_bytes / UNWRITTEN_LITTLE ? 0 : from;
}
