/* Equal groups: of memory without types, how often the same few blocks hang together. */
#ifndef HS_ANALYSIS_EQUAL_GROUPS_H
#define HS_ANALYSIS_EQUAL_GROUPS_H

#include "group_tree.h"

/* Finds how often the same hangs on a place: the dominator tree below it is cut at all blocks of
 * one size, each of which heads a piece up to the next. Of the few sizes whose blocks have most
 * hanging on them the one that makes most words pieces alike: within a tenth of the median by words
 * and by blocks. ret->n is 0 where such pieces have less than two fifths of the words, where there
 * are fewer than eight, or the heap has more than HS_EQUAL_MOST_BLOCKS blocks.
 *
 * A pass over the sizes of all blocks, and at most 5 walks of what hangs there; 2 bytes a block,
 * 24 bytes a piece and 32 KiB, of the budget. */
#define HS_EQUAL_MOST_BLOCKS (UINT64_C(1) << 20)
hs_status hs_equal_groups_find(const struct hs_group_kinds *kinds,
                               const struct hs_group_place *place, uint64_t n_blocks,
                               struct hs_equal_groups *ret, struct hs_error *err);

#endif
