/* Strongly connected components of what node 0 reaches: Tarjan, "Depth-first search and linear
 * graph algorithms" (1972), without recursion. */
#ifndef HS_STRONG_COMPONENTS_H
#define HS_STRONG_COMPONENTS_H

#include "graph/graph.h"

struct strong_components {
    uint32_t n_nodes, n_components;
    /* By node; HS_NONE when not reached. Every edge leads to the same or to a smaller number. */
    uint32_t *of;
};

/* O(n + m); 16 bytes per node while it runs, 4 afterwards. */
hs_status strong_components_find(const struct hs_graph *graph, struct strong_components *ret,
                                 struct hs_error *err);
void strong_components_fini(struct strong_components *components);

#endif
