/* GLib's slices, as 2.74 has them (2.76 and later take each from malloc): what the files of this
 * folder share.
 *
 *   allocator   one per libglib, in its data; a ring of slabs and a depot of magazines per class
 *   class       sizes in steps of 16 up to 1008 bytes
 *   slab        256 to 8192 bytes of malloc's, at a multiple of their number:
 *
 *     | colour | chunk | chunk | ... | chunk | rest | free list, n in use, next, previous | 16 |
 *
 *   colour      0, 16, ... less than the rest would be: so that equal fields of objects do not fall
 *               into equal cache lines. Nothing says which it is but where chunks are
 *   magazine    a list of free chunks, of a thread or in the depot: in use for their slab
 *
 * Source: glib/gslice.c of GLib 2.74. */
#ifndef HS_GSLICE_SLABS_H
#define HS_GSLICE_SLABS_H

#include "heaps/allocator.h"

#define GSLICE_OWNER "gslice"

enum {
    GSLICE_STEP = 16,
    GSLICE_N_CLASSES = 63, /* MAX_SLAB_INDEX: (8192 - 48) / 8 / 16 */
    GSLICE_INFO_BYTES = 48,
    GSLICE_TAIL_BYTES = 16,  /* NATIVE_MALLOC_PADDING: not asked for */
    GSLICE_LEAST_SLAB = 256, /* that of the smallest class */
    GSLICE_MOST_ALLOCATORS = 16,
};
#define GSLICE_LARGEST_SLAB ((uint64_t)8192)

/* The ways in which it is known where the chunks of a slab begin. */
enum gslice_colour_by { GSLICE_BY_NOTHING, GSLICE_BY_CHUNKS, GSLICE_BY_POINTERS };

struct gslice_slab {
    hs_addr begin;
    hs_addr first_free;   /* its own list */
    uint32_t n_in_use;    /* as it says */
    uint32_t free;        /* a bit per chunk: in its own list */
    uint32_t cached;      /* in a magazine */
    uint32_t votes_at;    /* in gslice.votes: n_colours of them, of a slab without a free chunk */
    uint16_t colour;      /* bytes before the first chunk */
    uint8_t class_number; /* chunks have GSLICE_STEP * (class_number + 1) bytes */
    uint8_t colour_by;
    bool is_sound; /* its list is as long as it says */
};

/* The form of all slabs of a class. */
struct gslice_form {
    uint32_t chunk_bytes, slab_bytes, n_chunks;
    uint32_t n_colours; /* at least 1 */
};
struct gslice_form hs_gslice_form(unsigned class_number);

struct gslice {
    const struct hs_process_copy *process; /* borrowed */
    hs_addr allocators[GSLICE_MOST_ALLOCATORS];
    size_t n_allocators;
    struct gslice_slab *slabs; /* owned; ascending and disjoint when all are found */
    size_t n_slabs, capacity;
    uint64_t most_slabs; /* that the copy has room for: rings of damaged memory may share slabs */
    uint64_t n_broken;   /* rings that do not close, slabs that lie in others */
    hs_addr *threads;    /* owned: the magazines of a thread each */
    size_t n_threads, threads_capacity;
    uint32_t *votes; /* owned: a bit per chunk that a pointer leads to if that were the colour */
    size_t n_votes, votes_capacity;
    char version[16];
};

/* ---- locate.c */

/* Finds the allocators and their slabs. Fails with HS_LIMIT. */
hs_status hs_gslice_locate(struct gslice *gslice, struct hs_error *err);
/* The slab that holds `address`, or NULL. O(log n). */
struct gslice_slab *hs_gslice_slab_at(const struct gslice *gslice, hs_addr address);

/* ---- free_lists.c */

/* Reads the list of free chunks of each slab, and by them its colour. */
void hs_gslice_read_slabs(struct gslice *gslice);
/* Takes the chunks of all magazines, of threads and depots. */
void hs_gslice_read_magazines(struct gslice *gslice);

/* ---- pointers.c */

/* One pass over the copy: finds the magazines of threads, and what pointers say of the colours of
 * slabs that have no free chunk. Fails with HS_LIMIT. */
hs_status hs_gslice_read_pointers(struct gslice *gslice, struct hs_error *err);
/* Those that no chunk of a magazine has told since. */
void hs_gslice_settle_colours(struct gslice *gslice);

#endif
