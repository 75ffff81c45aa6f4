/* The layouts of a page in the versions of mimalloc 2. */
#include <string.h>

#include "base/load.h"
#include "mimalloc/segments.h"

/* The offsets that are the same in all versions. */
enum { AT_CAPACITY = 10, AT_RESERVED = 12, AT_FREE = 16 };

#define HUGE_BLOCK ((uint64_t)1 << 31) /* MI_HUGE_BLOCK_SIZE: at least; the page is one block */

/* segment.c: _mi_segment_page_start */
static uint64_t before_20(uint64_t block_bytes)
{
    return block_bytes <= 1024 ? 384 : 0;
}

static uint64_t before_21(uint64_t block_bytes)
{
    return block_bytes <= 64 ? 3 * block_bytes : block_bytes <= 512 ? block_bytes : 0;
}

/* Up to 2.1.2, and after; `keys` are the bytes that a secure, debug or
 * padding build has for them. */
#define LAYOUT_OLD(keys)                                                              \
    .entry_bytes = 80 + (keys), .at_used = 24, .used_bytes = 4, .at_block_bytes = 28, \
    .size_bytes = 4, .at_local_free = 32, .at_keys = (keys) != 0 ? 40 : 0,            \
    .at_thread_free = 40 + (keys), .at_heap = 48 + (keys)
#define LAYOUT_NEW(keys)                                                                    \
    .entry_bytes = 96 + (keys), .at_local_free = 24, .at_used = 32, .used_bytes = 2,        \
    .at_block_bytes = 40, .size_bytes = 8, .at_start = 48, .at_keys = (keys) != 0 ? 56 : 0, \
    .at_thread_free = 56 + (keys), .at_heap = 64 + (keys)

const struct mimalloc_layout hs_mimalloc_layouts[MIMALLOC_N_LAYOUTS] = {
    {.version = "2.0", LAYOUT_OLD(0), .before = before_20},
    {.version = "2.0 with keys", LAYOUT_OLD(16), .before = before_20},
    {.version = "2.1", LAYOUT_OLD(0), .before = before_21},
    {.version = "2.1 with keys", LAYOUT_OLD(16), .before = before_21},
    {.version = "2.2", LAYOUT_NEW(0)},
    {.version = "2.2 with keys", LAYOUT_NEW(16)},
};

static uint64_t load(const uint8_t *bytes, unsigned n)
{
    return n == 2 ? hs_load_u16(bytes) : n == 4 ? hs_load_u32(bytes) : hs_load_u64(bytes);
}

bool hs_mimalloc_is_page(const struct mimalloc_layout *layout, const uint8_t *entry)
{
    return load(entry + layout->at_block_bytes, layout->size_bytes) != 0;
}

/* Is it empty, or does it begin with a block? */
static bool is_list(const struct mimalloc_page *page, hs_addr head)
{
    uint64_t offset = head - page->begin;

    return head == 0 ||
           (offset / page->block_bytes < page->capacity && offset % page->block_bytes == 0);
}

/* Finds where the first block of a page begins, as the entry says or computed from their size.
 * False when that cannot be, or the blocks do not fit. */
static bool place_blocks(const struct mimalloc_layout *layout, const uint8_t *entry, hs_addr begin,
                         hs_addr end, struct mimalloc_page *page)
{
    uint64_t n_fit, n_reserved = hs_load_u16(entry + AT_RESERVED);

    page->begin = layout->at_start != 0 ? hs_load_u64(entry + layout->at_start)
                                        : begin + layout->before(page->block_bytes);
    if (page->begin < begin || page->begin >= end || page->begin % HS_WORD_BYTES != 0)
        return false;
    if (layout->at_start == 0 && page->block_bytes == HUGE_BLOCK)
        page->block_bytes = end - page->begin;
    if (page->block_bytes % HS_WORD_BYTES != 0)
        return false;
    n_fit = (end - page->begin) / page->block_bytes;
    if (layout->at_start == 0 && n_reserved != n_fit)
        return false;
    return n_reserved != 0 && n_reserved <= n_fit;
}

bool hs_mimalloc_page(const struct mimalloc_layout *layout, const uint8_t *entry, hs_addr begin,
                      hs_addr end, struct mimalloc_page *ret)
{
    struct mimalloc_page page = {
        .block_bytes = load(entry + layout->at_block_bytes, layout->size_bytes),
        .capacity = hs_load_u16(entry + AT_CAPACITY),
        .free = hs_load_u64(entry + AT_FREE),
        .local_free = hs_load_u64(entry + layout->at_local_free),
        .thread_free = hs_load_u64(entry + layout->at_thread_free) & ~(hs_addr)3,
        .heap = hs_load_u64(entry + layout->at_heap),
        .is_hidden = layout->at_keys != 0,
    };
    uint64_t used = load(entry + layout->at_used, layout->used_bytes);

    if (page.block_bytes == 0 || !place_blocks(layout, entry, begin, end, &page) ||
        page.capacity > hs_load_u16(entry + AT_RESERVED) || used > page.capacity ||
        !is_list(&page, page.free) || !is_list(&page, page.local_free) ||
        !is_list(&page, page.thread_free))
        return false;
    page.used = (uint16_t)used;
    for (unsigned i = 0; page.is_hidden && i < 2; i++)
        page.keys[i] = hs_load_u64(entry + layout->at_keys + i * HS_WORD_BYTES);
    *ret = page;
    return true;
}
