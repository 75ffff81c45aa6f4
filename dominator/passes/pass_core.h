/* The state that core and attach pass share, and the pieces of the core pass. */
#ifndef HS_PASS_CORE_H
#define HS_PASS_CORE_H

#include "base/parked.h"
#include "core_tree.h"
#include "pass_steps.h"
#include "peel.h"

/* Returns the core node in whose region a position lies. */
static inline uint32_t core_of(const struct hs_passes *passes, uint64_t position)
{
    return (uint32_t)(hs_bitmap_rank(&passes->is_head, position + 1) - 1);
}

/* The counts of work done. */
struct pass_core_counts {
    uint64_t n_edges;    /* between core nodes that went through rounds, each time */
    uint64_t n_climbed;  /* steps to common ancestors */
    uint32_t n_in_graph; /* nodes left to the engine in memory */
    uint64_t n_in_graph_edges;
};

/* The core pass at work: region[] of a node that is not resolved (not in is_reached) is the nearest
 * common ancestor of its sources so far. */
struct core_work {
    struct hs_passes *passes;
    const struct hs_progress *progress;
    struct core_tree tree;     /* of resolved nodes; without jumps when there was no room */
    struct hs_parked sequence; /* resolved nodes, each behind its region[] */
    struct pass_core_counts counts;
};

/* Resolves a node: region[node] is final. */
hs_status core_work_resolve(struct core_work *work, uint32_t node, struct hs_error *err);

/* Resolves nodes that are reached in two ways which have nothing but one node in common, and peels
 * again, as long as that leaves out enough. */
hs_status core_labels_resolve(struct core_work *work, struct peel *peel, struct hs_error *err);

/* Resolves what is reached of the nodes in `rows`, by the dominators of a graph in memory, or in a
 * file; closes the rows. */
hs_status core_graph_resolve(struct core_work *work, struct core_rows *rows, struct hs_error *err);

/* Puts passes->region aside while nobody asks for it, and brings it back. */
hs_status core_work_region_park(struct hs_passes *passes, struct hs_parked *ret,
                                struct hs_error *err);
hs_status core_work_region_fetch(struct hs_passes *passes, struct hs_parked *parked,
                                 struct hs_error *err);

/* Brings passes->sequence back, when there is a spill of it; closes that. */
hs_status core_work_sequence_fetch(struct hs_passes *passes, struct hs_parked *parked,
                                   struct hs_error *err);

/* Runs pass_core_run, with its counts. */
hs_status pass_core_counted(const struct hs_passes_input *input, struct hs_passes *passes,
                            struct pass_core_counts *ret, struct hs_error *err);

#endif
