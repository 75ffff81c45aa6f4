/* How roots reach a node: shortest paths, searched backwards from the node over predecessors.
 *
 *   nodes:  | leaf  block ... block target | leaf  block ... target | ...
 *   begin:  ^0                             ^begin[1]                ^begin[n_paths]
 *
 * Breadth first, so paths come out by length. Cost: each node and edge that leads to the target at
 * most once (once for each path with `disjoint`); 8 bytes of address space per node, of which only
 * what is visited becomes resident. */
#ifndef HS_GRAPH_PATHS_H
#define HS_GRAPH_PATHS_H

#include "base/progress.h"
#include "graph/graph.h"

struct hs_predecessors {
    /* Sources of `node`, ascending. Borrowed. Every one < n_nodes. */
    const uint32_t *(*of)(const void *context, uint32_t node, uint32_t *ret_n);
    const void *context;
    uint32_t n_nodes, n_tree;
};

struct hs_path_query {
    uint32_t target; /* a block */
    uint64_t limit;  /* paths wanted, at least 1 */
    /* Paths share no root and no block but the target. Found greedily, the shortest first: there
     * may be a larger set of longer ones. Without it: one shortest path from each root. */
    bool disjoint;
    const struct hs_progress *progress; /* may be NULL */
};

struct hs_paths {
    uint32_t *nodes; /* owned */
    size_t n_nodes, nodes_capacity;
    size_t *begin; /* owned; n_paths + 1 */
    size_t n_paths, begin_capacity;
    bool is_complete; /* the search ended by itself, not at the limit */
};

/* No path at all (an unreached block) is HS_OK with n_paths 0. HS_LIMIT when out of memory or asked
 * to end. */
hs_status hs_paths_find(const struct hs_predecessors *predecessors,
                        const struct hs_path_query *query, struct hs_paths *ret,
                        struct hs_error *err);
void hs_paths_fini(struct hs_paths *paths);

#endif
