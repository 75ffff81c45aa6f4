/* A made-up PostgreSQL backend: memory contexts with their blocks and chunks, laid out as
 * src/backend/utils/mmgr does it, in a process of some data, texts of its binary and a heap behind
 * them. The fake keeps account of all it made, for tests to compare with what is read.
 *
 * Its heap is of a malloc that knows its blocks (fake_malloc_allocator.h). One fake is read at a
 * time. Errors abort. */
#ifndef HS_TESTS_FAKE_POSTGRES_H
#define HS_TESTS_FAKE_POSTGRES_H

#include "fake_malloc.h"
#include "heaps/allocator.h"

#define FAKE_POSTGRES_BASE UINT64_C(0x10000000)
#define FAKE_POSTGRES_VARIABLE (FAKE_POSTGRES_BASE + 8) /* TopMemoryContext */
#define FAKE_POSTGRES_LIST (FAKE_POSTGRES_BASE + 16)    /* two words of data without a name */
#define FAKE_POSTGRES_END (FAKE_POSTGRES_BASE + FAKE_POSTGRES_BYTES)
#define FAKE_POSTGRES_NOWHERE UINT64_C(0x20000000)
#define FAKE_POSTGRES_NONE UINT32_MAX

enum {
    FAKE_POSTGRES_BYTES = 12288,
    FAKE_POSTGRES_TEXT_BYTES = 0x380,
    FAKE_POSTGRES_RELEASES = 6,
    FAKE_POSTGRES_MOST = 128
};

enum fake_kind {
    FAKE_SET,
    FAKE_GENERATION,
    FAKE_OLD_GENERATION, /* of 13 and 14: no block at first */
    FAKE_BUMP,
    FAKE_SLAB, /* without a block: nobody reads those */
    FAKE_KINDS
};

/* Where things are, in bytes; 0: they are not there. */
struct fake_layout {
    unsigned object, head, block, owner, counts, used, end;
};

struct fake_context {
    hs_addr at;
    enum fake_kind kind;
    struct fake_layout layout;
    uint32_t parent;
    uint32_t blocks[8]; /* as they are linked */
    size_t n_blocks;
};

struct fake_block {
    hs_addr begin, first, used, end;
    uint32_t context;
    uint32_t n_chunks, n_free;
};

struct fake_chunk {
    hs_addr header, begin;
    uint64_t n_bytes; /* that can be used */
    uint32_t block;
    bool is_free;
};

struct fake_postgres {
    uint8_t *bytes;
    unsigned release;
    hs_addr texts, heap; /* where the next ones go */
    bool has_no_malloc;  /* nobody knows the blocks that contexts have their memory from */
    struct fake_context contexts[FAKE_POSTGRES_MOST];
    struct fake_block blocks[FAKE_POSTGRES_MOST];
    struct fake_chunk chunks[FAKE_POSTGRES_MOST];
    struct fake_malloc_block mallocs[FAKE_POSTGRES_MOST];
    size_t n_contexts, n_blocks, n_chunks, n_mallocs;
    struct hs_mapping mappings[3]; /* data, texts that nobody can write to, the heap */
    struct hs_target target;
    struct hs_object object;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_findings findings;
    struct hs_process_copy process;
};

/* ---- building. Releases are numbered as the reader tries them: 15, 17, 16, then the three again
 * with MEMORY_CONTEXT_CHECKING. */
void fake_postgres_begin(struct fake_postgres *f, unsigned release);
const char *fake_postgres_version(const struct fake_postgres *f);
bool fake_postgres_is_masked(
    const struct fake_postgres *f); /* chunks do not say that they are free */
bool fake_postgres_is_checking(const struct fake_postgres *f);
/* A context and its first block of n_bytes together, where the kind has one. All of these return
 * numbers. */
uint32_t fake_postgres_context(struct fake_postgres *f, enum fake_kind kind, const char *name,
                               uint32_t parent, uint64_t n_bytes);
uint32_t fake_postgres_block(struct fake_postgres *f, uint32_t context, uint64_t n_bytes);
/* In the block that was made last; of a Bump what is there gets longer. */
uint32_t fake_postgres_chunk(struct fake_postgres *f, uint32_t context, uint64_t n_bytes);
/* Alone in its block. */
uint32_t fake_postgres_external(struct fake_postgres *f, uint32_t context, uint64_t n_bytes);
void fake_postgres_free(struct fake_postgres *f, uint32_t chunk);
/* A text that a binary brought along; its address. */
hs_addr fake_postgres_text(struct fake_postgres *f, const char *text);
/* A word of the process, to be damaged. */
uint64_t *fake_postgres_word(const struct fake_postgres *f, hs_addr at);

/* A backend with something of each kind that the release has. n_more: more of it, up to 7. */
enum {
    FAKE_TOP,
    FAKE_CACHE,
    FAKE_TABLE,
    FAKE_UNNAMED,
    FAKE_SLABS,
    FAKE_UNDER, /* the slabs */
    FAKE_TUPLES,
    FAKE_SORT, /* a Bump, an old Generation, or a set */
    FAKE_MADE
};
void fake_postgres_make(struct fake_postgres *f, unsigned release, unsigned n_more);

/* ---- reading: opens and marks all allocators. After the last read of a fake: close. Programs that
 * read include fake_malloc_allocator.h. */
hs_status fake_postgres_read(struct fake_postgres *f, struct hs_heaps *heaps, struct hs_error *err);
void fake_postgres_close(struct fake_postgres *f);

#endif
