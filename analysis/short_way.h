/* A shortest way along pointers from one block to another, searched forwards among a bounded number
 * of blocks: names say by which members one leads to the other. */
#ifndef HS_ANALYSIS_SHORT_WAY_H
#define HS_ANALYSIS_SHORT_WAY_H

#include "analysis/view.h"

#define HS_SHORT_WAY_MET 4096     /* blocks that a search meets at most */
#define HS_SHORT_WAY_POINTERS 256 /* of each, those of the smallest offsets */
#define HS_SHORT_WAY_STEPS 24     /* blocks on a way, both ends included */

/* Finds the way, ways[0] == from, ways[*ret_n - 1] == to, by exact and interior pointers; from one
 * block to itself, a shortest cycle. *ret_n is 0 when none is found among so many blocks, or it is
 * longer. Of equal ways the one by smaller offsets. At most 128 KiB, of the budget. */
hs_status hs_short_way(struct hs_view *view, hs_node from, hs_node to,
                       hs_node way[HS_SHORT_WAY_STEPS], size_t *ret_n, struct hs_error *err);

#endif
