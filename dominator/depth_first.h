/* The one depth-first search of the dominator engine: preorder numbers, tree parents, and a log of
 * the edges that are not tree edges. The graph is never looked at again afterwards.
 *
 * Many of these edges are resolved on the spot. A node that is taken as the last pending edge of
 * all has everything numbered later under it, and no node above it has an edge there: so no
 * semidominator of what lies under it is smaller. Such nodes, from node 0 down, are the *spine*
 * (the last kind of roots, its last module, ...; blocks are left out). The *branch* is the latest
 * child of the spine's end. An edge that leaves the branch makes the spine node above its target
 * that target's semidominator: the target is *resolved*, and no edge to it need be logged. */
#ifndef HS_DEPTH_FIRST_H
#define HS_DEPTH_FIRST_H

#include "base/parked.h"
#include "dominator/stored_rows.h"
#include "edge_log.h"
#include "engine.h"
#include "graph/graph.h"

#define SPINE_MAX 8

struct depth_first {
    struct hs_budget *budget;
    bool is_tight; /* what is used in sequence alone goes to disk */
    uint32_t n_nodes, n_reached;
    uint32_t *number; /* 1 + preorder number; 0 = not reached; room for n_nodes */
    struct hs_parked parked_number;
    uint32_t *parent;             /* by preorder number */
    struct hs_bitmap is_core;     /* by preorder number: entered by an edge that is no tree edge */
    struct hs_bitmap is_resolved; /* of these: the semidominator is the bound, see below */
    struct edge_log log;
    uint32_t spine[SPINE_MAX]; /* preorder numbers, ascending from 0 */
    uint32_t n_spine;
    uint32_t branch;
};

/* Returns the deepest spine node above a node other than 0: no semidominator of it is smaller. */
static inline uint32_t depth_first_bound(const struct depth_first *search, uint32_t number)
{
    uint32_t at = search->n_spine - 1;
    while (search->spine[at] >= number)
        at--; /* ends: spine[0] is 0 */
    return search->spine[at];
}

/* Logs an edge that is no tree edge, between preorder numbers; there is room in the log. */
static inline void depth_first_met(struct depth_first *search, uint32_t target, uint32_t source)
{
    if (target == 0 || target == source)
        return;
    hs_bitmap_set(&search->is_core, target);
    if (target < search->branch || source < search->branch)
        hs_bitmap_set(&search->is_resolved, target);
    else if (!hs_bitmap_get(&search->is_resolved, target))
        search->log.edges[search->log.n++] = (struct numbered_edge){target, source};
}

/* Allocates all but what waits: numbers, parents, bits and a log for so many edges. */
hs_status depth_first_alloc(struct depth_first *search, uint64_t n_edges, struct hs_error *err);

/* Searches a graph; the arrays that are made are reserved in the budget. */
hs_status depth_first_search(const struct hs_graph *graph, struct hs_budget *budget,
                             const struct hs_progress *progress, struct depth_first *ret,
                             struct hs_error *err);
/* The same of rows in a file, which lose their begins: 16.3 bytes per node, those of the rows
 * included, and twice HS_STORED_LEAST_BYTES, however many edges there are. Children of node 0 may
 * be taken in another order. */
hs_status depth_first_stored_search(struct hs_stored_rows *rows, const struct hs_progress *progress,
                                    struct depth_first *ret, struct hs_error *err);
void depth_first_fini(struct depth_first *search);

/* Puts `number` on disk, when memory is short, and brings it back. */
hs_status depth_first_park(struct depth_first *search, struct hs_error *err);
hs_status depth_first_fetch(struct depth_first *search, struct hs_error *err);

#endif
