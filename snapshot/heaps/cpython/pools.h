/* CPython's obmalloc as a copy of memory shows it (private).
 *
 *   arenas[i] -> arena of 64 pools -> pool: | header 48 | block | block | ... | never handed out |
 *
 * A pool holds blocks of one size, 16 to 512 bytes. Its header counts those in use; the others are
 * on a list through their first words, or were never handed out. Source: CPython 3.6 to 3.14,
 * Objects/obmalloc.c, Include/internal/pycore_obmalloc.h. 3.10 went from pools of 4 KiB in arenas
 * of 256 KiB to pools of 16 KiB in arenas of 1 MiB; the header is the same in all of them. The
 * free-threaded builds of 3.13 on use mimalloc instead. */
#ifndef HS_CPYTHON_POOLS_H
#define HS_CPYTHON_POOLS_H

#include "heaps/allocator.h"

enum {
    CPYTHON_HEADER_BYTES = 48,
    CPYTHON_N_CLASSES = 32,
    CPYTHON_MAX_BLOCK_BYTES = 16 * CPYTHON_N_CLASSES,
    CPYTHON_MAX_POOL_BYTES = 1 << 14,
    CPYTHON_POOLS_IN_ARENA = 64,
    CPYTHON_MAX_BLOCKS = CPYTHON_MAX_POOL_BYTES / 16,
    CPYTHON_POOL_WORDS = CPYTHON_MAX_BLOCKS / 64,
};

enum cpython_pool_form {
    CPYTHON_NO_POOL,
    CPYTHON_POOL_EMPTY, /* all its blocks are free */
    CPYTHON_POOL_USED,  /* its list is as long as its count says */
    CPYTHON_POOL_TORN,  /* a sane header, a list that does not fit it */
};

struct cpython_pool {
    enum cpython_pool_form form;
    uint32_t arena_index;
    uint32_t block_bytes;
    unsigned n_carved; /* blocks ever handed out */
    unsigned n_live;
    uint64_t live[CPYTHON_POOL_WORDS]; /* bit per carved block: not on the free list */
};

/* Reads the pool of pool_bytes at `address`. Work is bounded by the number of its blocks. */
void hs_cpython_read_pool(const struct hs_image *image, hs_addr address, uint32_t pool_bytes,
                          struct cpython_pool *ret);

struct cpython_arena {
    hs_addr begin, end; /* as mapped */
    hs_addr pools_end;  /* pools up to here were handed out once */
};

/* Arenas and pools found: a few words per 16 KiB. */
struct cpython_heap {
    uint32_t pool_bytes;          /* 0: nothing was found */
    struct cpython_arena *arenas; /* owned; ascending, disjoint */
    size_t n_arenas, arenas_capacity;
    hs_addr *loose; /* owned: pools in no known arena; ascending */
    size_t n_loose, loose_capacity;
    hs_addr vector;  /* of the arenas; 0: none */
    hs_addr *tables; /* owned: blocks of malloc that are obmalloc's own; may repeat */
    size_t n_tables, tables_capacity;
};
void hs_cpython_heap_fini(struct cpython_heap *heap);

/* ---- arenas.c */
/* Is an object of the process a Python interpreter? */
const struct hs_object *hs_cpython_object(const struct hs_objects *objects);
/* Finds the arena vector from the interpreter's data. */
hs_status hs_cpython_find_arenas(const struct hs_process_copy *process, struct cpython_heap *heap,
                                 struct hs_error *err);
/* Drops arenas that lie in memory that others claim, and finds pools that prove themselves in
 * private anonymous memory that nobody claims: the arenas of further interpreters. The ledger is
 * sealed. */
hs_status hs_cpython_find_loose(const struct hs_process_copy *process,
                                const struct hs_ledger *ledger, struct cpython_heap *heap,
                                struct hs_error *err);

/* ---- tables.c */
/* Fills heap->tables, by arenas that were found. `object` is the interpreter. Linear in its data.
 */
hs_status hs_cpython_find_tables(const struct hs_process_copy *process,
                                 const struct hs_object *object, struct cpython_heap *heap,
                                 struct hs_error *err);
/* Makes them no blocks, and `owner`'s own in the ledger. After the marks of those who have them as
 * blocks. */
struct cpython_table_book {
    struct hs_heap_map *map;
    struct hs_ledger *ledger;
    const char *owner;
};
hs_status hs_cpython_book_tables(const struct cpython_heap *heap,
                                 const struct cpython_table_book *book, struct hs_error *err);

/* ---- types.c */
struct cpython_types; /* what is known of type objects: of fixed size */
/* `is_old`: 3.7 or earlier. */
hs_status hs_cpython_types_new(const struct hs_process_copy *process, bool is_old,
                               struct cpython_types **ret, struct hs_error *err);
void hs_cpython_types_free(struct cpython_types *types);
/* Describes objects by their tp_name. */
extern const struct hs_object_model hs_cpython_objects;
/* The cache in the allocator's state. */
struct cpython_types *hs_cpython_state_types(const void *state);

#endif
