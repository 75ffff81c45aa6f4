/* Mozilla's mozjemalloc: what the files of this folder share.
 *
 *   chunk      1 MiB at a multiple of that: {arena, two words, counts, for each of 256 pages two
 *              links and a word of bits}; the first pages are the chunk's own
 *   bits       of a page: where its run begins, or how large a large block or free memory is, and
 *              flags: 1 in use, 2 a large block
 *   run        pages in a row for blocks of one size: {links, bin, first word of the mask that may
 *              have a free block, free blocks, a mask with a bit for each block: 1 is free}
 *   bin        of an arena and a size: {two words, size, blocks in a run, words of its mask, where
 *              in a run the first block begins}
 *   arena      how many bytes its blocks have, small ones and large ones, then its bins
 *   extent     of a tree by addresses, in memory of the allocator's own: {two words, left, right,
 *              address, size, arena}: a block of more than a chunk, or chunks to be used again,
 *              which have a small number in the place of the arena
 *
 * Source: mozjemalloc.cpp, Arena.h, Chunk.h and Extent.h of Firefox 102 to 150; tried with 153.
 * Limit: pages of 4 KiB, as on x86-64; what PHC watches (a few blocks, each on a page of its own)
 * stays unclaimed. */
#ifndef HS_MOZJEMALLOC_PARTS_H
#define HS_MOZJEMALLOC_PARTS_H

#include "heaps/allocator.h"

#define MOZ_OWNER "mozjemalloc"

enum {
    MOZ_PAGE = 4096,
    MOZ_PAGES = 256, /* in a chunk */
    MOZ_CHUNK = MOZ_PAGES * MOZ_PAGE,
    MOZ_SMALLEST = 8,
    MOZ_MOST_BLOCKS = MOZ_CHUNK / 16 / MOZ_SMALLEST, /* in a run */
    MOZ_EXTENT_BYTES = 56
};

/* The offsets in a run, which differ by version and by how it is built. */
struct moz_layout {
    uint8_t bin, n_free, mask;
};

struct moz_chunk {
    hs_addr begin, arena;
    uint32_t n_own_pages;
    bool is_left_out; /* its arena is none, or it is to be used again */
};

struct moz_run {
    hs_addr begin;
    uint32_t n_bytes, chunk;
    uint32_t block_bytes; /* 0: one large block */
    uint32_t first, n_blocks;
};

struct moz_arena {
    hs_addr address;
    uint64_t small_bytes, large_bytes; /* of its blocks in use that were found */
    bool is_sound;                     /* a run leads to one of its bins */
};

struct moz_extent {
    hs_addr begin, node;
    uint64_t n_bytes;
    bool is_free; /* to be used again */
};

struct moz {
    const struct hs_process_copy *process; /* borrowed */
    const struct moz_layout *layout;       /* NULL: not known yet */
    struct moz_chunk *chunks;              /* owned, like the rest; ascending */
    size_t n_chunks, chunks_capacity;
    struct moz_run *runs; /* ascending */
    size_t n_runs, runs_capacity;
    struct moz_arena *arenas; /* ascending */
    size_t n_arenas, arenas_capacity;
    struct moz_extent *extents; /* ascending */
    size_t n_extents, extents_capacity;
    uint64_t n_small, n_damaged;  /* runs of small blocks; those that are left out */
    uint64_t n_trees, n_as_large; /* of extents; those whose size a variable has */
};

/* ---- chunks.c */

/* Finds all chunks, their runs and the arenas that they are of. There are no arenas where the
 * process does not use it. Fails with HS_LIMIT. O(MiB of memory, and pages of chunks). */
hs_status hs_moz_chunks(struct moz *moz, struct hs_error *err);
/* Tells which blocks of a run of small ones are in use: MOZ_MOST_BLOCKS bits. Returns how many. */
uint64_t hs_moz_live(const struct moz *moz, const struct moz_run *run, uint64_t *live);
/* Finds an arena by its address; NULL: there is none. O(log n). */
struct moz_arena *hs_moz_arena(const struct moz *moz, hs_addr address);
/* Tells whether the arena itself says that its blocks have these bytes. */
bool hs_moz_arena_says(const struct moz *moz, const struct moz_arena *arena);

/* ---- extents.c */

/* Finds the trees of large blocks and of chunks to be used again by the variables of any binary,
 * and leaves out chunks in the latter. O(words of data of all binaries). */
hs_status hs_moz_extents(struct moz *moz, struct hs_error *err);

#endif
