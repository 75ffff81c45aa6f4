/* The share of what is reached that has an owner on which a person can act: a named root, or a set
 * of a few of them. The first measure of a snapshot's worth.
 *
 * A name is that of a variable, a field, a frame's live variable, a thread, something registered;
 * not of a place (hs_root_is_place: in a section, in thread-local storage, in the thread library's
 * own memory), an unclaimed mapping, a register or a slot without a variable, and not of a table of
 * the loader, libc or an allocator. */
#ifndef HS_ANALYSIS_ATTRIBUTION_H
#define HS_ANALYSIS_ATTRIBUTION_H

#include "analysis/view.h"

/* The most roots of a set that still answers who owns something. */
#define HS_ATTRIBUTED_ROOTS 8
#define HS_ATTRIBUTED_MODULES 3

/* The private memory of a process, resident but for blocks: the words of these are counted whether
 * they are or not. The parts add up to the first. */
struct hs_private_memory {
    uint64_t all_bytes;                    /* 0: the snapshot does not say where the memory was */
    uint64_t reached_bytes, garbage_bytes; /* blocks that a root leads to, and others */
    uint64_t free_bytes;                   /* free in an allocator, and its own tables */
    uint64_t stacks_bytes, mappings_bytes; /* the second with the data of binaries */
    uint64_t other_heaps_bytes;            /* of a runtime whose heap is known not to be read */
    uint64_t not_read_bytes;               /* of nobody that is known */
    uint64_t absent_bytes;                 /* of blocks: not resident */
};

/* The words by owner; the four by the number of roots add up to the first. */
struct hs_attribution {
    uint64_t reached_words;
    uint64_t owned_words;      /* retained by one named root */
    uint64_t attributed_words; /* and by a set of at most HS_ATTRIBUTED_ROOTS, all named */
    uint64_t by_1_words, by_2_3_words, by_4_8_words, by_more_words; /* by the number of roots */
    /* Three further shares. In the first all variables of one source file are one owner, which
     * texts of code may have named; the second asks for no names: at most HS_ATTRIBUTED_ROOTS
     * roots, or the blocks that most hangs on; in the third a thread's calls are one of at most
     * HS_ATTRIBUTED_MODULES. */
    uint64_t to_files_words, to_objects_words, to_modules_words;
    struct hs_private_memory memory;
    uint64_t unread_words; /* that no root owns: hs_unread.counted_words */
};

/* Returns words in percent of what is reached and what was not read; and of all private memory. */
double hs_attribution_percent(const struct hs_attribution *attribution, uint64_t words);
double hs_private_percent(const struct hs_attribution *attribution, uint64_t words,
                          unsigned word_bytes);

/* Tells whether a root (a variable, or a leaf below none) has a name in this sense. O(1). */
bool hs_root_is_named(const struct hs_view *view, hs_node root);

/* Sums the heap words of blocks of each tier: what hangs on a runtime's own tables and on borrowed
 * references, and what on doubt alone, by the policy of the index. O(n): decodes the sizes of all
 * chunks. */
hs_status hs_tier_words(const struct hs_view *view, uint64_t words[HS_N_TIERS],
                        struct hs_error *err);

/* Computes the attribution. O(tree + roots of sets + blocks that several roots keep and no block
 * dominates). */
void hs_attribution_find(const struct hs_view *view, struct hs_attribution *ret);

#endif
