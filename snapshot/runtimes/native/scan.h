/* Turns words into edges, and finds which blocks are reached at all.
 *
 * Marking goes first (scan_mark.c): notes and the weights of doubtful words need to know what no
 * root reaches. Every aligned word that leads to a block is followed, whatever its class.
 *
 * Classes (snapshot/model.h): in a block of known type a word where the type has a pointer, a union
 * or a uintptr_t is exact or interior; a number, a character, padding and what the allocator
 * rounded up behind it are guessed. In a block of unknown type, or one that is larger than its type
 * can tell, every aligned word may be a pointer. Types are known when they flow from a typed root
 * to the start of a block, or when the object says its own; a container known by its shape says
 * nothing of other words than its links. An unaligned word counts, as guessed, only when it leads
 * to the start of a block that nothing else reaches: a packed record would otherwise look like a
 * leak.
 *
 * What a name of Python's holds (a module's variable, a class, a local variable) belongs to that
 * name: an edge to it is written as guessed, so that it keeps only what no name does. The same
 * holds in the program `python` for what names reach through blocks of which it is known what they
 * are, where an edge comes out of other memory of C: this comes second there, too.
 *
 * Python's collector links all that it tracks in lists, in both directions: these words give no
 * edges, and those of weak references weak ones. What the collector tracks and no root reaches is
 * garbage that it has yet to find: it and all that hangs on it are unsure, unless references to it
 * are missing (garbage.h): then it is lost. Unsure is also a large block that may be a thread's
 * alternate signal stack, whose address the kernel tells nobody: in a program that calls
 * sigaltstack, when there are no more of its size than threads.
 *
 * Resident: 2 bits per block, one more where blocks may be unsure, one where some have owners, one
 * in the program `python`, one where the program has debug information (strangers.h), and the queue
 * of queue.h while marking. */
#ifndef HS_NATIVE_SCAN_H
#define HS_NATIVE_SCAN_H

#include "base/load.h"
#include "base/table.h"
#include "native.h"
#include "queue.h"
#include "slack.h"
#include "unaligned.h"

struct hs_disguise;
struct hs_said;

/* The numbers of blocks of a type that are just as large as an allocator makes them, of those that
 * are larger, and of these that are glibc's least, which no smaller request makes smaller. */
struct hs_scan_sizes {
    uint64_t n_tight, n_wide, n_least;
};

struct hs_scan {
    struct hs_native *native;     /* borrowed */
    const struct hs_flow *flow;   /* borrowed */
    struct hs_bitmap reached;     /* by rank: from a root that keeps */
    struct hs_bitmap firm;        /* by rank: without a doubtful word; see hs_scan_mark_firm */
    struct hs_bitmap below_names; /* by rank: see hs_scan_mark_below_names; no bits: nothing is */
    struct hs_bitmap own;         /* by rank: see strangers.h; no bits: there are none */
    struct hs_bitmap visits;      /* by rank: see visits.h; no bits: there are none */
    struct hs_bitmap entries;     /* by rank: see owned.h; no bits: nothing has an owner */
    uint32_t rules;               /* that are asked: bits of enum hs_rule_place (verdict.h) */
    bool has_owners;              /* somebody knows who owns blocks */
    bool is_bare;                 /* neither objects nor owners nor records: of words only types
                                     and containers tell */
    struct hs_said *said;         /* owned: of the block that is gone over (hs_scan_said) */
    struct hs_bitmap by_start;    /* by rank: a word leads to its start */
    struct hs_interpreter interpreter; /* whose objects there are */
    const struct hs_bitmap *named;     /* borrowed: by rank: what names of these own; NULL: none */
    struct hs_bitmap unsure;  /* by rank, with `has_unsure`: not reached, nor lost for sure */
    struct hs_bitmap leaked;  /* by rank, while `unsure` is found: lost in spite of what
                                 would make it unsure */
    bool has_unsure;          /* Python's objects, or what may be a signal stack */
    struct hs_slack slack;    /* what last words of blocks are; counted while marking */
    struct hs_dict repeated;  /* by rank of an unclaimed piece: in which turn another one led
                                 there last, by edges of which classes */
    uint64_t n_turns;         /* blocks whose words were gone over for edges */
    struct hs_bitmap *marks;  /* which is being marked: `reached`, `leaked`, `unsure` */
    uint64_t n_unreached;     /* neither reached nor unsure; mappings not counted */
    uint64_t n_signal_stacks; /* blocks that may be one */
    uint64_t n_computed;      /* blocks that two words together lead to */
    uint64_t n_interior_only; /* reached, but by no word that leads to the start */
    bool is_counted;          /* the last, and sizes */
    struct hs_edge *edges;    /* owned pages: of the last block, but for parts */
    size_t n_edges, edges_capacity, n_edges_reserved;
    uint64_t n_edges_most;  /* of the last block, beyond those that went in parts */
    bool keeps_edges;       /* there is no disk for parts, but memory */
    uint8_t states;         /* of the last block, enum hs_block_state */
    const hs_addr *records; /* borrowed; ascending: blocks whose first word keeps nothing */
    size_t n_records;
    struct hs_block_queue queue; /* while marking */
    uint64_t n_marked;
    struct hs_scan_sizes *sizes;   /* owned: by type, of blocks of one element */
    struct hs_disguise *disguise;  /* owned; see disguise.h */
    struct hs_unaligned unaligned; /* set by hs_scan_end */
    bool any_packed;               /* some type has pointers that are not at multiples of 8 */
};

