/* Immediate dominators of everything that node 0 reaches, exactly, in O(m log n).
 *
 * A node u dominates v when every path from node 0 to v passes through u; the closest such u is
 * v's immediate dominator, and what u dominates is what would be freed without u. Nodes that are
 * not reached take no part: their edges into live nodes change nothing.
 *
 * Results stand in the order of one depth-first search, where a dominator comes before what it
 * dominates, so that sums over subtrees are one backward sweep:
 *
 *   number[node]  = 1 + preorder number, 0 when not reached      n_nodes entries
 *   idom[number]  = preorder number of the immediate dominator   n_reached entries, idom[0] = 0
 *
 * Working memory beside the graph and the result: about 12 bytes per node and 8 per edge that is
 * not a tree edge, freed on return. */
#ifndef HS_DOMINATOR_DOMINATORS_H
#define HS_DOMINATOR_DOMINATORS_H

#include "graph/graph.h"

struct hs_domtree_counts {
    uint64_t n_core;    /* reached nodes with an in-edge that is no tree edge */
    uint64_t n_logged;  /* such edges that the search could not settle at once */
    uint64_t n_evals;   /* path evaluations */
    uint64_t n_climbed; /* steps of all climbs to immediate dominators */
};

struct hs_domtree {
    uint32_t n_nodes, n_reached;
    uint32_t *number; /* owned */
    uint32_t *idom;   /* owned; room for n_nodes */
    struct hs_domtree_counts counts;
};

/* Node 0 must exist. HS_LIMIT when out of memory or interrupted. */
hs_status hs_domtree_build(const struct hs_graph *graph, const struct hs_progress *progress,
                           struct hs_domtree *ret, struct hs_error *err);
void hs_domtree_fini(struct hs_domtree *tree);

/* The node of each preorder number: n_reached entries in room for n_nodes, freed with
 * hs_pages_free(order, n_nodes, sizeof(uint32_t)). */
hs_status hs_domtree_order(const struct hs_domtree *tree, uint32_t **ret, struct hs_error *err);

#endif
