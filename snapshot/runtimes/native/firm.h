/* Three marking passes: blocks reachable by non-speculative pointers, blocks reachable from names
 * through typed blocks, and, of blocks that have an owner, those that another block of the same
 * owner points to. */
#ifndef HS_NATIVE_FIRM_H
#define HS_NATIVE_FIRM_H

#include "scan.h"

/* A walk along words that are not in doubt. */
struct hs_firm {
    struct hs_scan *scan; /* borrowed */
    struct hs_block_queue queue;
    struct hs_bitmap *marks; /* borrowed; by rank: what was met */
    uint64_t n_bytes;        /* of what was met */
    bool is_within;          /* only from blocks to others that end with them */
    bool is_still;           /* what is met is not gone on from */
    bool is_below_names;     /* what is met is gone on from where it is known what it is */
    bool is_own;             /* not from strangers' variables, nor through handles: strangers.h */
    struct hs_firm *beyond; /* borrowed; with `is_own`: goes on behind handles. NULL: nobody does */
    const struct hs_bitmap *besides; /* borrowed; by rank: was met by another walk; or NULL */
    struct hs_firm_news *news;       /* borrowed; what is met is noted there; or NULL */
};
/* Blocks that were met by none of the walks before, by rank, while they are no more than
 * HS_FIRM_NEWS. */
enum { HS_FIRM_NEWS = 1 << 20 };
struct hs_firm_news {
    uint64_t *ranks; /* owned */
    size_t n, capacity;
    bool is_more;     /* there were */
    uint64_t n_bytes; /* of all that were met */
};
/* Opens a walk that marks in `marks`; between hs_scan_begin and hs_scan_end. Fails with HS_LIMIT.
 */
hs_status hs_firm_open(struct hs_firm *firm, struct hs_scan *scan, struct hs_bitmap *marks,
                       struct hs_error *err);
void hs_firm_close(struct hs_firm *firm);
/* Opens a walk that goes on behind the handles that `firm`, which is open, comes to, and leaves out
 * what `firm` has met. To be closed before `firm`. */
hs_status hs_firm_open_beyond(struct hs_firm *beyond, struct hs_firm *firm, struct hs_bitmap *marks,
                              struct hs_error *err);
void hs_firm_close_beyond(struct hs_firm *beyond, struct hs_firm *firm);
/* Meets the target of a root that is neither doubtful nor weak; hs_firm_drain goes on from there.
 */
hs_status hs_firm_add(struct hs_firm *firm, const struct hs_root_leaf *leaf, struct hs_error *err);
/* Meets a block, as if a root led there. */
hs_status hs_firm_take(struct hs_firm *firm, const struct hs_heap_block *block,
                       struct hs_error *err);
hs_status hs_firm_drain(struct hs_firm *firm, struct hs_error *err);

/* Fills scan->firm, where other runtimes serve, after hs_scan_begin: the blocks that roots which
 * are not in doubt reach by words that are not. A root of OCaml's in a block that only a guess
 * leads to stays a root: the guess must not take its place. Linear in the words of those blocks. */
hs_status hs_scan_mark_firm(struct hs_scan *scan, struct hs_error *err);
/* Fills scan->below_names, in a Python interpreter some of whose blocks have names; after
 * mark_roots: what names reach through blocks of which it is known what they are, and what these
 * lead to. Linear in the words of those blocks; a bit for each block of the heap. */
#define HS_BELOW_NAMES_BYTES(n_blocks) ((n_blocks) / 8)
hs_status hs_scan_mark_below_names(struct hs_scan *scan, struct hs_error *err);
/* Fills scan->entries (owned.h), where anything has an owner; between begin and mark_roots. Twice
 * the words of such blocks; 3 bits for each block of the heap, of which one stays. */
#define HS_OWNED_BYTES(n_blocks) ((n_blocks) / 8 * 3)
hs_status hs_scan_find_owned(struct hs_scan *scan, struct hs_error *err);

#endif