/* The memory of marking: its bits, one for blocks that wait, and their groups; half of it is given
 * back when it is done. */
#define HS_MARK_BYTES(n_blocks) ((n_blocks) / 2)

/* Begins a scan. Then hs_scan_mark_roots marks what roots lead to, hs_scan_mark_word what a further
 * word leads to, and hs_scan_end counts. Fails with HS_LIMIT. */
hs_status hs_scan_begin(struct hs_scan *scan, struct hs_native *native, const struct hs_flow *flow,
                        struct hs_error *err);
hs_status hs_scan_mark_roots(struct hs_scan *scan, struct hs_error *err);
hs_status hs_scan_mark_word(struct hs_scan *scan, uint64_t word, struct hs_error *err);
/* Sets bits of `marks` (by rank) for the block and for what hangs on it, as far as no root reaches
 * it and `leaked` does not have it. */
hs_status hs_scan_mark_as(struct hs_scan *scan, struct hs_bitmap *marks,
                          const struct hs_heap_block *block, struct hs_error *err);
/* Marks the block and what hangs on it as unsure: not lost for certain. */
hs_status hs_scan_mark_unsure(struct hs_scan *scan, const struct hs_heap_block *block,
                              struct hs_error *err);
/* Finds the words that a Python object owns; false when the block holds none, and any word may be a
 * pointer. */
bool hs_scan_object_words(const struct hs_scan *scan, const struct hs_heap_block *block,
                          struct hs_object_words *ret);
/* Returns the same, in `room` or, where no block is an object, in what stands for all of them. */
extern const struct hs_object_words hs_scan_bare_words;
static inline const struct hs_object_words *hs_scan_words(const struct hs_scan *scan,
                                                          const struct hs_heap_block *block,
                                                          struct hs_object_words *room)
{
    if (scan->is_bare)
        return &hs_scan_bare_words;
    hs_scan_object_words(scan, block, room);
    return room;
}
/* Tells whether `mask` has the word at this offset: one of the first 64, or all of them. */
static inline bool hs_scan_is_masked(uint64_t mask, uint64_t at)
{
    const uint64_t word = at / 8;
    return mask == UINT64_MAX || (word < 64 && (mask >> word & 1) != 0);
}
/* Tells whether the word at this offset is known to be no pointer, or is one of `masked`. */
static inline bool hs_scan_passes_over(const struct hs_object_words *words, uint64_t masked,
                                       uint64_t at)
{
    return hs_scan_is_masked(masked, at) || (words->is_exact && !hs_object_owns(words, at / 8) &&
                                             !hs_scan_is_masked(words->weak, at));
}
/* Returns the word at this offset, without what an object says is no part of an address. */
static inline uint64_t hs_scan_address(const struct hs_object_words *words,
                                       const struct hs_heap_block *block, uint64_t at)
{
    return hs_object_address(words, at / 8, hs_load_u64(block->bytes + at));
}
/* Tells whether a block is lost: neither reached nor unsure, and no mapping. */
bool hs_scan_is_lost(const struct hs_scan *scan, const struct hs_heap_block *block);
/* Finds the next lost block from where an iterator of the heap map stands; those between are not
 * looked at. */
bool hs_scan_next_lost(const struct hs_scan *scan, struct hs_heap_iterator *it,
                       struct hs_heap_block *ret);
/* Finds the next block that is not reached, unsure or not. */
bool hs_scan_next_unreached(const struct hs_scan *scan, struct hs_heap_iterator *it,
                            struct hs_heap_block *ret);
