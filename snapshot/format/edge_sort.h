/* The order of a block's edges in a snapshot: by target, then offset, then class. In place: a table
 * of pointers may be a block of millions of them. */
#ifndef HS_EDGE_SORT_H
#define HS_EDGE_SORT_H

#include "snapshot/model.h"

/* Returns the key by which edges from one word to one target are ordered: the class, then the
 * reason. */
static inline unsigned hs_edge_kind_key(const struct hs_edge *edge)
{
    return (unsigned)edge->edge_class << 8 | edge->reason;
}
bool hs_edge_precedes(const struct hs_edge *x, const struct hs_edge *y);

/* O(n) when they are sorted, else O(n) for each byte in which some differ. */
void hs_edges_sort(struct hs_edge *edges, size_t n);

#endif
