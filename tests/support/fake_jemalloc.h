/* A process whose malloc is jemalloc, made by a test: data with the root of the radix tree, a block
 * of base memory with leaf and extents, a heap, threads with thread caches.
 *
 *   data   FAKE_JE_DATA_AT   | ... | root at FAKE_JE_ROOT_AT | ... |
 *   base   FAKE_JE_BASE_AT   | header | node | leaf | ... | edata ... |     2 MiB-aligned
 *   heap   FAKE_JE_HEAP_AT   pages; extents are appended with a pen, then fake_jemalloc_run
 *   TLS    FAKE_JE_TLS_AT    thread i has its fs_base at FAKE_JE_TLS_AT + 0x8000 * (i + 1), of a
 *                            small one 0x2000 * (i + 1) */
#ifndef HS_TESTS_FAKE_JEMALLOC_H
#define HS_TESTS_FAKE_JEMALLOC_H

#include "heaps/jemalloc/tree.h"

#define FAKE_JE_DATA_AT ((hs_addr)0x550000000000)
#define FAKE_JE_ROOT_AT (FAKE_JE_DATA_AT + 0x1040)
#define FAKE_JE_BASE_AT ((hs_addr)0x7f0000200000)
#define FAKE_JE_NODE_AT (FAKE_JE_BASE_AT + 0x1000)
#define FAKE_JE_LEAF_AT (FAKE_JE_BASE_AT + 0x80000)
#define FAKE_JE_EDATA_AT (FAKE_JE_BASE_AT + 0x300000) /* unless it is a small one */
#define FAKE_JE_HEAP_AT ((hs_addr)0x7f1000100000)
#define FAKE_JE_TLS_AT ((hs_addr)0x7f6000000000)
#define FAKE_JE_CACHE_OFFSET ((uint64_t)0x1800) /* bins below fs_base */

enum {
    FAKE_JE_DATA_BYTES = (1 << 21) + 0x10000,
    FAKE_JE_BASE_BYTES = 1 << 22,
    FAKE_JE_HEAP_PAGES = 256,
    FAKE_JE_THREADS = 3,
    /* A small one, of 57 address bits: its root takes an eighth, its edata lie behind its leaf. */
    FAKE_JE_SMALL_ROOT_BYTES = 1 << 18,
    FAKE_JE_SMALL_DATA_BYTES = FAKE_JE_SMALL_ROOT_BYTES + 0x20000,
    FAKE_JE_SMALL_BASE_BYTES = 0x120000,
};

struct fake_jemalloc {
    uint8_t *data, *base, *heap, *tls; /* owned */
    size_t data_bytes, base_bytes;
    unsigned heap_pages, tls_stride;
    uint64_t edata_offset; /* in the base */
    unsigned bits;
    bool is_52;
    uint8_t lg_quantum; /* 4 unless the test sets it to 3 before it adds anything */
    unsigned n_extents;
    uint64_t pen; /* next free page of the heap */
    struct hs_target target;
    struct hs_mapping mappings[4];
    struct hs_thread threads[FAKE_JE_THREADS];
    char path_text[64];
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_findings findings;
    struct hs_process_copy process;
};

void fake_jemalloc_init(struct fake_jemalloc *fake, unsigned bits, bool is_52);
/* With that many pages of heap. */
void fake_jemalloc_init_small(struct fake_jemalloc *fake, bool is_52, unsigned heap_pages);
void fake_jemalloc_fini(struct fake_jemalloc *fake);

/* The next n_pages of the heap as an extent in the tree; its number. `szind` 232 for a free one. */
unsigned fake_jemalloc_extent(struct fake_jemalloc *fake, unsigned n_pages, unsigned szind,
                              bool is_slab, unsigned state);
/* A slab; bit k of live[] says that region k is in use. */
unsigned fake_jemalloc_slab(struct fake_jemalloc *fake, unsigned n_pages, unsigned szind,
                            const uint64_t *live);
hs_addr fake_jemalloc_edata_at(const struct fake_jemalloc *fake, unsigned extent);
uint8_t *fake_jemalloc_edata(struct fake_jemalloc *fake, unsigned extent);
hs_addr fake_jemalloc_begin(struct fake_jemalloc *fake, unsigned extent);
/* The leaf's entry of page number `page` of the heap. */
uint8_t *fake_jemalloc_entry(struct fake_jemalloc *fake, uint64_t page);
void fake_jemalloc_enter(struct fake_jemalloc *fake, uint64_t page, hs_addr edata, unsigned szind,
                         bool is_slab);
void fake_put(uint8_t *bytes, uint64_t at, uint64_t word);

/* Gives thread number i a cache whose bin `szind` holds `blocks`; bins' stacks lie in the block at
 * `stack`. Called once per thread; the caches of all threads form a ring. */
void fake_jemalloc_cache(struct fake_jemalloc *fake, unsigned thread, hs_addr stack, unsigned szind,
                         const hs_addr *blocks, unsigned n);
uint8_t *fake_jemalloc_tls(struct fake_jemalloc *fake, hs_addr address);

#endif
