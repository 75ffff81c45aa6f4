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
 * Working memory beside the graph and the result: at most 12 bytes per node and 8 per edge that is
 * not a tree edge, freed on return. */
#ifndef HS_DOMINATOR_DOMINATORS_H
#define HS_DOMINATOR_DOMINATORS_H

#include "base/budget.h"
#include "dominator/stored_rows.h"

struct hs_domtree_counts {
    uint64_t n_core;    /* reached nodes with an in-edge that is no tree edge */
    uint64_t n_logged;  /* such edges that the search could not resolve at once */
    uint64_t n_evals;   /* path evaluations */
    uint64_t n_climbed; /* steps of all climbs to immediate dominators */
};

struct hs_domtree {
    uint32_t n_nodes, n_reached;
    uint32_t *number; /* owned */
    uint32_t *idom;   /* owned; room for n_nodes */
    struct hs_domtree_counts counts;
    struct hs_budget *budget; /* borrowed: what both were taken from; NULL: none */
};

/* Finds the immediate dominators. Node 0 must exist. HS_LIMIT when out of memory or interrupted. */
hs_status hs_domtree_build(const struct hs_graph *graph, const struct hs_progress *progress,
                           struct hs_domtree *ret, struct hs_error *err);
/* The same, but the graph is freed in any case, as soon as it has been searched: half way. */
hs_status hs_domtree_consume(struct hs_graph *graph, const struct hs_progress *progress,
                             struct hs_domtree *ret, struct hs_error *err);

/* The same within a budget, from which the graph's arrays have been taken: hs_graph_bytes, given
 * back when the graph is freed. All else is taken as it is needed, the result too: given back with
 * it. With less than hs_domtree_room_bytes left, what is used in sequence goes to temporary files:
 *
 *   while searching   8.3 bytes per node, and the stack of edges that wait, 8 bytes each
 *   while evaluating  4.4 per node reached, 8.1 per node of the core, 4 per node of the longest
 *                     path, and 4 per edge to evaluate, unless that goes to a file, too
 *   while climbing    4.3 per node reached, 4 per node of the core; when there is a long climb,
 *                     8 more per node reached
 *
 * HS_LIMIT when that does not fit, HS_IO for what temporary files may say. A NULL budget is
 * hs_domtree_consume. */
hs_status hs_domtree_consume_within(struct hs_graph *graph, struct hs_budget *budget,
                                    const struct hs_progress *progress, struct hs_domtree *ret,
                                    struct hs_error *err);
/* Returns the memory that is enough, beside the graph, to need no temporary files. */
uint64_t hs_domtree_room_bytes(uint64_t n_nodes, uint64_t n_edges);
/* Returns the memory that is enough, beside the graph, for any graph of that size. */
uint64_t hs_domtree_least_bytes(uint64_t n_nodes, uint64_t n_edges);

/* Finds the dominators, as hs_domtree_consume_within, of rows in a file, which are freed in any
 * case: takes at most hs_domtree_stored_bytes of the budget at a time, 4 bytes per node of the rows
 * included, however many edges there are. Preorder numbers may be others, with the same
 * dominators. */
hs_status hs_domtree_consume_stored(struct hs_stored_rows *rows, const struct hs_progress *progress,
                                    struct hs_domtree *ret, struct hs_error *err);
uint64_t hs_domtree_stored_bytes(uint64_t n_nodes);

void hs_domtree_fini(struct hs_domtree *tree);
/* Frees `number` alone, when it is not needed any more. */
void hs_domtree_drop_number(struct hs_domtree *tree);

/* Lists the node of each preorder number: n_reached entries in room for n_nodes, freed with
 * hs_pages_free(order, n_nodes, sizeof(uint32_t)). */
hs_status hs_domtree_order(const struct hs_domtree *tree, uint32_t **ret, struct hs_error *err);

#endif
