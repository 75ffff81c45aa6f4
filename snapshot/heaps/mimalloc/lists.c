/* Finds the free blocks of a page. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/load.h"
#include "mimalloc/segments.h"

/* internal.h: mi_ptr_decode. `null` stands for the end of a list. */
static hs_addr decode(uint64_t word, const uint64_t keys[2], hs_addr null)
{
    unsigned shift = keys[0] & 63;
    uint64_t turned = word - keys[0];
    hs_addr found = (shift == 0 ? turned : turned >> shift | turned << (64 - shift)) ^ keys[1];

    return found == null ? 0 : found;
}

static bool is_block(const struct mimalloc_page *page, hs_addr at)
{
    uint64_t offset = at - page->begin;

    return offset / page->block_bytes < page->capacity && offset % page->block_bytes == 0;
}

/* A build that pads blocks has keys, too, and hides nothing. */
static hs_addr next_block(const struct mimalloc_page *page, uint64_t word)
{
    hs_addr next = decode(word, page->keys, page->entry);
    bool is_plain = !page->is_hidden ||
                    (next != 0 && !is_block(page, next) && (word == 0 || is_block(page, word)));

    return is_plain ? word : next;
}

/* Sets the bits of a list's blocks. Each may be on one list, once: so that the walk ends. */
static bool walk_list(const struct mimalloc *mimalloc, const struct mimalloc_page *page,
                      hs_addr head, uint64_t *free, uint32_t *ret_n)
{
    uint64_t word;
    uint32_t n = 0;

    for (hs_addr at = head; at != 0; n++) {
        uint64_t number = (at - page->begin) / page->block_bytes;
        if (!is_block(page, at) || (free[number / 64] >> (number % 64) & 1) != 0 ||
            !hs_image_u64(mimalloc->process->image, at, &word))
            return false;
        free[number / 64] |= UINT64_C(1) << (number % 64);
        at = next_block(page, word);
    }
    *ret_n += n;
    return true;
}

bool hs_mimalloc_free_blocks(const struct mimalloc *mimalloc, const struct mimalloc_page *page,
                             uint64_t *free)
{
    uint32_t n_own = 0, n_others = 0;

    /* those that other threads have freed count as in use until the page's thread looks */
    return walk_list(mimalloc, page, page->free, free, &n_own) &&
           walk_list(mimalloc, page, page->local_free, free, &n_own) &&
           walk_list(mimalloc, page, page->thread_free, free, &n_others) &&
           page->used == page->capacity - n_own;
}

/* ---- lists of heaps */

enum { HEAP_WORDS = 512 }; /* its list is among these: 2.0 has the tables of pages before it */

struct heap_list {
    hs_addr heap;
    uint64_t thread;
};

static int compare_heaps(const void *left, const void *right)
{
    const struct heap_list *a = left, *b = right;
    return a->heap != b->heap ? (a->heap > b->heap) - (a->heap < b->heap)
                              : (a->thread > b->thread) - (a->thread < b->thread);
}

/* The word before the one that names its thread; 0: it is empty, or not found. The two words two
 * behind that are its keys (mi_heap_s). */
static hs_addr heap_head(const struct mimalloc *mimalloc, const struct heap_list *heap,
                         uint64_t keys[2])
{
    const struct hs_image *image = mimalloc->process->image;
    uint64_t before = 0, word;

    for (unsigned i = 1; i < HEAP_WORDS; i++) {
        if (!hs_image_u64(image, heap->heap + i * HS_WORD_BYTES, &word))
            return 0;
        if (word == heap->thread && i > 1) {
            const hs_addr at = heap->heap + (i + 3) * HS_WORD_BYTES;
            return hs_image_u64(image, at, &keys[0]) &&
                           hs_image_u64(image, at + HS_WORD_BYTES, &keys[1])
                       ? before
                       : 0;
        }
        before = word;
    }
    return 0;
}

static hs_status take_heap(const struct mimalloc *mimalloc, const struct heap_list *heap,
                           bool is_hidden, const struct mimalloc_taker *taker, struct hs_error *err)
{
    uint64_t keys[2] = {0}, word;
    bool goes_on = true;

    for (hs_addr at = heap_head(mimalloc, heap, keys); at != 0 && goes_on;) {
        if (!hs_image_u64(mimalloc->process->image, at, &word))
            return HS_OK;
        HS_TRY(taker->take(taker->context, at, &goes_on, err));
        hs_addr next = is_hidden ? decode(word, keys, heap->heap) : word;
        at = next < HS_USER_END ? next : word; /* a build may have keys that hide nothing */
    }
    return HS_OK;
}

hs_status hs_mimalloc_delayed(const struct mimalloc *mimalloc, const struct mimalloc_taker *taker,
                              struct hs_error *err)
{
    hs_auto_free struct heap_list *heaps = NULL;
    size_t n = 0;
    bool is_hidden = false;

    if (mimalloc->n_pages == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&heaps, mimalloc->n_pages, err));
    for (size_t i = 0; i < mimalloc->n_pages; i++) {
        const struct mimalloc_page *page = &mimalloc->pages[i];
        is_hidden |= page->is_hidden;
        if (page->heap != 0 && page->thread != 0)
            heaps[n++] = (struct heap_list){page->heap, page->thread};
    }
    qsort(heaps, n, sizeof *heaps, compare_heaps);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || compare_heaps(&heaps[i - 1], &heaps[i]) != 0)
            HS_TRY(take_heap(mimalloc, &heaps[i], is_hidden, taker, err));
    return HS_OK;
}
