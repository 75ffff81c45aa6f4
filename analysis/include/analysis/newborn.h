/* One block to look at, of those that made a key grow: one that is in the newer snapshot and was
 * not in the older, which is to say that there was none of its address, type and size. That is only
 * likely: an allocator reuses places. Where a collector moves blocks nothing tells them apart, and
 * it is one of the key's. */
#ifndef HS_ANALYSIS_NEWBORN_H
#define HS_ANALYSIS_NEWBORN_H

#include "analysis/series.h"

struct hs_newborn {
    hs_node node; /* of the newer snapshot; HS_NO_NODE: there is none */
    hs_addr address;
    bool is_new; /* else one of them */
};

/* Finds such a block. `key` is a row of the series' keys; `older` may be NULL: then no block is
 * known to be new. Blocks of the key's own come before those below it. Needs the newer view's
 * index; costs what hs_keys_find does with blocks, and a pass over the sizes and types of each. */
hs_status hs_newborn_find(struct hs_view *newer, struct hs_view *older,
                          const struct hs_series *series, uint32_t key, struct hs_newborn *ret,
                          struct hs_error *err);

#endif
