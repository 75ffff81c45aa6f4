/* The edges, among those in the rows of predecessors, that keep their target alive: an edge that
 * would reach a node at a higher tier than the node has takes no part (graph/edges.h), and what no
 * root reaches keeps nothing. Every search from an object to its roots asks here.
 *
 * The classes of a block's edges are read with its chunk, once, when an edge of the block is first
 * in question: where the source is not worse than the target, and the target is not doubtful.
 * Resident, reserved in the budget: 40 bytes per edge that takes no part, of the chunks read. */
#ifndef HS_ANALYSIS_USED_EDGES_H
#define HS_ANALYSIS_USED_EDGES_H

#include "analysis/view.h"
#include "base/bitmap.h"

/* Opens the choice for a view that has its index; closed with the view. O(tree). */
hs_status hs_used_edges_open(struct hs_view *view, struct hs_error *err);
void hs_used_edges_close(struct hs_view *view);

/* Tells whether tiers decide which edges take part at all; *ret (borrowed) gets the types all of
 * whose words are firm. */
bool hs_used_edges_by_tier(const struct hs_view *view, const struct hs_bitmap **ret);

/* Tells whether an edge takes part. False also when that cannot be found out: whoever asks, asks
 * hs_used_edges_check before anything is shown. */
bool hs_edge_is_used(const struct hs_view *view, hs_node source, hs_node target);
hs_status hs_used_edges_check(const struct hs_view *view, struct hs_error *err);

/* The tier of an edge by itself: of its class, unless its source is of a type that is trusted
 * (--pointers-in). `type` is ignored for nodes of the root tree. */
unsigned hs_view_edge_tier(const struct hs_view *view, hs_node source, uint32_t type,
                           unsigned edge_class);

#endif
