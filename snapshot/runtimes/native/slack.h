/* The last word of glibc's blocks, which may lie beyond what was asked for.
 *
 * A chunk has 16 n - 8 bytes for its owner: for malloc(96) and for malloc(104) the same 104. What
 * stands in the last word of the first was left by who had the memory before, and it is as good a
 * pointer as any. Where a type describes the block it tells; else blocks of one size are judged
 * together: a member that is a pointer is one, or 0, in most of them, and the slack of those that
 * have none holds sizes of chunks, text, and mostly 0. And doubtful is only what leads to blocks to
 * which roots that are not doubtful lead without such words: what nothing surer has is owned by
 * what there is, be it the only block of its kind (the table at the end of bash's context of
 * variables).
 *
 * Fewer than four blocks of a size tell nothing about it. Where the program has debug information
 * (strangers.h) the last word of such a block of its own is doubtful only beside what a variable or
 * a word of a type leads there: memory without a type may have any old word itself, anywhere.
 *
 * Resident: 16 KiB, and a bit per block, with debug information two; another one while roots are
 * marked. */
#ifndef HS_NATIVE_SLACK_H
#define HS_NATIVE_SLACK_H

#include "base/bitmap.h"
#include "heaps/heap_map.h"

struct hs_slack {
    struct hs_slack_size {
        uint32_t n, n_words;          /* blocks, last words that are not 0 */
        uint32_t n_starts, n_middles; /* of these, that lead to the start of a block, into one */
    } * sizes;                        /* owned: by the number of 16 bytes */
    struct hs_bitmap late; /* by rank: whose last word waits until all others are marked */
    struct hs_bitmap sure; /* by rank: what the others lead to; no bits: not known yet */
    struct hs_bitmap told; /* by rank: of these, that roots and words of types lead to; no bits:
                              types tell nothing */
};

hs_status hs_slack_init(struct hs_slack *slack, struct hs_error *err);
#define HS_TOLD_BYTES(n_blocks) ((n_blocks) / 8)
void hs_slack_fini(struct hs_slack *slack);

/* Tells whether the last word of such a block may be slack. */
static inline bool hs_slack_has(const struct hs_heap_block *block)
{
    return block->span->form == HS_SPAN_HEADERS;
}

/* Returns the counts of the block's size, or NULL when no more of them are of use. */
struct hs_slack_size *hs_slack_open(const struct hs_slack *slack,
                                    const struct hs_heap_block *block);
static inline void hs_slack_count(struct hs_slack_size *size, uint64_t word, enum hs_pointer how)
{
    size->n++;
    size->n_words += word != 0;
    size->n_starts += how == HS_POINTER_START;
    size->n_middles += how == HS_POINTER_INTERIOR;
}

/* Tells whether words other than last ones that are in doubt lead to the block of this rank; true
 * while that is not known yet. */
static inline bool hs_slack_is_led_to(const struct hs_slack *slack, uint64_t rank)
{
    return slack->sure.n_bits == 0 || hs_bitmap_get(&slack->sure, rank);
}

/* Tells whether a word at `at` of a block that no type describes there, which leads so to the block
 * of `target_rank`, is doubtful. `is_own`: the block is the program's own. */
bool hs_slack_is(const struct hs_slack *slack, const struct hs_heap_block *block, bool is_own,
                 uint64_t at, enum hs_pointer how, uint64_t target_rank);

#endif
