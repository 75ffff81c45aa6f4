/* Strongly connected components of what node 0 reaches: Tarjan's search in the form of Pearce, "A
 * space-efficient algorithm for finding strongly connected components" (2016). */
#ifndef HS_STRONG_COMPONENTS_H
#define HS_STRONG_COMPONENTS_H

#include "dominator/stored_rows.h"

struct strong_components {
    uint32_t n_nodes, n_components;
    /* The component of each node; HS_NONE when not reached. Every edge leads to the same or to a
     * smaller number. */
    uint32_t *of;
};

/* O(n + m); strong_components_bytes while it runs (12 bytes per node), 4 per node afterwards. */
uint64_t strong_components_bytes(uint64_t n_nodes);
hs_status strong_components_find(const struct hs_graph *graph, struct strong_components *ret,
                                 struct hs_error *err);
/* The same of rows in a file, which are open (dominator/stored_rows.h). */
hs_status strong_components_stored(struct hs_stored_rows *rows, struct strong_components *ret,
                                   struct hs_error *err);
void strong_components_fini(struct strong_components *components);

#endif
