/* A made-up process with gperftools' tcmalloc: the variables of its library as common.h, pagemap.h,
 * central_freelist.h and thread_cache.h lay them out, and what these lead to.
 *
 *   data     FAKE_TC_DATA   leads to a cache; table of sizes, central lists, ..., root, end
 *   leaves   FAKE_TC_LEAF   two: the heap lies on both sides of where the second one begins
 *   own      FAKE_TC_OWN    spans, two caches of threads
 *   heap     FAKE_TC_HEAP   24 pages of 8 KiB
 *
 * Of the root and of the leaves only the pages are there that have words: a reader passes over
 * others. Bytes are made once and lie in the fake; what a test damages it may mend by itself. The
 * fake keeps account of what it made. */
#ifndef HS_TESTS_FAKE_TCMALLOC_H
#define HS_TESTS_FAKE_TCMALLOC_H

#include "heaps/allocator.h"

#define FAKE_TC_DATA UINT64_C(0x550000000000)
#define FAKE_TC_VARIABLE (FAKE_TC_DATA + 0x100) /* the first cache */
#define FAKE_TC_SPARE (FAKE_TC_DATA + 0x108)    /* a variable that leads nowhere */
#define FAKE_TC_SIZES (FAKE_TC_DATA + 0x204)
#define FAKE_TC_NUMBER (FAKE_TC_SIZES + 516 + 1024) /* of sizes */
#define FAKE_TC_CENTRAL (FAKE_TC_DATA + 0x1040)
#define FAKE_TC_ROOT (FAKE_TC_DATA + 0x10000)
#define FAKE_TC_DATA_END (FAKE_TC_ROOT + 0x101000)
#define FAKE_TC_LEAF UINT64_C(0x7f3000000000) /* the first one */
#define FAKE_TC_OWN UINT64_C(0x7f3100000000)
#define FAKE_TC_CACHE (FAKE_TC_OWN + 0x1000)          /* the first one */
#define FAKE_TC_MORE UINT64_C(0x7f4000000000)         /* where a test may have more */
#define FAKE_TC_BOUNDARY UINT64_C(0x7f0080000000)     /* between leaves */
#define FAKE_TC_ROOT_PART (FAKE_TC_ROOT + 0x7e000)    /* that is there: two pages */
#define FAKE_TC_ROOT_WORD (FAKE_TC_ROOT + 0xfe00 * 8) /* that leads to the first leaf */
#define FAKE_TC_HEAP (FAKE_TC_BOUNDARY - 12 * FAKE_TC_PAGE)
#define FAKE_TC_HEAP_END (FAKE_TC_HEAP + FAKE_TC_PAGES * FAKE_TC_PAGE)

enum {
    FAKE_TC_PAGE = 8192,
    FAKE_TC_PAGES = 24,
    FAKE_TC_CLASSES = 12, /* 0, 8, 16, 32, 48, 64, 80, 128, 1024, 8192, 32768, 262144 */
    FAKE_TC_CENTRAL_BYTES = 1216,
    FAKE_TC_CENTRAL_FREE = 112,
    FAKE_TC_CENTRAL_SLOTS = 120,
    FAKE_TC_CENTRAL_USED = FAKE_TC_CENTRAL_SLOTS + 16 * 64,
    FAKE_TC_LEAF_BYTES = 1 << 21,
    FAKE_TC_SPAN_BYTES = 48,
    FAKE_TC_CACHE_BYTES = 4096,
    FAKE_TC_CACHE_STRIDE = 0x1400, /* from one to the next */
    FAKE_TC_CACHE_NEXT = FAKE_TC_CACHE_BYTES + 24,
    FAKE_TC_LIST_BYTES = 32,
    FAKE_TC_AREAS = 7,
    FAKE_TC_MAPPINGS = 5,
    FAKE_TC_MOST = 16,
};

/* Words of a span. */
enum {
    FAKE_TC_SPAN_FIRST = 0,
    FAKE_TC_SPAN_N_PAGES = 8,
    FAKE_TC_SPAN_OBJECTS = 32,
    FAKE_TC_SPAN_BITS = 40, /* 16: blocks in use; 8: class; 2: 0 in use, 1 free, 2 given back */
};

/* The spans it makes, by number. */
enum {
    FAKE_TC_SMALL,    /* of blocks of 48 bytes: 3 free, 5 cached */
    FAKE_TC_MIDDLE,   /* of blocks of 1024 bytes, on two pages: 1 free, 2 cached */
    FAKE_TC_LARGE,    /* a block of three pages */
    FAKE_TC_UNUSED,   /* two free pages */
    FAKE_TC_RETURNED, /* a free page, given back to the system */
    FAKE_TC_CROSSING, /* a block of six pages in both leaves */
    FAKE_TC_FULL,     /* of blocks of 48 bytes, none free, 1 cached */
    FAKE_TC_SPANS,
};

struct fake_tcmalloc_span {
    hs_addr address, begin, end;
    uint32_t block_bytes; /* 0: one block, or free */
    bool is_in_use;
};

struct fake_tcmalloc {
    struct fake_tcmalloc_span spans[FAKE_TC_SPANS];
    hs_addr free[FAKE_TC_MOST], cached[FAKE_TC_MOST]; /* blocks */
    size_t n_free, n_cached;
    bool is_late;              /* one word more before the number of sizes, as from 2.11 on */
    struct hs_heap_span other; /* of another allocator, which was there first; end 0: none */
    const uint8_t *more;       /* borrowed, at FAKE_TC_MORE; NULL: nothing is there */
    size_t n_more_bytes;
    struct hs_target target;
    struct hs_mapping mappings[FAKE_TC_MAPPINGS];
    struct hs_object object;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_findings findings;
    struct hs_process_copy process;
};

extern const uint32_t fake_tcmalloc_sizes[FAKE_TC_CLASSES];

/* Makes all of it. One fake is made at a time. */
void fake_tcmalloc_make(struct fake_tcmalloc *f, bool is_late);
/* A word of the process, which is there. */
uint64_t *fake_tcmalloc_word(hs_addr at);
/* The word of a leaf for a page of the heap. */
hs_addr fake_tcmalloc_entry(unsigned page);
/* The word of the central lists or of a cache, for a class, that is so far behind its begin. */
hs_addr fake_tcmalloc_central(unsigned class_number, unsigned offset);
hs_addr fake_tcmalloc_cache(unsigned cache, unsigned class_number, unsigned offset);

/* Reads it by this allocator alone. After the last read: close. */
hs_status fake_tcmalloc_read(struct fake_tcmalloc *f, struct hs_heaps *heaps, struct hs_error *err);
void fake_tcmalloc_close(struct fake_tcmalloc *f);

#endif
