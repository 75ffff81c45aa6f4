/* PostgreSQL's memory contexts (private). A backend has nearly all of its memory from a tree of
 * named contexts, which begins at TopMemoryContext; each cuts its chunks out of larger blocks of
 * malloc's, and frees all of them when it is reset or deleted, whoever still leads to them.
 *
 *   MemoryContextData   NodeTag type; bool isReset, allowInCritSection; Size mem_allocated;
 *                       methods; parent, firstchild, prevchild, nextchild; name, ident; reset_cbs
 *   AllocSet            blocks; freelist[11]; ...      blocks linked by prev and next
 *   Generation, Bump    ...; dlist_head blocks         blocks linked in a ring
 *
 *   block               | header | chunk | chunk | ... | never used |
 *                                              freeptr ^     endptr ^
 *   chunk up to 15      Size size; context, of a free one something else;     what was asked for
 *                       (of a Generation: Size size, not rounded; block; context)
 *   chunk from 16 on    uint64 hdrmask: whose, and how large;                 what was asked for
 *
 * mem_allocated, since 13, is the sum of all blocks: what is read is proved by it.
 *
 * Sources: PostgreSQL 13 to 18, src/include/nodes/memnodes.h, utils/memutils_memorychunk.h,
 * src/backend/utils/mmgr/aset.c, generation.c, bump.c. */
#ifndef HS_POSTGRES_CONTEXTS_H
#define HS_POSTGRES_CONTEXTS_H

#include "heaps/allocator.h"

#define POSTGRES_OWNER "postgres"
#define POSTGRES_NONE UINT32_MAX

enum postgres_kind { POSTGRES_ALLOC_SET, POSTGRES_GENERATION, POSTGRES_BUMP };

/* The offsets that all contexts have in common, in bytes. */
enum postgres_context_at {
    POSTGRES_AT_ALLOCATED = 8,
    POSTGRES_AT_METHODS = 16,
    POSTGRES_AT_PARENT = 24,
    POSTGRES_AT_FIRST_CHILD = 32,
    POSTGRES_AT_PREV_CHILD = 40,
    POSTGRES_AT_NEXT_CHILD = 48,
    POSTGRES_AT_NAME = 56,
    POSTGRES_AT_IDENT = 64,
    POSTGRES_CONTEXT_BYTES = 80, /* sizeof(MemoryContextData) */
    POSTGRES_AT_SET_BLOCKS = 80, /* of an AllocSet: its first block */
};

/* The layout of one kind of context and of its blocks; offsets in bytes. */
struct postgres_form {
    uint8_t kind;         /* enum postgres_kind */
    uint8_t object_bytes; /* of the context; its first block may follow */
    uint8_t head;         /* in the context: the first block, or the ring's head */
    uint8_t header_bytes; /* of a block */
    uint8_t owner;        /* in a block: its context; 255: it does not say */
    uint8_t counts;       /* in a block: int nchunks, nfree; 255: it does not say */
    uint8_t used, end;    /* in a block: freeptr, endptr */
};

enum { POSTGRES_LOOK = 32 }; /* the effort of a context or of a block: no sound one is smaller */

/* The form of a chunk's header in a release. */
struct postgres_chunks {
    bool is_masked; /* the last word of a header is hdrmask; else a context, and the first a size */
    uint8_t header_bytes;
    uint8_t shift;     /* of the value in hdrmask */
    uint8_t set_bytes; /* of an AllocSet in this release */
    const char *version;
};

struct postgres_block {
    hs_addr begin, first; /* the header; the first chunk's header */
    hs_addr used, end;
    uint32_t context;
    uint32_t n_chunks; /* that it says it has, where its form says so */
    bool is_single;    /* one live chunk is all there is */
    bool is_empty;     /* all its chunks are free */
    bool is_unsure;    /* which of its chunks are free is not known */
};

struct postgres_context {
    hs_addr address;
    uint64_t said_bytes;
    const struct postgres_form *form; /* NULL: of another kind, or damaged */
    uint32_t parent;                  /* the nearest one that was read; POSTGRES_NONE: none */
    uint32_t first_child, next_child; /* of those that were read */
    size_t first_block, n_blocks;
    hs_str object_name, chunk_name;
};

/* A context that waits to be used again, from its object to the end of its only block. */
struct postgres_idle {
    hs_addr begin, end;
};
enum { POSTGRES_MOST_IDLE = 200 };

struct postgres {
    const struct hs_process_copy *process; /* borrowed */
    hs_addr variable;                      /* TopMemoryContext */
    const struct postgres_chunks *chunks;
    struct postgres_context *contexts; /* owned; parents before their children */
    size_t n_contexts, contexts_capacity;
    struct postgres_block *blocks; /* owned; of one context in a row */
    size_t n_blocks, blocks_capacity;
    struct postgres_idle idle[POSTGRES_MOST_IDLE];
    size_t n_idle;
    uint64_t effort;              /* chunks that may still be looked at, or what takes as long */
    bool is_strange;              /* there is something, which was not read */
    uint64_t n_damaged, n_others; /* contexts: caught in a change; of kinds that are not read */
};

/* A context's object has an odd tag, its chunks have the even one before it. */
static inline uint32_t hs_postgres_tag(uint32_t context, bool is_object)
{
    return 2 * context + is_object;
}

/* ---- blocks.c */

/* False: so much effort may not be spent any more. */
bool hs_postgres_spend(struct postgres *postgres, uint64_t effort);

/* A chunk of a block. */
struct postgres_chunk {
    hs_addr begin, end; /* of what was asked for, and what it was rounded up by */
    bool is_free;
};
/* Returns how many bytes a chunk of this block has before what was asked for. */
unsigned hs_postgres_header_bytes(const struct postgres *postgres,
                                  const struct postgres_block *block);
/* The chunk whose header is at *at, which goes on behind it. False at the end of the block, where
 * *at == block->used, or at damage. */
bool hs_postgres_next_chunk(const struct postgres *postgres, const struct postgres_block *block,
                            hs_addr *at, struct postgres_chunk *ret);
/* The chunks that one free list of an AllocSet has, where their headers do not say so: the first
 * one's header, and the one behind it; 0: none. */
hs_addr hs_postgres_free_list(const struct postgres *postgres,
                              const struct postgres_context *context, unsigned which);
/* Is the chunk of the size that this free list is for? */
bool hs_postgres_is_listed(const struct postgres *postgres, hs_addr chunk, unsigned which);
hs_addr hs_postgres_next_free(const struct postgres *postgres, hs_addr chunk);
enum { POSTGRES_FREE_LISTS = 11 };

/* Finds the release by how chunks begin: with it the sums of the first context, whose blocks are
 * read, are right. postgres->chunks stays NULL when that is damaged, or of no release that is
 * known. */
hs_status hs_postgres_find_release(struct postgres *postgres, struct hs_error *err);
/* Appends the blocks of a context and sets its form, if there is one by which all its sums are
 * right. Linear in its chunks. */
hs_status hs_postgres_read_blocks(struct postgres *postgres, uint32_t context,
                                  struct hs_error *err);

/* ---- tree.c: all contexts, with their blocks, and names of those that were read. None: this is no
 * backend, or is_strange. No block overlaps another one: where any does, nothing is believed. */
hs_status hs_postgres_read_tree(struct postgres *postgres, struct hs_error *err);

/* ---- idle.c: contexts that wait to be used again, in a list of the object's; after the tree. One
 * pass over the object's variables. */
void hs_postgres_find_idle(struct postgres *postgres, const struct hs_object *object);

#endif
