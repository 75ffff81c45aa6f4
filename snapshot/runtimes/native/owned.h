/* Blocks with an owner that frees them when it ends, whatever else leads to them: a context of
 * PostgreSQL's and its chunks (heaps/allocator.h). Only the owner keeps them, and others of its
 * blocks that lead to them: pointers from elsewhere are borrowed, edges guessed, roots of the
 * runtime's tier.
 *
 * A block that another block of the same owner leads to hangs on that one, so that a list stays a
 * list; the owner itself leads to the rest, the *entries*: blocks that no other of its blocks leads
 * to, and the first of each cycle. */
#ifndef HS_NATIVE_OWNED_H
#define HS_NATIVE_OWNED_H

#include "scan.h"

/* Goes over what a block owns; all zero at first. */
struct hs_owned_walk {
    uint64_t cursor, n_left; /* of the range that is gone over */
    struct hs_heap_iterator it;
};
/* Finds the next entry of those that `owner` owns. False: there are no more, or it owns none. O(1)
 * for a block that owns nothing; else the blocks passed over. */
bool hs_owned_next(const struct hs_scan *scan, const struct hs_heap_block *owner,
                   struct hs_owned_walk *walk, struct hs_heap_block *ret);
/* Returns at least as many as there are entries. O(1) for a block that owns nothing; else its
 * ranges. */
uint64_t hs_owned_most(const struct hs_scan *scan, const struct hs_heap_block *owner);
/* Tells whether two blocks have one owner, with which both end. */
bool hs_owned_together(const struct hs_scan *scan, const struct hs_heap_block *a,
                       const struct hs_heap_block *b);
/* Tells whether a pointer from `from` to `to` is borrowed, because another block owns `to`. */
bool hs_owned_is_borrowed(const struct hs_scan *scan, const struct hs_heap_block *from,
                          const struct hs_heap_block *to);

#endif
