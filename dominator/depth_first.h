/* The one depth-first search of the dominator engine: preorder numbers, tree parents, and a log of
 * the edges that are not tree edges. The graph is never looked at again afterwards.
 *
 * Many of these edges are settled on the spot. A node that is taken as the last pending edge of all
 * has everything numbered later under it, and no node above it has an edge there: so no
 * semidominator of what lies under it is smaller. Such nodes, from node 0 down, are the *spine*
 * (the last kind of roots, its last module, ...; blocks are left out). The *branch* is the latest
 * child of the spine's end. An edge that leaves the branch makes the spine node above its target
 * that target's semidominator: it is logged as an edge from there. */
#ifndef HS_DEPTH_FIRST_H
#define HS_DEPTH_FIRST_H

#include "graph/graph.h"

#define SPINE_MAX 8

/* An edge between preorder numbers. */
struct numbered_edge {
    uint32_t target, source;
};

struct depth_first {
    uint32_t n_nodes, n_reached;
    uint32_t *number; /* 1 + preorder number; 0 = not reached; room for n_nodes */
    uint32_t *parent; /* by preorder number */
    struct numbered_edge *log;
    uint64_t n_log, log_capacity;
    uint32_t spine[SPINE_MAX]; /* preorder numbers, ascending from 0 */
    uint32_t n_spine;
    uint32_t branch;
};

/* The deepest spine node above a node other than 0: no semidominator of it is smaller. */
static inline uint32_t depth_first_bound(const struct depth_first *search, uint32_t number)
{
    uint32_t at = search->n_spine - 1;
    while (search->spine[at] >= number)
        at--; /* ends: spine[0] is 0 */
    return search->spine[at];
}

hs_status depth_first_search(const struct hs_graph *graph, const struct hs_progress *progress,
                             struct depth_first *ret, struct hs_error *err);
void depth_first_fini(struct depth_first *search);
/* The log alone, as soon as it has been read. */
void depth_first_drop_log(struct depth_first *search);

#endif
