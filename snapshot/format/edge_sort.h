/* The order of a block's edges in a snapshot: by target, then offset, then class. In place: a table
 * of pointers may be a block of millions of them. */
#ifndef HS_EDGE_SORT_H
#define HS_EDGE_SORT_H

#include "snapshot/model.h"

bool hs_edge_precedes(const struct hs_edge *x, const struct hs_edge *y);

/* O(n) when they are sorted, else O(n) for each byte in which some differ. */
void hs_edges_sort(struct hs_edge *edges, size_t n);

#endif
