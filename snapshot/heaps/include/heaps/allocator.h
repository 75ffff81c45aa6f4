/* The interface that an allocator's folder must define: one struct of functions, listed in
 * heaps/allocators.h.
 *
 * Each finds its allocator by structure (symbols are a shortcut, never a need), lists its live
 * blocks, accounts for the rest, and proves the listing against the allocator's own counters. More
 * than one may find something in one process. */
#ifndef HS_HEAPS_ALLOCATOR_H
#define HS_HEAPS_ALLOCATOR_H

#include "heaps/allocators.h"
#include "heaps/heap_map.h"
#include "heaps/ledger.h"
#include "heaps/object_model.h"

struct hs_rules; /* rules/rules.h */
struct hs_sampled_set;

/* The name by which a block says what it is. */
struct hs_object_name {
    hs_str name;
    uint64_t offset_bytes; /* where in the block the object begins: before it are parts of it */
    uint64_t n_bytes;      /* from there on; 0: all of the block */
    hs_addr code;          /* of the binary that has the type; 0: unknown */
    bool is_counted;       /* a container that has told how many elements it has */
    uint64_t entries, room;
};

/* Words in a row, each of which is a distance from the beginning of its block. */
struct hs_distances {
    uint32_t first_word, n_words; /* all in the block; 0: none */
};

/* A range of roots that the program registered (include/heapsnap/register.h). */
struct hs_registered_root {
    hs_str name;
    hs_addr begin, end;
    hs_addr entry;                  /* address of the program's own record */
    bool is_precise;                /* words are pointers to the start of blocks or nothing */
    const struct hs_object *object; /* whose registry it is; may be NULL */
};

/* A variable that has no symbol, as those of most libraries, and the name that its source gives it.
 */
struct hs_known_variable {
    const char *name; /* NULL: there is none */
    hs_addr address;
};

/* The ownership of blocks, an allocator's own or those of any other, as it knows it: who frees
 * which, whoever else leads to them. All in O(1), but `owned` in all of its answers together. */
struct hs_ownership {
    /* Returns the owner, with whose end the block is freed: the address where a block begins, or of
     * a variable; 0: nobody in particular. */
    hs_addr (*owner)(const void *state, const struct hs_heap_block *block);
    /* Gives the next piece of memory [*ret_begin, *ret_end) in which blocks begin that `owner`
     * owns. *cursor is 0 at first and goes on. False: there are no more. */
    bool (*owned)(const void *state, const struct hs_heap_block *owner, uint64_t *cursor,
                  hs_addr *ret_begin, hs_addr *ret_end);
    /* May be left out: do both end together and at no other time, so that what one of them leads to
     * hangs on that? */
    bool (*end_together)(const struct hs_heap_block *a, const struct hs_heap_block *b);
    /* May be left out. Returns the words of the block's first 64 (bit i stands for word i) that are
     * links of lists by which owners find what they own: they lead there, and say nothing of who
     * keeps it. */
    uint64_t (*links)(const void *state, const struct hs_heap_block *block);
    /* May be left out. Returns the words of the first 64 that are non-owning references: the one
     * that ends is taken out of what leads to it. UINT64_MAX: all words of the block. */
    uint64_t (*finds)(const void *state, const struct hs_heap_block *block);
    /* May be left out, both of them or none. Returns the words of the block's first 64 that are
     * cleared when what they lead to ends, as weak references are; tells whether the word at an
     * address, wherever it is, is one. */
    uint64_t (*cleared)(const void *state, const struct hs_heap_block *block);
    bool (*is_cleared_at)(const void *state, hs_addr at);
    /* May be left out: has `from` said that it keeps `to`, too? */
    bool (*shares)(const void *state, const struct hs_heap_block *from,
                   const struct hs_heap_block *to);
};

enum { HS_ALLOCATOR_SYMBOLS = 3 };

struct hs_allocator {
    const char *name; /* "glibc" */
    /* Looks for the allocator. *ret_state stays NULL when the process does not use it. */
    hs_status (*open)(const struct hs_process_copy *process, void **ret_state,
                      struct hs_error *err);
    void (*close)(void *state);
    bool has_no_blocks; /* a sampler, whose tables are kept out of the roots; who knows types */

