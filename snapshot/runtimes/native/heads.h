/* Links of intrusive lists that lead back to the head of the list.
 *
 *   head's block         members, of one size, each with its link at one offset
 *   | ... {n, p} ... |   | ... {n, p} ... |   | ... {n, p} ... |
 *          ^  +----------------> ^  +-------------> ^  +---+
 *          +-----------------------------------------------+
 *
 * list_head, LIST_ENTRY, wl_list, boost::intrusive, and std::list in a block: next and previous
 * lead from link to link, and at the ends to the link in the block that has the list. That block
 * owns its members, and is no member's; who has a member does not have the list. Known without
 * types: of a link whose neighbours lead back to it one is in a block of the same size at the same
 * offset, as is the next one behind that, and the other one is at another offset: that is the head.
 * In lists that end (TAILQ, LIST of BSD, hlist) the first member has the address of the head's
 * word. */
#ifndef HS_NATIVE_HEADS_H
#define HS_NATIVE_HEADS_H

#include "native.h"

/* Tells whether the word at `at` of a block, which leads into `target`, leads to the head of the
 * list that the block is a member of. O(1): none, one or two look-ups for most words.
 *
 * Limit: a head in a block as large as the members' ones, or at the same offset as their links. */
bool hs_heads_is(const struct hs_native *native, const struct hs_heap_block *block, uint64_t at,
                 const struct hs_heap_block *target);

#endif
