/* A flow of at most HS_CUT_MOST + 1 ways from the roots to the targets that share no unit, and the
 * cuts that it is held to. See analysis/cut.h.
 *
 *   unit 0      stands for all targets: what leads to one of them leads to it
 *   state       2 * unit, or + 1: behind the unit (where its ways begin); the search goes
 * backwards, from the targets on, along what is left of the capacities */
#ifndef HS_ANALYSIS_CUT_FLOW_H
#define HS_ANALYSIS_CUT_FLOW_H

#include "analysis/cut.h"
#include "base/table.h"
#include "nearest_dominator.h"

struct cut_unit {
    hs_node node; /* HS_NO_NODE for unit 0 */
    size_t arcs;  /* where the units that lead to this one begin */
    uint32_t n_arcs;
    uint32_t from[2]; /* by side: the state that this one was met from; HS_NO_NUMBER: not met */
    uint32_t next;    /* the unit that its flow goes on to */
    uint32_t row;     /* the last unit whose arcs it was put into, + 1 */
    bool is_expanded, has_flow, is_target;
    bool is_below; /* behind the cut nearest to the targets */
};

struct cut_flow {
    struct hs_view *view;
    const hs_node *targets; /* borrowed */
    size_t n_targets;
    struct hs_nearest climb;
    struct hs_table by_node;
    struct cut_unit *units; /* owned */
    size_t n_units, units_capacity;
    uint32_t *arcs; /* owned */
    size_t n_arcs, arcs_capacity;
    uint32_t *queue; /* owned: states that were met */
    size_t n_queued, queue_capacity, at;
    uint64_t n_read;
    uint64_t taken_bytes;
    unsigned n_ways;
    /* The unit of the cut on each augmenting path, for the cut nearest to the block and the one
     * nearest to the roots; where there is a cut. */
    uint32_t near_object[HS_CUT_MOST], near_roots[HS_CUT_MOST];
};

/* Finds the ways, and with at most HS_CUT_MOST of them both cuts. */
hs_status cut_flow_init(struct hs_view *view, const hs_node *targets, size_t n_targets,
                        struct cut_flow *ret, struct hs_error *err);
void cut_flow_fini(struct cut_flow *flow);

/* The unit of a node; HS_NO_NUMBER when the search met none of it, as of what no root reaches. */
hs_status cut_flow_unit(struct cut_flow *flow, hs_node node, uint32_t *ret, struct hs_error *err);

#endif