    /* The members below may be left out. */

    /* "2.36", "5.3"; "" when unknown. Valid until close. Only who has no blocks may do without. */
    const char *(*version)(const void *state);
    /* Adds its spans; claims its memory in the ledger, bookkeeping included. */
    hs_status (*add_spans)(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                           struct hs_error *err);
    /* Map sealed: sets the live bits, moves the rest in the ledger, adds proofs and notes. What is
     * caught half-way through a change is counted in findings->n_torn. */
    hs_status (*mark)(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                      struct hs_error *err);
    /* The signs by which `heapsnap doctor`, without a copy, knows that a process uses it: its name
     * there, how the name of its library begins (NULL: it has none), symbols. */
    const char *known_as, *library, *symbols[HS_ALLOCATOR_SYMBOLS];
    /* Would it give a block of block->n_bytes, at least 32 more, to who asks for n_bytes? Without:
     * only where whole pages are mapped for large blocks. */
    bool (*may_round)(const struct hs_heap_block *block, uint64_t n_bytes);
    /* The model of those of its blocks that say themselves what they are. */
    const struct hs_object_model *objects;
    /* Blocks of any allocator whose objects lead to what names them. False: this one does not. */
    bool (*object_name)(const void *state, const struct hs_heap_block *block,
                        struct hs_object_name *ret);
    /* Does what needs to know all blocks first, of any allocator. Map indexed; it lives until
     * close. */
    hs_status (*look)(void *state, const struct hs_heap_map *map, struct hs_error *err);
    /* Words of a block of any allocator that lead to other blocks by distances. */
    struct hs_distances (*distances)(const void *state, const struct hs_heap_block *block);
    /* The ownership that the allocator knows; NULL: none. */
    const struct hs_ownership *ownership;
    /* The variable below which it found what it has. */
    struct hs_known_variable (*variable)(const void *state);
    /* Roots that the program told it. Borrowed until close. */
    const struct hs_registered_root *(*roots)(const void *state, size_t *ret_n);
    /* Returns the program's name for the blocks of a span with this tag; 0: nothing. */
    hs_str (*pool_name)(const void *state, uint32_t tag);
    /* Adds what its sampler has chosen (heaps/sampled.h). Map indexed. */
    hs_status (*sampled)(const void *state, const struct hs_heap_map *map,
                         const struct hs_process_copy *process, struct hs_sampled_set *set,
                         struct hs_error *err);
};

#define HS_ALLOCATOR_DECLARE(name) extern const struct hs_allocator hs_allocator_##name;
HS_ALLOCATORS(HS_ALLOCATOR_DECLARE)

/* All of them over one copy of a process. */
struct hs_heaps {
    struct hs_heap_map map;
    struct hs_ledger ledger;
    void *states[HS_N_ALLOCATORS]; /* NULL: that allocator is not in use */
    bool has_distances;            /* one that is in use has blocks that lead on by distances */
};
extern const struct hs_allocator *const hs_allocators[HS_N_ALLOCATORS]; /* by owner */

/* Opens every allocator and lets it add its spans and claims. The caller may add spans of its own
 * (unclaimed mappings) before hs_heaps_mark, which seals, sets the one bit of every span of
 * HS_OWNER_MAPPING, lets the allocators mark, indexes, and lets them look. */
hs_status hs_heaps_open(struct hs_heaps *heaps, const struct hs_process_copy *process,
                        struct hs_error *err);
hs_status hs_heaps_mark(struct hs_heaps *heaps, const struct hs_process_copy *process,
                        struct hs_error *err);
void hs_heaps_close(struct hs_heaps *heaps);

/* ---- recognise.c */
/* Sets of allocators: which have found something, as bits. */
#define HS_ALLOCATOR_BIT(name) ((uint64_t)1 << HS_OWNER_##name)
uint64_t hs_heaps_in_use(const struct hs_heaps *heaps);
/* Allocators that rules (NULL: none) say to be seen but not supported: "tcmalloc
 * (libtcmalloc.so.4)", "musl". One name per line into `text`, "" when there is none. Not those
 * whose reader is in the set `read`. */
