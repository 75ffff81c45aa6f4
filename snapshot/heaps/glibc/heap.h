/* The heaps of glibc's malloc, read from outside: what the files glibc_*.c share.
 *
 *   instance   one copy of malloc: a libc, a static program; it has one main arena and one `mp_`
 *   arena      a lock and its free lists; the main arena lies in the data of its module
 *   segment    a run of chunks that nothing interrupts: part of brk, one heap_info, one mapping
 *   chunk      | previous size | size, 3 flags | user data ... |   at 16-aligned p, user data at p
 * + 16; its last word is the first one of the next chunk; it is in use when the next says so
 *
 * Sources: malloc/malloc.c and malloc/arena.c of glibc 2.26 to 2.43. */
#ifndef HS_GLIBC_HEAP_H
#define HS_GLIBC_HEAP_H

#include <string.h>

#include "heaps/allocator.h"

enum {
    GLIBC_PREV_INUSE = 1,
    GLIBC_IS_MMAPPED = 2,
    GLIBC_NON_MAIN = 4,
    GLIBC_FLAGS = 7,
    GLIBC_MIN_CHUNK = 32,
    GLIBC_FENCE = 16,        /* size of a chunk that only ends a segment */
    GLIBC_NONCONTIGUOUS = 2, /* in malloc_state.flags: brk was refused once */
    GLIBC_N_BINS = 127,
    GLIBC_N_FASTBINS = 10,
    GLIBC_BINS_BYTES = GLIBC_N_BINS * 16,
};

#define GLIBC_PAGE ((uint64_t)4096)
#define GLIBC_OWNER "glibc"

/* Offsets in malloc_state. What lies behind the bins stands at the same distance from them. */
struct glibc_layout {
    uint16_t fastbins; /* 0: there are none */
    uint16_t top;
    uint16_t bins;
    bool has_inner_mmap_size; /* a mapped chunk's size leaves out the 16 bytes of its header */
};
enum { GLIBC_N_LAYOUTS = 3 };
extern const struct glibc_layout hs_glibc_layouts[GLIBC_N_LAYOUTS];

/* Behind the bins: binmap, then these. */
enum {
    GLIBC_NEXT = GLIBC_BINS_BYTES + 16,
    GLIBC_SYSTEM_MEM = GLIBC_NEXT + 24,
    GLIBC_STATE_TAIL = GLIBC_NEXT + 40, /* size of malloc_state from its bins on */
};

/* The settings in `mp_`. */
struct glibc_params {
    bool is_found;
    hs_addr address;
    uint64_t sbrk_base, n_mmaps, mmapped_bytes, tcache_count;
};

struct glibc_instance {
    hs_addr main_arena;
    const struct glibc_layout *layout;
    unsigned bins_held; /* of GLIBC_N_BINS */
    struct glibc_params params;
    size_t first_arena, n_arenas; /* in state.arenas; the main arena first */
    uint64_t heap_bytes;          /* a heap_info starts at multiples of this; 0: no other arena */
    bool has_safe_links;          /* fastbin and tcache links are masked by their own address */
    bool knows_links;
};

struct glibc_arena {
    hs_addr address, top;
    uint32_t instance;
    uint32_t flags;
    uint64_t system_mem, segment_bytes, hole_bytes;
    bool top_is_found;
};

/* The ways in which a walk of chunks ends. */
enum glibc_end { GLIBC_END_LOST, GLIBC_END_TOP, GLIBC_END_FENCE };

struct glibc_segment {
    hs_addr begin, end; /* all of it, heap_info and fencepost included */
    hs_addr first;      /* chunk */
    hs_addr stop; /* chunk that ended the walk: top or fencepost; else where the walk was lost */
    hs_addr bits_base; /* address of bit 0 of its bits: a bit every 16 bytes, at a chunk's start */
    hs_addr bits_end;  /* no chunk from here on has a bit */
    size_t bits_at;    /* word in state.used and state.freed where they begin */
    uint32_t arena;
    enum glibc_end how;
    uint64_t n_used, used_bytes, n_free, free_bytes, n_footers;
};

/* A part of a segment. */
struct glibc_gap {
    hs_addr begin, end;
};

struct glibc_mmapped {
    hs_addr begin, end; /* of the mapping that malloc made */
    hs_addr user;
    uint64_t usable_bytes;
    uint32_t instance;
};

struct glibc_state {
    const struct hs_process_copy *process;
    struct glibc_instance *instances; /* owned */
    size_t n_instances, instances_capacity;
    struct glibc_arena *arenas; /* owned */
    size_t n_arenas, arenas_capacity;
    struct glibc_segment *segments; /* owned; ascending when all are found */
    size_t n_segments, segments_capacity;
    size_t n_sorted;        /* how many of the segments hs_glibc_segment_at knows */
    uint64_t *used, *freed; /* owned: bits of all segments, by chunk: in use, free */
    size_t n_words, words_max, used_capacity, freed_capacity;
    struct glibc_mmapped *mmapped; /* owned; ascending */
    size_t n_mmapped, mmapped_capacity;
    struct glibc_gap *gaps; /* owned: what holds no chain of chunks; by segment */
    size_t n_gaps, gaps_capacity;
    struct glibc_gap *large; /* owned: free chunks of a page or more, without their headers */
    size_t n_large, large_capacity;
    uint64_t mmapped_bytes;
    bool mmapped_is_sure;
    uint64_t n_cached, n_cached_told; /* blocks in thread caches: known ones, as counted there */
    uint64_t n_fast, n_fast_known;
    uint64_t n_binned, n_binned_known;
    uint64_t n_tcaches;
    uint64_t n_looks;      /* places looked at for thread caches */
    uint64_t banner_bytes; /* looked through for the version */
    char version[16];
};

