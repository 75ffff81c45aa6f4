/* One walker per allocator. Each finds its allocator by structure (symbols are a shortcut, never a
 * need), lists its live blocks, accounts for the rest, and proves the listing against the
 * allocator's own counters. More than one may find something in one process. */
#ifndef HS_HEAPS_WALKERS_H
#define HS_HEAPS_WALKERS_H

#include "heaps/heap_map.h"
#include "heaps/ledger.h"

struct hs_walker {
    const char *name; /* "glibc" */
    /* Looks for the allocator. *ret_state stays NULL when the process does not use it. */
    hs_status (*open)(const struct hs_scene *scene, void **ret_state, struct hs_error *err);
    /* Adds its spans; claims its memory in the ledger, bookkeeping included. */
    hs_status (*add_spans)(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                           struct hs_error *err);
    /* Map sealed: sets the live bits, moves the rest in the ledger, adds proofs and notes. What is
     * caught half-way through a change is counted in findings->n_torn. */
    hs_status (*mark)(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                      struct hs_error *err);
    void (*close)(void *state);
    /* "2.36", "5.3"; "" when unknown. Valid until close. */
    const char *(*version)(const void *state);
};

extern const struct hs_walker hs_glibc_walker;      /* glibc_*.c */
extern const struct hs_walker hs_jemalloc_walker;   /* jemalloc_*.c */
extern const struct hs_walker hs_cpython_walker;    /* cpython_*.c: obmalloc pools */
extern const struct hs_walker hs_registered_walker; /* registered.c: pools of register.h */
extern const struct hs_walker hs_record_walker;     /* recorded/walker.c: no blocks; its tables, so
                                                       that they keep nothing alive */

enum { HS_N_WALKERS = 5 };

/* All of them over one scene. */
struct hs_heaps {
    struct hs_heap_map map;
    struct hs_ledger ledger;
    void *states[HS_N_WALKERS]; /* NULL: that allocator is not in use */
};
extern const struct hs_walker *const hs_walkers[HS_N_WALKERS];

/* Opens every walker and lets it add its spans and claims. The caller may add spans of its own
 * (unclaimed mappings) before hs_heaps_mark, which seals, sets the one bit of every span of
 * HS_OWNER_MAPPING, lets the walkers mark, and indexes. */
hs_status hs_heaps_open(struct hs_heaps *heaps, const struct hs_scene *scene, struct hs_error *err);
hs_status hs_heaps_mark(struct hs_heaps *heaps, const struct hs_scene *scene, struct hs_error *err);
void hs_heaps_close(struct hs_heaps *heaps);

/* ---- recognise.c: allocators that are seen but not supported: "tcmalloc (libtcmalloc.so.4)",
 * "mimalloc", "musl". One name per line into `text`, "" when there is none. */
void hs_heaps_recognise(const struct hs_scene *scene, char *text, size_t n_bytes);

/* ---- registered.c: root ranges that the program registered (heapsnap/register.h). */
struct hs_registered_root {
    hs_str name;
    hs_addr begin, end;
    hs_addr entry;                  /* address of the program's own record */
    bool is_precise;                /* words are pointers to the start of blocks or nothing */
    const struct hs_object *object; /* whose registry it is; may be NULL */
};
/* Borrowed from the walker's state (NULL state: none). */
const struct hs_registered_root *hs_registered_roots(const void *state, size_t *ret_n);
/* The name of pool number `tag` of a span of HS_OWNER_REGISTERED. */
hs_str hs_registered_pool_name(const void *state, uint32_t tag);

/* ---- cpython/types.c: the name of the Python type of the object in a block (tp_name), into
 * text[n]; false when the block holds no Python object. Blocks of any allocator may be asked about;
 * state NULL: false. */
bool hs_cpython_type_name(const void *state, const struct hs_heap_block *block, char *text,
                          size_t n_bytes);

/* What the words of an object's block are: bit i stands for word i. */
struct hs_cpython_words {
    uint64_t n_owning; /* words from here on are data, and what free memory held before: of text,
                          bytes and numbers; else UINT64_MAX */
    uint64_t links;    /* of the collector's list of all it tracks; of all weak references to one
                          object: they say nothing about who uses whom */
    uint64_t weak;   /* what a weak reference refers to; the first of an object's weak references */
    bool is_tracked; /* the collector frees it when it is in an unused cycle: until then nothing
                        may lead to it, though it is not lost */
};
/* False, and *ret without bits, when the block holds no Python object (or state is NULL). */
bool hs_cpython_words(const void *state, const struct hs_heap_block *block,
                      struct hs_cpython_words *ret);
/* Is `word` at address `slot` an end of the collector's list of tracked objects? It leads to the
 * first or last of them, whose link leads back to the slot. */
bool hs_cpython_is_list_end(const void *state, const struct hs_heap_block *block, hs_addr slot,
                            uint64_t word);

/* A block that an object has for itself, as a type of its own. */
struct hs_cpython_part {
    uint64_t at;      /* where in the object's block the pointer to it stands, in bytes */
    const char *name; /* "dict keys" */
};
enum { HS_CPYTHON_PARTS = 4 };
/* How many the block's object may have: pointers that may be null, or lead to an object (itself,
 * another one) instead. */
size_t hs_cpython_parts(const void *state, const struct hs_heap_block *block,
                        struct hs_cpython_part ret[HS_CPYTHON_PARTS]);

#endif
