/* The conservative collector of Boehm, Demers and Weiser (libgc): what the files of this folder
 * share.
 *
 *   top index      2,048 words in the collector's data, by bits 22 to 32 of an address: a chain of
 *                  bottom indices, which ends at one of zeros that all empty words lead to
 *   bottom index   for each of 1,024 pages of 4 KiB the header of the block that begins there, or
 *                  how many pages before it does; then two links, bits 22 and up of its addresses,
 *                  and the next of its chain
 *   header         {next, previous, block, kind, flags, collection, size of objects, descriptor,
 *                  map, marks, a byte or bit for each 16 bytes}: objects of one size up to 2 KiB,
 *                  or one that is larger, or free memory
 *   lists          of free objects by their size, through their first words: in tables of the
 *                  collector's data, and in what it knows of each thread
 *
 * An object lives if it is on no list; in a block that was not swept since the last collection, if
 * it is marked.
 *
 * Source: gc_priv.h, gc_hdrs.h, reclaim.c, allchblk.c and thread_local_alloc.h of 8.2.2, with which
 * it was tried; headers of 8.0 and 8.2.8 are the same. Limit: of a build with other headers
 * (MARK_BIT_PER_OBJ) the heap is "not read", as no mark stands behind the last object. */
#ifndef HS_BOEHM_PARTS_H
#define HS_BOEHM_PARTS_H

#include "heaps/allocator.h"

#define BOEHM_OWNER "boehm"
#define BOEHM_NAME "Boehm's collector" /* as rules call it where it is not read */

enum {
    BOEHM_PAGE_BYTES = 4096,
    BOEHM_PAGE_SHIFT = 12,
    BOEHM_TOP_WORDS = 2048,
    BOEHM_BOTTOM_WORDS = 1024,
    BOEHM_BOTTOM_SHIFT = 22, /* of the addresses that one bottom index is for */
    BOEHM_BOTTOM_KEY = BOEHM_BOTTOM_WORDS * 8 + 16,
    BOEHM_BOTTOM_BYTES = BOEHM_BOTTOM_WORDS * 8 + 32,
    BOEHM_GRANULE_BYTES = 16,
    BOEHM_GRANULES = BOEHM_PAGE_BYTES / BOEHM_GRANULE_BYTES,
    BOEHM_SMALL_BYTES = BOEHM_PAGE_BYTES / 2, /* the largest of which several share a page */
    BOEHM_MARKS_AT = 64,                      /* in a header */
    BOEHM_HEADER_BYTES = BOEHM_MARKS_AT + BOEHM_GRANULES / 8 + 8, /* with bits, the least */
    BOEHM_MARKS_LEAST = 1 << 16, /* bytes of the stack of marks, of which there are 2^n */
    BOEHM_TINY = 25              /* lists of a thread: of 0, 16, 32, ... bytes */
};

struct boehm_block {
    hs_addr begin;
    uint64_t n_bytes;      /* whole pages */
    uint64_t object_bytes; /* 0: it is free memory */
    hs_addr header;
    uint16_t swept; /* the collection, the lowest 16 bits of its number */
    bool is_atomic; /* its objects have no pointers */
};

struct boehm {
    const struct hs_process_copy *process; /* borrowed */
    const struct hs_object *object;        /* borrowed: who has its variables */
    hs_addr top, nils;                     /* the top index; the bottom index of zeros */
    hs_addr *bottoms;                      /* owned */
    size_t n_bottoms, bottoms_capacity;
    struct boehm_block *blocks; /* owned; ascending and disjoint */
    size_t n_blocks, blocks_capacity;
    uint64_t most_blocks; /* that the copy has room for: damaged indices may share headers */
    hs_addr *stacks;      /* owned: the stack pointers of all threads, ascending */
    size_t n_stacks;
    uint64_t n_damaged; /* headers that are left out */
    bool has_bytes;     /* marks are bytes, not bits */
    bool knows_swept;   /* which blocks were swept since the last collection */
    uint16_t collection;
};

/* ---- locate.c */

/* Finds the top index and the binary that has it; `object` stays NULL where none does. O(words of
 * data of all binaries). */
void hs_boehm_locate(struct boehm *boehm);

/* ---- blocks.c */

/* Reads all headers, and finds out what marks are. Fails with HS_LIMIT. */
hs_status hs_boehm_blocks(struct boehm *boehm, struct hs_error *err);
/* Returns how many objects a block in use has. */
uint64_t hs_boehm_n_objects(const struct boehm_block *block);
bool hs_boehm_is_marked(const struct boehm *boehm, const struct boehm_block *block,
                        uint64_t object);
/* Finds the block that holds an address, NULL: none. O(log n). */
const struct boehm_block *hs_boehm_block_at(const struct boehm *boehm, hs_addr address);

/* ---- lists.c */

struct boehm_lists {
    uint64_t n_free; /* objects */
    uint64_t n_lists, n_sound;
    uint64_t n_threads; /* objects that were taken for what the collector knows of a thread */
};
/* Takes the objects of all lists out of the map: they are free then. O(words of the collector's
 * data, and objects on lists). */
hs_status hs_boehm_lists(const struct boehm *boehm, struct hs_heap_map *map,
                         struct hs_ledger *ledger, struct boehm_lists *ret, struct hs_error *err);

#endif