/* ---- reading: one range of the image at hand, so that a walk asks the image once per range */
struct glibc_view {
    const struct hs_image *image;
    hs_addr begin, end;
    const uint8_t *bytes;
};

bool hs_glibc_view_move(struct glibc_view *view, hs_addr address);

/* `address` is a multiple of 8, so that no word lies across the end of a range. */
static inline bool hs_glibc_word(struct glibc_view *view, hs_addr address, uint64_t *ret)
{
    if (address - view->begin >= view->end - view->begin && !hs_glibc_view_move(view, address))
        return false;
    if (view->end - address < sizeof *ret)
        return false;
    memcpy(ret, view->bytes + (address - view->begin), sizeof *ret);
    return true;
}

/* ---- locate.c: instances and their rings of arenas. */
hs_status hs_glibc_find_instances(struct glibc_state *g, struct hs_error *err);
unsigned hs_glibc_bins_held(struct glibc_view *view, hs_addr bins);

/* ---- params.c: `mp_`, and the version in the banner. */
void hs_glibc_find_params(struct glibc_state *g, struct glibc_instance *instance);
void hs_glibc_find_version(struct glibc_state *g, const struct glibc_instance *instance);

/* ---- segments.c: where chunks are. Walks them on the way. */
/* Finds and walks the heaps of all arenas but the main ones. */
hs_status hs_glibc_find_heaps(struct glibc_state *g, struct hs_error *err);
/* The segment that holds `address`, or NULL. Ascending segments only. O(log n). */
struct glibc_segment *hs_glibc_segment_at(const struct glibc_state *g, hs_addr address);
hs_status hs_glibc_segment_push(struct glibc_state *g, const struct glibc_segment *segment,
                                struct hs_error *err);
/* Sorts, and drops what overlaps an earlier one. */
void hs_glibc_segments_sort(struct glibc_state *g);
/* Room for a bit every 16 bytes of [begin, end); *ret is the number of the first word. */
hs_status hs_glibc_bits_add(struct glibc_state *g, hs_addr begin, hs_addr end, size_t *ret,
                            struct hs_error *err);

/* ---- brk.c: the segments of a main arena, pushed and walked. */
hs_status hs_glibc_find_main(struct glibc_state *g, uint32_t arena, struct hs_error *err);

/* ---- walk.c: chains of chunks. */
struct glibc_chain {
    struct glibc_view view;
    hs_addr limit; /* no chunk reaches beyond */
    hs_addr top;   /* of the arena; anywhere */
    bool is_main;
};
/* Walks from segment->first, sets its bits, sums and stop. Damage becomes a gap. */
hs_status hs_glibc_walk(struct glibc_state *g, struct glibc_segment *segment,
                        struct glibc_chain *chain, struct hs_error *err);
/* Is the chunk at `p` the fencepost that ends a segment? */
bool hs_glibc_is_fence(struct glibc_chain *chain, hs_addr p);
/* Returns the bytes of that fencepost; 0 when it is none. */
uint64_t hs_glibc_fence_bytes(struct glibc_chain *chain, hs_addr p);
/* The size of the chunk at `p` when its header can be one, else 0. */
uint64_t hs_glibc_chunk_bytes(struct glibc_chain *chain, hs_addr p);
/* The first chunk at or after `p` from which a chain runs; limit when there is none. Linear. */
hs_addr hs_glibc_resync(struct glibc_chain *chain, hs_addr p);

/* ---- mmapped.c: chunks with a mapping of their own. */
hs_status hs_glibc_find_mmapped(struct glibc_state *g, struct hs_error *err);
/* Returns how many such chunks there are, and how many bytes they take, by malloc's own counters;
 * *ret_is_told is false when not all of these were found. */
uint64_t hs_glibc_mmapped_told(const struct glibc_state *g, uint64_t *ret_bytes, bool *ret_is_told);
/* Is this a mapping in which malloc may have put chunks or heaps: private, writable, anonymous? */
bool hs_glibc_may_map(const struct glibc_state *g, const struct hs_mapping *mapping,
                      hs_addr *ret_begin);

/* Moves *page, a page's begin, up to the next page that was touched; false when none is below
 * `end`. Whatever begins with a header of malloc's was. */
bool hs_glibc_next_page(const struct glibc_state *g, hs_addr *page, hs_addr end);

/* ---- cache.c, tcache.c: blocks that are in use by their headers, but free. */
/* Is a block at user address `user` in use as far as is known? */
bool hs_glibc_is_used(const struct glibc_state *g, hs_addr user, struct glibc_segment **ret,
                      uint64_t *ret_bit);
uint64_t hs_glibc_user_bytes(const struct glibc_state *g, hs_addr user);
/* Clears the bit of a used block and books its bytes as `to`. False when it was not in use. */
hs_status hs_glibc_clear_used(struct glibc_state *g, hs_addr user, enum hs_memory_state to,
                              struct hs_ledger *ledger, bool *ret_was_used, struct hs_error *err);
/* The address that the link stored at `at` holds; learns on the way whether links are masked. */
hs_addr hs_glibc_link(const struct glibc_state *g, struct glibc_instance *instance, hs_addr at,
                      unsigned user_offset);
hs_status hs_glibc_clear_fastbins(struct glibc_state *g, struct hs_ledger *ledger,
                                  struct hs_error *err);
hs_status hs_glibc_clear_tcaches(struct glibc_state *g, struct hs_ledger *ledger,
                                 struct hs_error *err);
/* Follows the bins of all arenas: are the members what the walk found free? */
void hs_glibc_check_bins(struct glibc_state *g);

#endif
