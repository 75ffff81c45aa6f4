/* The checked decoding of the cells of IDOM, RETAINED, OWNERS and SETS: for whoever writes, reads
 * and verifies them. */
#ifndef HS_INDEX_CELLS_H
#define HS_INDEX_CELLS_H

#include "index_format.h"

/* Steps over cells of RETAINED. */
hs_packed_skip index_cells_skip_sizes;
/* Steps over cells of SETS. */
hs_packed_skip index_cells_skip_set;

/* Reads a dominator; HS_NO_NODE for none. HS_FORMAT for what is no node, or the node itself. */
hs_status index_cells_idom(struct hs_packed *idoms, struct hs_packed *predecessors, hs_node node,
                           hs_node *ret, struct hs_error *err);
/* Tells whether the dominator is not HS_NO_NODE, without looking at predecessors. */
hs_status index_cells_has_idom(struct hs_packed *idoms, hs_node node, bool *ret,
                               struct hs_error *err);
/* Reads the cell of RETAINED that comes next, as index_write.c writes it. */
struct hs_sizes index_cells_sizes_at(struct hs_cursor *cursor);
hs_status index_cells_sizes(struct hs_packed *retained, hs_node node, struct hs_sizes *ret,
                            struct hs_error *err);

/* Reads the tier of a node and its set: 0 for no top unit, HS_SET_OTHERS for one without a
 * number. */
hs_status index_cells_owner(struct hs_packed *owners, uint64_t n_sets, hs_node node,
                            unsigned *ret_tier, uint32_t *ret_set, struct hs_error *err);
/* Reads one set of 1 .. n_sets; its first top unit is a node. */
hs_status index_cells_set(struct hs_packed *sets, uint32_t set, struct hs_owner_set *ret,
                          struct hs_error *err);

/* Encodes a dominator: INDEX_IDOM_ONLY when `only` is the idom. */
static inline uint64_t index_idom_code(hs_node node, hs_node idom, hs_node only)
{
    if (idom == HS_NO_NODE)
        return INDEX_IDOM_NONE;
    if (idom == only)
        return INDEX_IDOM_ONLY;
    return INDEX_IDOM_FAR + hs_zigzag_encode((int64_t)(node - idom));
}

/* Finds the only value of a row, or HS_NO_NODE. */
hs_status index_cells_only(struct hs_packed *rows, hs_node node, hs_node *ret,
                           struct hs_error *err);

#endif
