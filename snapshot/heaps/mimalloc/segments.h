/* mimalloc 2.0.9 and later 2.x: what the files of this folder share.
 *
 *   segment   32 MiB at a multiple of that, or more where it has one huge block:
 *
 *     | header | slice 0, 1, 2, ... | page | page | ... |
 *
 *   header    ..., pages in use, cookie, [2 words], slices, slices of the header, kind, entries,
 *             thread
 *   slice     an entry for every 64 KiB. The first of a run says how long it is; a run that has a
 *             size of blocks is a page, the others are free
 *   page      blocks of one size. Those below its capacity are in use, unless they are on one of
 *             its three lists: free, freed since the last look, freed by other threads; or, of a
 *             page that was full when another thread freed a block, on the list of its heap
 *   cookie    the segment's address, and a number that is the same in all segments of a process
 *
 * Source: types.h, segment.c, page.c and alloc.c of mimalloc 2.0.9, 2.1.2, 2.1.7 and 2.3.2. */
#ifndef HS_MIMALLOC_SEGMENTS_H
#define HS_MIMALLOC_SEGMENTS_H

#include "heaps/allocator.h"

#define MIMALLOC_OWNER "mimalloc"

enum {
    MIMALLOC_SLICES = 512,        /* entries of a segment, MI_SLICES_PER_SEGMENT */
    MIMALLOC_HEADER_WORDS = 128,  /* more than any version has before its slices */
    MIMALLOC_MOST_BLOCKS = 65535, /* of a page: capacity has 16 bits */
};
#define MIMALLOC_SLICE ((uint64_t)1 << 16)
#define MIMALLOC_SEGMENT (MIMALLOC_SLICE * MIMALLOC_SLICES)

/* The layout of the entries of slices in a version; offsets in bytes. */
struct mimalloc_layout {
    const char *version;
    uint8_t entry_bytes;
    uint8_t at_used, used_bytes;        /* blocks in use */
    uint8_t at_block_bytes, size_bytes; /* the size of each */
    uint8_t at_local_free, at_thread_free, at_heap;
    uint8_t at_start; /* where the first block begins; 0: computed */
    uint8_t at_keys;  /* two words that hide lists; 0: lists are plain */
    /* Bytes before the first block where that is computed. */
    uint64_t (*before)(uint64_t block_bytes);
};

struct mimalloc_segment {
    hs_addr begin, end;
    hs_addr pages;      /* where the header ends */
    uint64_t thread;    /* 0: its thread has ended */
    uint32_t at_slices; /* of its entries, in bytes from `begin` */
    uint16_t n_entries;
    uint8_t layout;
    bool is_sound; /* as many pages in use as it says */
    bool is_empty; /* no page */
};

struct mimalloc_page {
    hs_addr begin; /* its first block */
    uint64_t block_bytes;
    hs_addr free, local_free, thread_free; /* lists; 0: empty */
    hs_addr heap;                          /* 0: nobody's */
    hs_addr entry;                         /* where it is described */
    uint64_t keys[2];
    uint64_t thread; /* of its segment */
    uint16_t capacity, used;
    bool is_hidden; /* its lists are */
};

struct mimalloc {
    const struct hs_process_copy *process; /* borrowed */
    struct mimalloc_segment *segments;     /* owned; ascending and disjoint */
    size_t n_segments, segments_capacity;
    struct mimalloc_page *pages; /* owned; ascending */
    size_t n_pages, pages_capacity;
    uint64_t *free;     /* owned: room for the bits of one page */
    uint64_t n_damaged; /* segments that are left out */
};

/* ---- layouts.c */

extern const struct mimalloc_layout hs_mimalloc_layouts[];
enum { MIMALLOC_N_LAYOUTS = 6 };

/* Reads the page that an entry describes; false for one that can be none. `begin` and `end` are its
 * slices. */
bool hs_mimalloc_page(const struct mimalloc_layout *layout, const uint8_t *entry, hs_addr begin,
                      hs_addr end, struct mimalloc_page *ret);
/* Does the entry say that its run of slices is a page? */
bool hs_mimalloc_is_page(const struct mimalloc_layout *layout, const uint8_t *entry);

/* ---- locate.c */

/* Finds all segments and pages. O(mappings, and present memory / 32 MiB). Fails with HS_LIMIT. */
hs_status hs_mimalloc_locate(struct mimalloc *mimalloc, struct hs_error *err);

/* ---- lists.c */

/* Finds the free blocks of a page: bits of `free`, which has room for all. False where a list is
 * damaged, or was caught in a change, or the page says another number; then the blocks found up to
 * there are free, and all others live. */
bool hs_mimalloc_free_blocks(const struct mimalloc *mimalloc, const struct mimalloc_page *page,
                             uint64_t *free);
/* A function that is given the blocks of a list; it ends where `*ret_goes_on` is set to false. */
struct mimalloc_taker {
    hs_status (*take)(void *context, hs_addr block, bool *ret_goes_on, struct hs_error *err);
    void *context;
};
/* All blocks that other threads have freed to a heap, whose pages do not know it yet. */
hs_status hs_mimalloc_delayed(const struct mimalloc *mimalloc, const struct mimalloc_taker *taker,
                              struct hs_error *err);

#endif
