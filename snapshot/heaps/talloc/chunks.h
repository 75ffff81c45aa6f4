/* The chunks of talloc, the allocator of Samba, SSSD and FreeRADIUS (private). Each is one block of
 * malloc's, has a name, which is mostly its type, and hangs below another one, which frees it when
 * it is freed itself, whoever else leads to it.
 *
 *   struct talloc_chunk   unsigned flags; next, prev; parent, child; refs; destructor;
 *                         const char *name; size_t size; limit; pool          96 bytes
 *                         then what was asked for
 *
 *   parent's child > first child > next > next ...     only the first one leads to its parent
 *
 * A *pool* is a chunk behind 32 bytes of its own, in which others lie; all of it is one block here.
 * A *reference* is a chunk named 1 that keeps another one as well as its parent does:
 * { next, prev; void *ptr; location }.
 *
 * The upper bits of `flags` are the same number in all chunks of a process, made by chance; of what
 * was freed they are another one, which tells the release.
 *
 * Source: lib/talloc/talloc.c of talloc 2.4, whose headers begin with their flags. */
#ifndef HS_TALLOC_CHUNKS_H
#define HS_TALLOC_CHUNKS_H

#include "base/bitmap.h"
#include "base/load.h"
#include "base/table.h"
#include "heaps/allocator.h"

#define TALLOC_NONE UINT32_MAX
#define TALLOC_FREED 0xe814ec70U /* and the release, a byte each: 2, 4, 1, 0 */

enum {
    TALLOC_FLAG_FREE = 1,
    TALLOC_FLAG_POOL = 4,
    TALLOC_FLAG_POOLMEM = 8, /* lies in a pool */
    TALLOC_FLAGS = 15,
    TALLOC_AT_NEXT = 8,
    TALLOC_AT_PREV = 16,
    TALLOC_AT_PARENT = 24,
    TALLOC_AT_CHILD = 32,
    TALLOC_AT_NAME = 56,
    TALLOC_AT_SIZE = 64,
    TALLOC_AT_LIMIT = 72,
    TALLOC_AT_POOL = 80,
    TALLOC_HEADER_BYTES = 96,
    TALLOC_ALIGN = 16,

    TALLOC_POOL_BYTES = 32,   /* struct talloc_pool_hdr { void *end; unsigned; size_t poolsize; } */
    TALLOC_AT_POOL_COUNT = 8, /* what lies in it, and itself until it is freed */
    TALLOC_AT_POOL_SIZE = 16,

    TALLOC_REFERENCE = 1, /* the name of a reference */
    TALLOC_AT_REFERRED = TALLOC_HEADER_BYTES + 16,
};

static inline uint32_t hs_talloc_magic(uint32_t flags)
{
    return flags & ~(uint32_t)TALLOC_FLAGS;
}

/* Tells by the flags of a header whether it was a chunk that is free now. */
static inline bool hs_talloc_is_free(uint32_t flags)
{
    const uint32_t release_2 = TALLOC_FREED + (2U << 24);

    return (flags & TALLOC_FLAG_FREE) != 0 && hs_talloc_magic(flags) - release_2 < 1U << 24;
}

/* A block that is a chunk, or a pool with what lies in it. */
struct talloc_chunk {
    hs_addr begin;                      /* of the block */
    uint32_t parent, first_child, next; /* TALLOC_NONE: none */
    hs_str name;                        /* 0: not yet */
};

struct talloc {
    const struct hs_process_copy *process; /* borrowed */
    const struct hs_heap_map *map;         /* borrowed; NULL: not yet */
    uint32_t magic;
    struct hs_bitmap is_chunk;   /* by rank of a block; its rank there is the chunk's number */
    struct talloc_chunk *chunks; /* owned */
    uint32_t n_chunks;
    struct hs_dict names; /* by address of the text */
    hs_str unnamed, pool, text, reference, null_context;
    uint64_t reserved_bytes; /* of the dump's plan */
    uint64_t n_damaged;      /* lists that end where they should not */
};

/* Returns the address of the chunk header in a block: behind a pool's own, or at its beginning. 0:
 * it has none with the magic number of this process, and with room for what it says it has; *ret is
 * then untouched. */
hs_addr hs_talloc_header(const struct talloc *talloc, const struct hs_heap_block *block,
                         const uint8_t **ret);
/* TALLOC_NONE: it is none. O(1). */
uint32_t hs_talloc_number(const struct talloc *talloc, const struct hs_heap_block *block);

/* ---- find.c: which blocks are chunks, and what they are called; none, or no room for what there
 * is to know of them, which is noted: chunks stays NULL. Three passes over all blocks; 24 bytes a
 * chunk stay, and a bit a block, reserved in the plan of the dump. */
hs_status hs_talloc_find(struct talloc *talloc, struct hs_error *err);

/* ---- tree.c: who hangs below whom. Lists have to lead back: linear in the chunks and in what lies
 * in pools. */
void hs_talloc_read_tree(struct talloc *talloc);

#endif