void hs_heaps_recognise(const struct hs_process_copy *process, const struct hs_rules *rules,
                        uint64_t read, char *text, size_t n_bytes);
/* The same of languages' runtimes that have heaps of their own: "Ruby (libruby-3.1.so.3.1)". Not
 * those whose reader is in the set `read`, here and below. */
void hs_heaps_recognise_runtimes(const struct hs_process_copy *process,
                                 const struct hs_rules *rules, uint64_t read, char *text,
                                 size_t n_bytes);
/* Returns the first binary that has such a runtime, with its name; NULL: none has. */
const struct hs_object *hs_heaps_runtime(const struct hs_process_copy *process,
                                         const struct hs_rules *rules, uint64_t read,
                                         const char **ret_name);
/* Lines of such names become a list, in place: "Ruby (ruby), mimalloc (app)"; cut where there is no
 * room. */
void hs_heaps_join_names(char *text, size_t n_bytes);

/* ---- what the allocators in use say beyond their blocks */

/* The interpreter whose blocks say what they are; model NULL: there is none. */
struct hs_interpreter {
    const struct hs_object_model *model;
    const void *state;
};
struct hs_interpreter hs_heaps_interpreter(const struct hs_heaps *heaps);
/* Tells whether any allocator names blocks: who asks about all of them asks this first. The other
 * names one block, by the first allocator that knows it. */
bool hs_heaps_have_object_names(const struct hs_heaps *heaps);
bool hs_heaps_object_name(const struct hs_heaps *heaps, const struct hs_heap_block *block,
                          struct hs_object_name *ret);
/* Returns the self-relative offsets of a block, by the first that knows any; n_words 0 where none
 * does. O(1). */
struct hs_distances hs_heaps_distances(const struct hs_heaps *heaps,
                                       const struct hs_heap_block *block);
/* Does any of them know who owns blocks? */
bool hs_heaps_have_owners(const struct hs_heaps *heaps);
/* 0: nobody in particular. O(1). */
hs_addr hs_heaps_owner(const struct hs_heaps *heaps, const struct hs_heap_block *block);
/* Gives what a block owns, as `owned` of struct hs_ownership, by the allocators that know any. */
bool hs_heaps_owned(const struct hs_heaps *heaps, const struct hs_heap_block *owner,
                    uint64_t *cursor, hs_addr *ret_begin, hs_addr *ret_end);
/* Have both the same owner, with whom they end and not before? */
bool hs_heaps_end_together(const struct hs_heaps *heaps, const struct hs_heap_block *a,
                           const struct hs_heap_block *b);
/* Words by which owners find what they own: bit i stands for word i. */
uint64_t hs_heaps_links(const struct hs_heaps *heaps, const struct hs_heap_block *block);
/* Words that find and keep nothing, likewise; UINT64_MAX: all of the block. */
uint64_t hs_heaps_finds(const struct hs_heaps *heaps, const struct hs_heap_block *block);
/* Words that are cleared when what they lead to ends: bit i stands for word i. */
uint64_t hs_heaps_cleared(const struct hs_heaps *heaps, const struct hs_heap_block *block);
bool hs_heaps_is_cleared_at(const struct hs_heaps *heaps, hs_addr at);
/* Is `to` kept by `from`, which is not its owner, as well? */
bool hs_heaps_shares(const struct hs_heaps *heaps, const struct hs_heap_block *from,
                     const struct hs_heap_block *to);
/* The first of those that allocators know in [begin, end). */
struct hs_known_variable hs_heaps_known_variable(const struct hs_heaps *heaps, hs_addr begin,
                                                 hs_addr end);
/* Returns the registered roots of the first allocator that knows any. */
const struct hs_registered_root *hs_heaps_roots(const struct hs_heaps *heaps, size_t *ret_n);
/* Returns the name of the pool that a span is part of; 0 when it has no name. */
hs_str hs_heaps_pool_name(const struct hs_heaps *heaps, const struct hs_heap_span *span);

#endif
