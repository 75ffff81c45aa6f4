/* Pointers that take two words to compute.
 *
 *   xor      each node of a list has the xor of its neighbours' addresses in one word. The first
 *            node has one neighbour only, so that its word is a plain pointer; from there on each
 *            step is known: next = word(node) ^ before
 *   offset   a table of 32-bit distances from an address that a root holds (compressed pointers)
 *
 * One such word is worth nothing: most small numbers would lead somewhere. So a list counts only
 * when it can be walked from a reached node to its end (no next node, or a reached one), and an
 * offset only in a run of eight that all lead to starts of blocks, of which nothing else reaches at
 * least six. What they lead to is unsure, as is what hangs on it: a possible leak.
 *
 * Cost: words of unreached blocks are looked at once; then of each block the words at the offsets
 * at which unreached blocks of its size had small numbers; and of all blocks and of the data of
 * objects one word in 32 bytes. Steps and look-ups are bounded by the number of blocks.
 *
 * Limit: a list whose first node is no block, offsets that stand alone or are relative to their own
 * address (but fontconfig's, which are known: heaps/fontconfig), halves of addresses, and tables on
 * stacks are not seen. */
#ifndef HS_NATIVE_COMPUTED_H
#define HS_NATIVE_COMPUTED_H

#include "scan.h"

/* Marks as unsure what such words lead to, and counts it in scan->n_computed. Does nothing when all
 * is reached. Fails with HS_LIMIT. */
hs_status hs_scan_mark_computed(struct hs_scan *scan, struct hs_error *err);

#endif
