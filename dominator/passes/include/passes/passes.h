/* Immediate dominators of a graph that does not fit in memory, exactly, without a search over the
 * whole graph.
 *
 * A node with one predecessor is dominated by it at once. Such nodes hang in trees, the *regions*,
 * each under a *core* node: node 0, or a node with several predecessors (Ullman's rule T2, applied
 * once). The passes:
 *
 *   forest    children lists of the regions, packed in memory, searched depth first: every node
 * that hangs under a core node gets a *position*; a region is a run of positions, its core node
 * first. Nodes that get none are not reached (cycles and trees of garbage). edges     into core
 * nodes, as positions of their sources (hs_passes.core_edges) core      dominators of the core
 * graph, core node to core node, by dominator/dominators.h; core nodes without successors are left
 * out first and hung in afterwards attach    the region that holds a core node's immediate
 * dominator is known; the node in it is the nearest common ancestor, in the region's tree, of the
 * places where all ways to the core node leave the region
 *
 * Resident at a time: about 4.4 bytes per node (5.5 from 2^32 nodes on) and 32 MiB; where most of
 * the graph is core, up to 24 bytes per core node and 12 per edge between them. What is needed is
 * reserved in the budget first, so that too little ends with HS_LIMIT, early. */
#ifndef HS_PASSES_PASSES_H
#define HS_PASSES_PASSES_H

#include "base/bitmap.h"
#include "base/spill.h"
#include "dominator/owner_sets.h"
#include "dominator/weights.h"
#include "graph/ids.h"
#include "graph/sweep.h"

struct hs_passes_input {
    struct hs_sweep forward;  /* rows of targets; no self loops; node 0 is the root */
    struct hs_sweep backward; /* rows of sources: the same edges */
    struct hs_budget *budget;
    const struct hs_progress *progress;
};

/* The dominator tree in pieces.
 *
 *   position:  0 = node 0 .................... | ............. | ... n_positions
 *              region of core node 0           | of core node 1 | ...
 *
 * A position's immediate dominator: in a region, its parent there (from `depths`); of a region's
 * first, attach[core]. Core nodes are numbered by position. A region is reached as a whole or not
 * at all (is_reached). */
struct hs_passes {
    uint64_t n_nodes, n_tree, n_positions;
    struct hs_spill order;  /* the node of each position: hs_ids_width(n_nodes) bytes each */
    struct hs_spill depths; /* of each position in its region (the core node: 0), 4 bytes each */
    uint64_t max_depth;
    struct hs_bitmap is_head; /* by position: first of a region; indexed */
    uint32_t n_core;
    struct hs_spill core_edges;  /* see core_edges.h */
    struct hs_bitmap is_reached; /* by core node */
    uint32_t *region;            /* by core node: the core node whose region its immediate dominator
                                    lies in; HS_NONE for node 0 and unreached ones. Owned pages */
    struct hs_ids attach;        /* by core node: its immediate dominator's position; or none */
    uint32_t *sequence;          /* n_core entries, the first n_sequence used: reached core nodes,
                                    each behind region[] of it, node 0 first. Owned pages */
    uint32_t n_sequence;
    struct hs_budget *budget;
};

hs_status hs_passes_run(const struct hs_passes_input *input, struct hs_passes *ret,
                        struct hs_error *err);
void hs_passes_fini(struct hs_passes *passes);

/* Returns the least that hs_passes_run takes at a time for so many nodes: to refuse before
 * starting. */
uint64_t hs_passes_min_bytes(uint64_t n_nodes, uint64_t n_tree);

/* The counts from which the memory of hs_passes_run, and of what follows from it (below), is
 * foreseen. */
struct hs_passes_counts {
    uint64_t n_nodes, n_tree, n_edges;
    uint64_t n_single; /* nodes with one predecessor, at most */
    uint64_t n_core;   /* with several, and node 0; at most */
    /* The most bytes that the gaps between edges into core nodes take in files, the first edge of
     * each node apart. */
    uint64_t core_gap_bytes, row_gap_bytes;
    uint64_t n_words, n_static_words, n_static_blocks;
    uint64_t forward_bytes, backward_bytes; /* what the sweeps take of the budget */
    uint64_t first_bytes;                   /* of the sinks */
};
/* Returns what is enough, whatever the graph; for hs_passes_reachable, until the components are
 * found of what several roots share. */
uint64_t hs_passes_plan_bytes(const struct hs_passes_counts *counts);
/* Returns the most disk space that all of it has at one time, with what is left of the budget. */
uint64_t hs_passes_disk_bytes(const struct hs_passes_counts *counts, uint64_t left);
/* About how many edges lead into each HS_SWEEP_RUN blocks; NULL: not known. */
struct hs_passes_degrees {
    const uint64_t *of_run;
    size_t n_runs;
};
/* Fills n_nodes to row_gap_bytes in one sweep, with hs_passes_count_bytes resident, which are not
 * taken from a budget. */
hs_status hs_passes_count(const struct hs_sweep *forward, const struct hs_passes_degrees *degrees,
                          struct hs_passes_counts *ret, struct hs_error *err);
uint64_t hs_passes_count_bytes(uint64_t n_nodes);

/* ---- what follows from it, node by node in ascending order ---- */

/* A sink that gets every node once with its immediate dominator, HS_NO_NODE for node 0 and
 * unreached ones. Most of what was needed to find them is given back before the first is put. */
struct hs_idom_sink {
    hs_status (*put)(void *context, hs_node node, hs_node idom, struct hs_error *err);
    void *context;
    uint64_t first_bytes; /* what it takes of the budget when the first is put: kept free for it */
};
hs_status hs_passes_idoms(const struct hs_passes *passes, const struct hs_idom_sink *sink,
                          struct hs_error *err);

/* The weights of blocks, given node by node (nodes of the root tree weigh nothing). */
struct hs_weight_source {
    hs_status (*run)(const void *context,
                     hs_status (*put)(void *sink, hs_node node, uint64_t words, bool is_static,
                                      struct hs_error *err),
                     void *sink, struct hs_error *err);
    const void *context;
};
struct hs_weight_source hs_weights_of_snap(const struct hs_snap *snap);

/* A sink that gets every node once with what it retains; zero for unreached ones. As
 * hs_idom_sink. */
struct hs_retained_sink {
    hs_status (*put)(void *context, hs_node node, const struct hs_sizes *retained,
                     struct hs_error *err);
    void *context;
    uint64_t first_bytes;
};
hs_status hs_passes_retained(const struct hs_passes *passes, const struct hs_weight_source *weights,
                             const struct hs_progress *progress,
                             const struct hs_retained_sink *sink, struct hs_error *err);

/* Computes the reachable size of every node of the root tree, as hs_reachable_find
 * (dominator/reachable.h), and owner sets for `owners`, if any: *ret has n_tree entries, freed with
 * hs_free. The passes must be of the edges that reachable sizes follow, and of edges from node 0 to
 * blocks. The last thing to ask: the pieces are freed while it goes on, and only hs_passes_fini may
 * follow. */
hs_status hs_passes_reachable(struct hs_passes *passes, const struct hs_weight_source *weights,
                              const struct hs_owner_request *owners,
                              const struct hs_progress *progress, struct hs_sizes **ret,
                              struct hs_error *err);

#endif
