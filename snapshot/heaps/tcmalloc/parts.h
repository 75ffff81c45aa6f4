/* gperftools' tcmalloc, from 2.9 on: what the files of this folder share.
 *
 *   page map   131,072 words in the library's data, one for every 2 GiB of addresses: a leaf, which
 *              has a word for every page of 8 KiB: the span that it is part of
 *   span       {first page, pages, next, previous, free blocks, bits}: pages in a row, in use for
 *              one block, for blocks of one class, or free
 *   classes    a table of their sizes: 0, 8, 16, 32, 48, ... 256 KiB
 *   central    for each class how many blocks are free in its spans, and up to 64 lists of blocks
 *              that threads have given back: in use for their span
 *   cache      of a thread: for each class {list, its length, three numbers, size of the blocks}:
 *              in use for their span, too
 *
 * Source: common.h, span.h, pagemap.h, page_heap.h, central_freelist.h and thread_cache.h of
 * gperftools 2.10 and 2.16; tried with 2.9.1, 2.10, 2.13 and 2.16. */
#ifndef HS_TCMALLOC_PARTS_H
#define HS_TCMALLOC_PARTS_H

#include "base/table.h"
#include "heaps/allocator.h"

#define TCMALLOC_OWNER "tcmalloc"

enum {
    TCMALLOC_PAGE_SHIFT = 13,
    TCMALLOC_CLASSES = 128, /* kClassSizesMax */
    TCMALLOC_SLOTS = 64,    /* kMaxNumTransferEntries */
    TCMALLOC_LEAF_SHIFT = 18,
    TCMALLOC_SPAN_BYTES = 48,
    TCMALLOC_MOST_BLOCKS = 65535, /* in a span: it counts them in 16 bits */
    TCMALLOC_LIST_BYTES = 32,     /* of a class in a cache */
    TCMALLOC_CACHE_BYTES = TCMALLOC_CLASSES * TCMALLOC_LIST_BYTES,
};
#define TCMALLOC_PAGE ((uint64_t)1 << TCMALLOC_PAGE_SHIFT)
#define TCMALLOC_LEAF_PAGES ((uint64_t)1 << TCMALLOC_LEAF_SHIFT)
#define TCMALLOC_LEAF_BYTES (TCMALLOC_LEAF_PAGES * HS_WORD_BYTES)
#define TCMALLOC_LEAVES ((uint64_t)1 << 17)
#define TCMALLOC_LARGEST ((uint64_t)1 << 18) /* kMaxSize: larger ones have a span of their own */

struct tcmalloc_span {
    hs_addr address; /* where it is described */
    hs_addr begin, end;
    hs_addr objects;      /* its free blocks; of one of a class */
    uint32_t n_used;      /* blocks that are not among these, as it says */
    uint8_t class_number; /* 0: one block, or free */
    bool is_in_use;
};

struct tcmalloc_leaf {
    hs_addr begin;
    uint64_t number; /* which word of the root leads to it */
};

struct tcmalloc {
    const struct hs_process_copy *process; /* borrowed */
    const struct hs_object *object;        /* borrowed: who has its variables */
    hs_addr sizes;                         /* the table of sizes */
    hs_addr root;                          /* the page map */
    hs_addr central;                       /* where the first class says that it is the first */
    uint64_t central_bytes;                /* from one class to the next */
    uint32_t class_bytes[TCMALLOC_CLASSES];
    unsigned n_classes; /* one more than the last one's number */
    hs_addr *caches;    /* owned */
    size_t n_caches, caches_capacity;
    struct hs_table known_caches; /* owned: of these, by address */
    struct tcmalloc_leaf *leaves; /* owned; of ascending numbers, disjoint */
    size_t n_leaves, leaves_capacity;
    struct tcmalloc_span *spans; /* owned; ascending and disjoint */
    size_t n_spans, spans_capacity;
    uint64_t *free; /* owned: room for the bits of one span */
    size_t n_free_words;
    uint64_t n_damaged; /* spans that are left out, and leaves */
};

/* Returns how many blocks of its class a span has room for; 0 for others. */
uint64_t hs_tcmalloc_n_blocks(const struct tcmalloc *tcmalloc, const struct tcmalloc_span *span);

/* ---- locate.c */

/* Finds the tables, the page map, the central lists and all caches; root 0: it is not in use. Fails
 * with HS_LIMIT. O(words of data of the libraries, and what these lead to). */
hs_status hs_tcmalloc_locate(struct tcmalloc *tcmalloc, struct hs_error *err);

/* ---- spans.c */

/* Reads a span; false for what can be none. */
bool hs_tcmalloc_span(const struct tcmalloc *tcmalloc, hs_addr address, struct tcmalloc_span *ret);
/* All that the page map has. Fails with HS_LIMIT. */
hs_status hs_tcmalloc_spans(struct tcmalloc *tcmalloc, struct hs_error *err);
/* Finds the free blocks of a span of a class: bits of `free`, which has room for all; *ret_n: how
 * many. False where that is not as the span says: its list is damaged, or was caught in a
 * change. */
bool hs_tcmalloc_free_blocks(const struct tcmalloc *tcmalloc, const struct tcmalloc_span *span,
                             uint64_t *free, uint64_t *ret_n);

/* ---- caches.c */

struct tcmalloc_cached {
    uint64_t n_blocks;
    uint64_t n_lists, n_sound; /* as long as a cache says, or up to where a central list does */
};
/* Takes the blocks of all central lists and caches out of the map: they are in the ledger's state
 * cached then. Fails with HS_LIMIT. */
hs_status hs_tcmalloc_caches(const struct tcmalloc *tcmalloc, struct hs_heap_map *map,
                             struct hs_ledger *ledger, struct tcmalloc_cached *ret,
                             struct hs_error *err);
/* Returns how many blocks of a class are free in its spans, as the central list says. */
uint64_t hs_tcmalloc_central_free(const struct tcmalloc *tcmalloc, unsigned class_number);

#endif
