/* The roots and pools that programs registered through include/heapsnap/register.h. Private to
 * heaps/registered/.
 *
 *   note in the file -> registry in the object's data -> list of records in the program's memory
 *
 * Layouts: docs/rules.md. All of it is the target's to choose. */
#ifndef HS_REGISTERED_PARTS_H
#define HS_REGISTERED_PARTS_H

#include "heaps/allocator.h"

#define HS_REGISTERED_MOST_RECORDS ((size_t)1 << 20)  /* of all registries */
#define HS_REGISTERED_MOST_BLOCKS ((uint64_t)1 << 30) /* of all pools */
#define HS_REGISTERED_NAME_BYTES 64
#define HS_REGISTERED_RECORD_BYTES 128

struct hs_registered_pool {
    hs_str name;
    hs_addr begin, end;
    hs_addr entry; /* address of the program's own record */
    uint64_t block_bytes;
    hs_addr live_bits;   /* 0: there are none */
    const uint8_t *bits; /* borrowed from the image; NULL: none that could be read */
};

struct hs_registered {
    const struct hs_process_copy *process;
    struct hs_registered_root *roots; /* owned */
    size_t n_roots, roots_capacity;
    struct hs_registered_pool *pools; /* owned */
    size_t n_pools, pools_capacity;
    size_t n_records;
    uint64_t n_blocks; /* places in all pools */
    uint64_t n_left_out;
    char first_left_out[HS_REGISTERED_NAME_BYTES];
};

/* ---- note.c */
/* The address of a registry that a note of `object` leads to: number *at of them; false when there
 * are no more. Notes are looked for in sections, and in segments where the file has no sections.
 * Notes of another type lead to another thing in the same way. */
enum { HS_REGISTERED_NOTE = 1 };
struct hs_registered_notes {
    const struct hs_object *object;
    uint32_t type;  /* of the notes looked for */
    size_t section; /* private, like the rest: the next one to look at */
    const uint8_t *bytes;
    size_t n_bytes, at;
    hs_addr vaddr;
    bool has_tried_segments;
    uint64_t n_looks; /* notes looked at */
};
bool hs_registered_next(struct hs_registered_notes *notes, hs_addr *ret_registry);

/* ---- list.c */
/* Reads the list of one registry. Records that make no sense are left out and counted. */
hs_status hs_registered_read(struct hs_registered *registered, const struct hs_object *object,
                             hs_addr registry, struct hs_error *err);

#endif
