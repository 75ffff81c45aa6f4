/* Blocks that somebody owns who frees them when he ends, whoever else leads to them: a context of
 * PostgreSQL's and its chunks (heaps/allocator.h). Only the owner keeps them, and those of his that
 * lead to them: other pointers there are borrowed, of edges guessed, of roots a runtime's own.
 *
 * Of an owner's blocks those that others of his lead to hang on these, so that a list stays a list;
 * he himself leads to the rest, the *entries*: blocks that no other of his leads to, and the first
 * of each circle. */
#ifndef HS_NATIVE_OWNED_H
#define HS_NATIVE_OWNED_H

#include "scan.h"

/* Goes over what a block owns; all zero at first. */
struct hs_owned_walk {
    uint64_t cursor, n_left; /* of the range that is gone over */
    struct hs_heap_iterator it;
};
/* The next entry of those that `owner` owns. False: there are no more; it owns none. O(1) for a
 * block that owns nothing; else the blocks passed over. */
bool hs_owned_next(const struct hs_scan *scan, const struct hs_heap_block *owner,
                   struct hs_owned_walk *walk, struct hs_heap_block *ret);
/* At least as many as there are entries. O(1) for a block that owns nothing; else its ranges. */
uint64_t hs_owned_most(const struct hs_scan *scan, const struct hs_heap_block *owner);
/* Do both end together, by one owner? */
bool hs_owned_together(const struct hs_scan *scan, const struct hs_heap_block *a,
                       const struct hs_heap_block *b);
/* Is a pointer from `from` to `to` borrowed, because another one owns that? */
bool hs_owned_is_borrowed(const struct hs_scan *scan, const struct hs_heap_block *from,
                          const struct hs_heap_block *to);

#endif