/* Tells whether nothing but mappings is left that is not reached. */
bool hs_scan_reaches_all(const struct hs_scan *scan);
hs_status hs_scan_end(struct hs_scan *scan, struct hs_error *err);
/* Returns the node of a block of the heap map. */
hs_node hs_scan_node(const struct hs_scan *scan, const struct hs_heap_block *block);
/* Returns the class of an edge by a word that leads so. */
static inline unsigned hs_scan_class(enum hs_pointer how)
{
    return how == HS_POINTER_START      ? HS_EDGE_EXACT
           : how == HS_POINTER_INTERIOR ? HS_EDGE_INTERIOR
                                        : HS_EDGE_PAST_END;
}
void hs_scan_close(struct hs_scan *scan);
/* Collects the edges of one block in scan->edges, and its states. Where there are more than a
 * million, or than memory for, the first go to the dump's writer in parts. Linear in its words. */
hs_status hs_scan_block(struct hs_scan *scan, const struct hs_heap_block *block,
                        struct hs_error *err);

/* ---- for threads that collect edges beside the one that writes (ahead.c) */

/* Tells whether hs_scan_block needs nothing for this block that changes while blocks are written:
 * neither types nor further memory, nor what other blocks of its kind said. */
bool hs_scan_is_light(const struct hs_scan *scan, const struct hs_heap_block *block);
/* Opens another scan over the same marks, for hs_scan_block of light blocks by a thread of its own;
 * to be closed before `scan`. Fails with HS_LIMIT. */
hs_status hs_scan_share(const struct hs_scan *scan, struct hs_scan *ret, struct hs_error *err);
void hs_scan_close_shared(struct hs_scan *shared);
/* The memory of one: edges and what is said of a block. */
#define HS_SCAN_SHARED_BYTES (UINT64_C(1) << 20)

/* ---- for those who go over the words of blocks beside it (firm.c) */

/* Returns the type of a block as far as something is known of its words, or NULL. */
const struct hs_native_type *hs_scan_type(const struct hs_scan *scan,
                                          const struct hs_heap_block *block);
/* Tells whether it is known what a block is: an object of an interpreter or a part of one; or, in
 * scan->below_names, what debug information describes, what says its own type, or the storage of a
 * vector. */
bool hs_scan_is_known(const struct hs_scan *scan, const struct hs_heap_block *block);
/* Looks up all that is known of a block (said.h), and which rules among these (verdict.h) can hold
 * in it. *ret is all 0 at first; from block to block it stays as it was left, as most of it is the
 * same for all of which nothing is known. */
void hs_scan_said(const struct hs_scan *scan, const struct hs_native_type *type,
                  const struct hs_heap_block *block, uint32_t among, struct hs_said *ret);
/* Tells whether a word of `from` that leads to `to` stands in strangers' memory and leads to the
 * program's own (strangers.h). */
static inline bool hs_scan_is_strangers(const struct hs_scan *scan,
                                        const struct hs_heap_block *from,
                                        const struct hs_heap_block *to)
{
    return scan->own.n_bits != 0 && !hs_bitmap_get(&scan->own, from->rank) &&
           hs_bitmap_get(&scan->own, to->rank);
}
/* Cuts the block to its words that may be pointers, without the characters of an interpreter's text
 * and the like. */
void hs_scan_cut(const struct hs_scan *scan, struct hs_heap_block *block);
/* Counts a block once all are marked; who has gone over all of them sets `is_counted`. */
void hs_scan_count_block(struct hs_scan *scan, const struct hs_heap_block *block);
/* Counts a block among the sizes of its type. */
void hs_scan_count_size(struct hs_scan *scan, const struct hs_heap_block *block);
/* Finds the next block that this one leads to by a distance from its own address, from word *word
 * on. *word is then behind that. */
bool hs_scan_next_by_distance(const struct hs_scan *scan, const struct hs_heap_block *block,
                              uint64_t *word, struct hs_heap_block *ret);
/* Calls `visit` for each place that is no multiple of 8 where the type has a pointer. */
typedef hs_status hs_scan_visit(struct hs_scan *scan, void *with, const struct hs_heap_block *block,
                                uint64_t at, struct hs_error *err);
hs_status hs_scan_packed(struct hs_scan *scan, const struct hs_heap_block *block,
                         const struct hs_native_type *type, hs_scan_visit *visit, void *with,
                         struct hs_error *err);

#endif
