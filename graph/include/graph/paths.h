/* The paths by which roots reach a node: shortest paths, searched backwards from the node over
 * predecessors.
 *
 *   nodes:  | leaf  block ... block target | leaf  block ... target | ...
 *   begin:  ^0                             ^begin[1]                ^begin[n_paths]
 *
 * Breadth first, so paths come out by length. Cost: each node and edge that leads to the target at
 * most once (once for each path with `disjoint`). Memory grows with what is visited, some 4.5 bytes
 * per node and 8 per step of a path, and is reserved in the budget; a node's predecessors are read
 * one by one. */
#ifndef HS_GRAPH_PATHS_H
#define HS_GRAPH_PATHS_H

#include "base/budget.h"
#include "base/progress.h"
#include "graph/packed.h"

struct hs_predecessors {
    /* Returns the sources of `node`, ascending. Every one < n_nodes. */
    struct hs_row (*of)(void *context, hs_node node);
    void *context;
    hs_node n_nodes, n_tree;
    /* Tells whether an edge of a row takes part; NULL: all do. */
    bool (*takes_part)(void *context, hs_node source, hs_node target);
};

struct hs_paths {
    hs_node *nodes; /* owned */
    size_t n_nodes, nodes_capacity;
    size_t *begin; /* owned; n_paths + 1 */
    size_t n_paths, begin_capacity;
    bool is_complete;         /* the search ended by itself, not at the limit */
    struct hs_budget *budget; /* borrowed: what `nodes` are taken from */
};

struct hs_path_query {
    hs_node target; /* a block */
    uint64_t limit; /* paths wanted, at least 1 */
    /* Paths share no root and no block but the target. Found greedily, the shortest first: there
     * may be a larger set of longer ones. Without it: one shortest path from each root. */
    bool disjoint;
    /* The node of the tree that counts as the root of a leaf; NULL: each leaf is one. */
    hs_node (*root_of)(const void *context, hs_node leaf);
    const void *root_context;
    /* Tells, before the sources of each block are looked at, whether what was found is enough: each
     * path to come has at least so many nodes. NULL: it never is. */
    bool (*is_enough)(void *context, const struct hs_paths *found, size_t least_nodes);
    void *enough_context;
    struct hs_budget *budget;           /* may be NULL */
    const struct hs_progress *progress; /* may be NULL */
};

/* Finds the paths. No path at all (an unreached block) is HS_OK with n_paths 0. HS_LIMIT when out
 * of memory, over the budget or asked to end; HS_FORMAT when a row is damaged. */
hs_status hs_paths_find(const struct hs_predecessors *predecessors,
                        const struct hs_path_query *query, struct hs_paths *ret,
                        struct hs_error *err);
void hs_paths_fini(struct hs_paths *paths);

#endif
