/* The graph of reachable sizes, condensed: dominator subtrees that hang under the inner nodes of
 * the root tree are one *unit* each, then every strongly connected component of units is one node.
 * Both engines find units in their own way and go on here.
 *
 *   unit:  0 .......... n_tree | heads ............ n_units
 *          nodes of the tree   | blocks under inner nodes, with all that they dominate
 *   node:  0 = sinks ............................ the root tree's node 0 = n_nodes - 1
 *          every edge leads to a smaller number: descending order is topological
 *   end:   a unit that leads to no other one (most of what a heap shares: strings), left out of the
 *          graph and read from a file whenever it is needed. Out of core only
 *
 * Where the graph has no room it is in files (struct hs_condensed_files), which searches read from
 * end to end: 12 bytes a node are enough then, however many edges there are.
 *
 * What is allocated is reserved in the budget first, where there is one. */
#ifndef HS_DOMINATOR_CONDENSED_H
#define HS_DOMINATOR_CONDENSED_H

#include "base/spill.h"
#include "dominator/owner_sets.h"
#include "dominator/stored_rows.h"
#include "dominator/unit_sizes.h"
#include "graph/graph.h"

struct hs_condensed_ends {
    uint32_t n;
    uint64_t n_edges;      /* into ends, from nodes */
    struct hs_spill spill; /* sealed: end | 1 + node, for each that leads to it | 0; varints */
    uint8_t *degree;       /* owned pages: by node, the bits of the number of ends that it leads
                              to; NULL where no ends are left out */
};

/* The files of a graph that is not in memory. */
struct hs_condensed_files {
    struct hs_spill rows;      /* sealed: words: what leads to node 0 | HS_NONE | to node 1 | ...;
                                  not each once */
    struct hs_spill sizes;     /* sealed: own sizes by descending node, then by end; varints */
    uint64_t ends_at;          /* in it: where those of ends begin */
    uint32_t *alone;           /* owned pages: by node of the root tree, the only node that it leads
                                  to; HS_NONE: none; its own: several, or ends */
    struct hs_sizes *tree_own; /* owned: own sizes of these, until the result takes them */
};

struct hs_condensed {
    uint32_t n_nodes;
    bool is_stored; /* in files; graph, sizes and degrees are empty then */
    struct hs_condensed_files files;
    struct hs_graph graph;      /* no duplicates, no self loops */
    struct hs_unit_sizes sizes; /* own sizes by node, then by end */
    uint32_t *of_tree;          /* the node of each node of the root tree */
    uint32_t n_tree;
    struct hs_condensed_ends ends;
    bool is_reversed;    /* the rows are of what leads to a node */
    uint64_t *signature; /* owned pages: by node, then by end: XOR of the numbers of the roots that
                            reach it (dominator/owner_sets.h); NULL where sets are not asked for */
    struct hs_budget *budget; /* borrowed; NULL: no limit */
    uint64_t graph_bytes;     /* taken for the graph */
    uint64_t reserved_bytes;  /* for the rest */
};

/* Counts nodes and ends. */
static inline uint64_t hs_condensed_places(const struct hs_condensed *condensed)
{
    return (uint64_t)condensed->n_nodes + condensed->ends.n;
}

/* The order of the sizes of a stored graph: converts a place to its position in it, and back; and
 * writes the sizes of the next position, for whoever makes the graph. */
static inline uint64_t hs_condensed_turn(const struct hs_condensed *condensed, uint64_t at)
{
    return at < condensed->n_nodes ? condensed->n_nodes - 1 - at : at;
}
hs_status hs_condensed_put_sizes(struct hs_spill *spill, const struct hs_sizes *sizes,
                                 struct hs_error *err);

/* The room for a graph: it goes into memory when all that is done with it later has room there,
 * too, else into files. */
struct hs_condensed_room {
    struct hs_budget *budget;
    uint64_t n_ends;     /* at most */
    uint64_t n_wide;     /* units that hs_unit_sizes has no 8 bytes for, at most */
    uint64_t sink_bytes; /* hs_owner_request's */
    bool (*fits)(const struct hs_condensed_room *room, uint64_t n_nodes, uint64_t n_edges,
                 uint64_t n_tree); /* hs_condensed_fits */
};

/* The most memory that queries of a graph in memory take once its components are known, and whether
 * there is that much. */
uint64_t hs_condensed_memory_bytes(const struct hs_condensed_room *room, uint64_t n_nodes,
                                   uint64_t n_edges, uint64_t n_tree);
bool hs_condensed_fits(const struct hs_condensed_room *room, uint64_t n_nodes, uint64_t n_edges,
                       uint64_t n_tree);

/* Returns the most memory that a graph in files takes once its components are known: of so many
 * units, those of the root tree included. */
uint64_t hs_condensed_stored_bytes(uint64_t n_units, uint64_t n_tree, uint64_t sink_bytes);

/* Returns the memory of a graph of units: whoever makes one reserves it, hs_condensed_join releases
 * it. */
uint64_t hs_condensed_graph_bytes(uint64_t n_nodes, uint64_t n_edges);

/* Makes the condensed graph of the edges between units: tree nodes are the first n_tree of them.
 * The graph is freed in any case; before the graph of components is made where `edges` gives the
 * same edges, else after it. Sizes are not made yet: the caller adds those of every unit to the
 * node in *ret_component (HS_NONE: not reached), n_units entries that are freed with hs_pages_free
 * and counted as theirs. With `room` (else NULL: in memory) the graph goes to files where it has
 * none. O(n + m); 12 bytes per unit beside the graph of units while it runs, or what stays and 4
 * bytes per node. */
hs_status hs_condensed_join(struct hs_graph *units, uint32_t n_tree,
                            const struct hs_unit_edge_source *edges,
                            const struct hs_condensed_room *room, struct hs_condensed *ret,
                            uint32_t **ret_component, struct hs_error *err);
/* Returns the memory taken while components are found, the graph of units included. */
uint64_t hs_condensed_join_bytes(uint64_t n_units, uint64_t n_edges);
/* The same of units whose edges are put into a file (dominator/stored_rows.h): 16.1 bytes per unit
 * and twice HS_STORED_LEAST_BYTES, however many edges there are between units. */
hs_status hs_condensed_join_stored(uint32_t n_units, uint32_t n_tree,
                                   const struct hs_unit_edge_source *edges,
                                   const struct hs_condensed_room *room, struct hs_condensed *ret,
                                   uint32_t **ret_component, struct hs_error *err);
void hs_condensed_fini(struct hs_condensed *condensed);
/* Reverses the graph: rows of what leads to a node, ascending. Nothing to do the second time, and
 * where it is stored. */
hs_status hs_condensed_reverse(struct hs_condensed *condensed, struct hs_error *err);

/* Computes the reachable size of every node of the root tree: *ret has n_tree entries, freed with
 * hs_free. Reverses the graph. With `roots` (else NULL), leaves the signatures that these give to
 * all nodes and ends, 8 bytes each; those of nodes of the root tree mean nothing. */
hs_status hs_condensed_reach(struct hs_condensed *condensed, const struct hs_owner_roots *roots,
                             const struct hs_progress *progress, struct hs_sizes **ret,
                             struct hs_error *err);
/* Frees the signatures, which are no longer needed. */
void hs_condensed_drop_signatures(struct hs_condensed *condensed);

#endif
