/* The choice of a snapshot's edges that make a graph: by their strength, and by the tier of what
 * they lead to.
 *
 * A node's tier is the smallest, over all ways from the roots, of the largest tier on the way (a
 * bottleneck): 0 firm, 1 a runtime's own, 2 doubtful. An edge that would reach a node at a higher
 * tier than the node has takes no part: so that a doubtful word keeps only what nothing firmer
 * keeps (LeakCanary's Shark does the same with weak edges). What is left is an ordinary graph.
 *
 *   takes part:   max(tier of source, tier of edge) <= tier of target
 */
#ifndef HS_GRAPH_EDGES_H
#define HS_GRAPH_EDGES_H

#include "base/bitmap.h"
#include "snapshot/reader.h"

enum hs_graph_edges {
    HS_GRAPH_STRONG,    /* strong edges only: what reachable sizes follow */
    HS_GRAPH_RETAINING, /* strong and active ephemeron edges: liveness and dominators */
    HS_GRAPH_SURE,      /* as retaining, without doubtful edges and roots: what surely lives */
    HS_GRAPH_FIRM,      /* as sure, without the roots that are a runtime's own */
    HS_N_GRAPH_EDGES
};

/* The tiers of all nodes, those of the root tree included, as two nested sets; nodes in neither are
 * doubtful or not reached. */
struct hs_tiers {
    struct hs_bitmap firm;  /* by node: tier 0 */
    struct hs_bitmap sound; /* by node: tier 0 or 1 */
};

/* Everything is borrowed. */
struct hs_edge_choice {
    enum hs_graph_edges edges;
    const struct hs_tiers *tiers; /* NULL: edges take part whatever their target's tier */
    /* A bit for each type whose blocks hold pointers where their words are called guessed. NULL: no
     * type does. */
    const struct hs_bitmap *pointers_in;
};

/* Returns the tier of a node that is reached. */
static inline unsigned hs_tiers_of(const struct hs_tiers *tiers, hs_node node)
{
    if (hs_bitmap_get(&tiers->firm, node))
        return HS_TIER_FIRM;
    return hs_bitmap_get(&tiers->sound, node) ? HS_TIER_RUNTIME : HS_TIER_DOUBTFUL;
}

/* Tells whether a way of this tier may lead to the node. */
static inline bool hs_tiers_admit(const struct hs_tiers *tiers, unsigned tier, hs_node node)
{
    return tier == HS_TIER_FIRM || !hs_bitmap_get(&tiers->sound, node) ||
           (tier == HS_TIER_RUNTIME && !hs_bitmap_get(&tiers->firm, node));
}

/* Returns the tier of the way from the top of the root tree through a leaf's own word. */
static inline unsigned hs_root_tier(const struct hs_root *root)
{
    unsigned tier = hs_edge_tier(root->edge_class);
    return tier > root->tier ? tier : root->tier;
}

/* Tells whether a node of the root tree has an edge to its block. O(1). */
bool hs_root_holds(const struct hs_root *root, const struct hs_edge_choice *choice);

/* Returns the columns of a chunk that have to be decoded for hs_chunk_choose, beside
 * HS_COL_EDGES. */
unsigned hs_edge_columns(const struct hs_edge_choice *choice);

/* Leaves in a chunk's rows of strong edges, and among its extra edges, only those that the choice
 * takes; in place. What else is known of edges (offsets, classes) does not follow. O(edges). */
void hs_chunk_choose(struct hs_chunk *chunk, const struct hs_edge_choice *choice);

/* Tells whether anything in the snapshot is in doubt or a runtime's own, so that tiers differ. Of
 * files before version 3 nobody knows what their edges are: then true. O(tree). */
bool hs_snap_has_tiers(const struct hs_snap *snap);

#endif
