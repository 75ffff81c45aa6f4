/* jemalloc's radix tree from page to extent, as a copy of memory shows it (private).
 *
 *   root[address >> 30] -> leaf[address >> 12 & 0x3ffff] -> edata        48 address bits
 *   root[address >> 42] -> node[.. >> 27] -> leaf[.. >> 12] -> edata     57 address bits, 15 a
 * level
 *
 * Every page run that jemalloc manages is an extent. A slab is entered under each of its pages,
 * another extent under its first and last only. Size classes depend on the quantum that jemalloc
 * was built for: 16 bytes, or 8 (--with-lg-quantum=3, as the one that redis brings). Source:
 * jemalloc 5.2.1 and 5.3.0, include/jemalloc/internal/{rtree,edata,extent_structs,sc}.h, src/sc.c;
 * 5.3.1 is laid out as 5.3.0. */
#ifndef HS_JEMALLOC_TREE_H
#define HS_JEMALLOC_TREE_H

#include "base/load.h"
#include "heaps/allocator.h"

#define JEMALLOC_PAGE UINT64_C(4096)
#define JEMALLOC_PAGE_SHIFT 12

enum {
    JEMALLOC_MIN_LG_QUANTUM = 3,
    JEMALLOC_LG_QUANTUM = 4, /* the usual one */
    JEMALLOC_MAX_REGIONS = 512,
    JEMALLOC_BITMAP_WORDS = JEMALLOC_MAX_REGIONS / 64,
    JEMALLOC_EDATA_BYTES = 128,
    JEMALLOC_MAX_TREES = 4, /* copies of jemalloc in one process */
};

enum jemalloc_kind {
    JEMALLOC_SLAB,
    JEMALLOC_LARGE,
    JEMALLOC_UNUSED,  /* dirty, muzzy, retained or in between */
    JEMALLOC_DAMAGED, /* pages entered in the tree that no sound extent explains */
};

enum jemalloc_state { JEMALLOC_ACTIVE, JEMALLOC_DIRTY, JEMALLOC_MUZZY, JEMALLOC_RETAINED };

/* One page run: 24 bytes per slab, large block or free run, none per region. */
struct jemalloc_extent {
    hs_addr begin;        /* page-aligned */
    const uint8_t *edata; /* borrowed from the image; NULL when damaged */
    uint32_t n_pages;
    uint8_t kind, state, szind;
};

struct jemalloc_leaf {
    hs_addr address;
    uint64_t first_page; /* number of the page that its first entry stands for */
};

struct jemalloc_tree {
    const struct hs_image *image; /* borrowed */
    hs_addr root;
    uint8_t bits;                 /* 48 or 57 */
    bool is_52;                   /* extent_t of 5.2, else edata_t of 5.3 */
    uint8_t lg_quantum;           /* 3 or 4: which classes there are */
    struct jemalloc_leaf *leaves; /* owned; ascending first_page, disjoint addresses */
    size_t n_leaves, leaves_capacity;
    struct jemalloc_extent *extents; /* owned; ascending, disjoint */
    size_t n_extents, extents_capacity;
    uint64_t large_pad_bytes; /* what a large extent is longer than its block: 0 or a page */
    uint64_t n_torn, n_damaged, n_huge_pages;
    uint64_t n_looks; /* words of leaves looked at to judge them */
};

/* Returns the number of size classes that slabs have: those below 16 KiB, from 8 to 14,336
 * bytes. */
static inline unsigned jemalloc_n_small(const struct jemalloc_tree *tree)
{
    return tree->lg_quantum == JEMALLOC_MIN_LG_QUANTUM ? 39 : 36;
}

/* All classes; free runs have this number. */
static inline unsigned jemalloc_n_classes(const struct jemalloc_tree *tree)
{
    return tree->lg_quantum == JEMALLOC_MIN_LG_QUANTUM ? 235 : 232;
}

/* The bytes of size class `szind`; 0 out of range. */
uint64_t hs_jemalloc_class_bytes(const struct jemalloc_tree *tree, unsigned szind);

/* Bytes of the root array. */
static inline uint64_t jemalloc_root_bytes(const struct jemalloc_tree *tree)
{
    return tree->bits == 48 ? UINT64_C(1) << 21 : UINT64_C(1) << 18;
}

static inline uint64_t jemalloc_leaf_bytes(const struct jemalloc_tree *tree)
{
    return tree->bits == 48 ? UINT64_C(1) << 21 : UINT64_C(1) << 19;
}

