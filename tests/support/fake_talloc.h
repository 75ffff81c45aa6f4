/* A made-up process with talloc's chunks, laid out as lib/talloc/talloc.c does it: a page of names
 * that nobody can write to, and a heap behind it whose blocks are known. The fake keeps account of
 * all it made, for tests to compare with what is read.
 *
 * Programs that use it link hs_heaps and hs_process. One fake is read at a time. Errors abort. */
#ifndef HS_TESTS_FAKE_TALLOC_H
#define HS_TESTS_FAKE_TALLOC_H

#include "heaps/allocator.h"

#define FAKE_TALLOC_BASE UINT64_C(0x10000000)
#define FAKE_TALLOC_HEAP (FAKE_TALLOC_BASE + 0x1000)
#define FAKE_TALLOC_END (FAKE_TALLOC_BASE + FAKE_TALLOC_BYTES)
#define FAKE_TALLOC_MAGIC 0x2fee48a0U
#define FAKE_TALLOC_NONE UINT32_MAX

enum { FAKE_TALLOC_BYTES = 0x4000, FAKE_TALLOC_MOST = 64, FAKE_TALLOC_HEADER = 96 };

struct fake_talloc_chunk {
    hs_addr block, header; /* of a pool 32 bytes apart; of what lies in one its pool's block */
    uint64_t block_bytes;  /* 0: it lies in a pool */
    uint64_t size;
    uint32_t parent;
    bool is_free;
};

struct fake_talloc {
    hs_addr texts, heap; /* where the next ones go */
    struct fake_talloc_chunk chunks[FAKE_TALLOC_MOST];
    uint32_t n_chunks;
    struct hs_mapping mappings[2];
    struct hs_target target;
    struct hs_object object;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_findings findings;
    struct hs_process_copy process;
    struct hs_dump_plan *plan;    /* in which it is read; may be NULL */
    const struct hs_rules *rules; /* by whose trees of owners it is read; NULL: as talloc's */
};

void fake_talloc_begin(struct fake_talloc *f);
/* A text that the program brought along; its address. */
hs_addr fake_talloc_text(struct fake_talloc *f, const char *text);
/* Chunks, by number. Below `parent`, which may be FAKE_TALLOC_NONE; as its first child. */
uint32_t fake_talloc_chunk(struct fake_talloc *f, uint32_t parent, hs_addr name, uint64_t size);
/* A block of malloc's that is no chunk. */
hs_addr fake_talloc_other(struct fake_talloc *f, uint64_t size);
uint32_t fake_talloc_pool(struct fake_talloc *f, uint32_t parent, uint64_t size);
uint32_t fake_talloc_member(struct fake_talloc *f, uint32_t pool, uint32_t parent, hs_addr name,
                            uint64_t size);
uint32_t fake_talloc_reference(struct fake_talloc *f, uint32_t parent, uint32_t to);
/* A pool that stays because of what lies in it; or what lies in one. */
void fake_talloc_free(struct fake_talloc *f, uint32_t chunk);
uint64_t *fake_talloc_word(const struct fake_talloc *f, hs_addr at);

/* A server with sessions, one of each thing, and what hangs nowhere below a null_context. */
enum {
    FAKE_NULL,    /* null_context */
    FAKE_SERVER,  /* below it: "struct server" */
    FAKE_SESSION, /* "struct session", which a reference keeps, too */
    FAKE_USER,    /* of the session: its name is its text */
    FAKE_OTHER,   /* below null_context, with a name that was made */
    FAKE_HANDLE,  /* of that: the reference */
    FAKE_POOL,    /* of the server, without a name */
    FAKE_IN_POOL, /* of the session */
    FAKE_GONE,    /* in the pool, freed */
    FAKE_BEHIND,  /* in the pool, of the server */
    FAKE_OF_POOL, /* a block of what lies in the pool */
    FAKE_OLD,     /* a pool that was freed */
    FAKE_KEEPER,  /* in it, of the server */
    FAKE_OF_OLD,  /* a block of that */
    FAKE_ALONE,   /* without a parent, a child or anything beside it */
    FAKE_TALLOC_MADE
};
void fake_talloc_make(struct fake_talloc *f);

/* Lists the blocks and looks at them. After the last read: close. */
hs_status fake_talloc_read(struct fake_talloc *f, struct hs_heaps *heaps, struct hs_error *err);
void fake_talloc_close(struct fake_talloc *f);

#endif