static inline uint64_t jemalloc_leaf_pages(const struct jemalloc_tree *tree)
{
    return tree->bits == 48 ? UINT64_C(1) << 18 : UINT64_C(1) << 15;
}

/* Returns the number of regions of a slab; 0 when its numbers do not fit. */
static inline unsigned jemalloc_n_regions(const struct jemalloc_tree *tree,
                                          const struct jemalloc_extent *extent)
{
    uint64_t unit = hs_jemalloc_class_bytes(tree, extent->szind);
    uint64_t n_bytes = extent->n_pages * JEMALLOC_PAGE;
    return unit == 0 || n_bytes % unit != 0 || n_bytes / unit > JEMALLOC_MAX_REGIONS
               ? 0
               : (unsigned)(n_bytes / unit);
}

/* Returns the number of regions that the slab's own counter calls free. */
static inline unsigned jemalloc_n_free(const struct jemalloc_tree *tree,
                                       const struct jemalloc_extent *extent)
{
    return (unsigned)(hs_load_u64(extent->edata) >> (tree->is_52 ? 26 : 28) & 1023);
}

/* The block of a large extent: where it begins and its usable bytes. */
void hs_jemalloc_large(const struct jemalloc_tree *tree, const struct jemalloc_extent *extent,
                       hs_addr *ret_begin, uint64_t *ret_n_bytes);

/* ---- root.c: finds the trees, by symbol or else by what the words look like. `trees` has
 * room for JEMALLOC_MAX_TREES and is zeroed; each found one has its leaves and layout. Looks at
 * every word of large data segments, a bounded number of words of what they point to. */
hs_status hs_jemalloc_find(const struct hs_process_copy *process, struct jemalloc_tree *trees,
                           size_t *ret_n_trees, struct hs_error *err);
/* Is `root` the root of a tree of tree->bits? Fills leaves and layout when so. Unless it is strict,
 * a few words may lead nowhere. Linear in the leaves. */
hs_status hs_jemalloc_accept(struct jemalloc_tree *tree, hs_addr root, bool is_strict,
                             bool *ret_accepted, struct hs_error *err);
void hs_jemalloc_tree_fini(struct jemalloc_tree *tree);

/* ---- walker.c: borrowed from the allocator's state; NULL state: none. */
const struct jemalloc_tree *hs_jemalloc_trees(const void *state, size_t *ret_n);

/* ---- extents.c: fills tree->extents from the leaves, and tells the quantum by what the
 * slabs and large blocks fit. Linear in the leaves' words. */
hs_status hs_jemalloc_read_extents(struct jemalloc_tree *tree, struct hs_error *err);
/* The regions of a slab in use, a bit each (its own bitmap has 1 for free); their number. `n` is
 * at most JEMALLOC_MAX_REGIONS. */
unsigned hs_jemalloc_live_regions(const struct jemalloc_extent *extent, unsigned n,
                                  uint64_t live[JEMALLOC_BITMAP_WORDS]);

/* An entry of a leaf, taken apart. */
struct jemalloc_entry {
    hs_addr edata;
    uint64_t szind;
    bool is_slab;
};
struct jemalloc_entry hs_jemalloc_entry(const struct jemalloc_tree *tree, const uint8_t *leaf,
                                        uint64_t number);

/* ---- caches.c: what thread caches hold. Clears the live bits of cached blocks and of the
 * caches' own pointer stacks, and books both in the ledger. Map sealed, live bits set. */
struct jemalloc_cached {
    uint64_t n_caches;
    uint64_t n_blocks, n_bytes;                   /* freed blocks kept ready */
    uint64_t n_internal_blocks, n_internal_bytes; /* stacks */
    uint64_t n_looks;                             /* private: see CACHES_MAX_LOOKS */
    uint64_t n_torn;
};
hs_status hs_jemalloc_caches(const struct hs_process_copy *process,
                             const struct jemalloc_tree *tree, struct hs_heap_map *map,
                             struct hs_ledger *ledger, struct jemalloc_cached *ret,
                             struct hs_error *err);

/* ---- sampled.c: what its profiler has chosen (prof:true) */
struct hs_sampled_set;
hs_status hs_jemalloc_sampled(const void *state, const struct hs_heap_map *map,
                              const struct hs_process_copy *process, struct hs_sampled_set *set,
                              struct hs_error *err);

#endif
