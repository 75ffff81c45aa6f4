/* What nodes take from the nearest of their dominators that has something to give: the climbs of
 * many nodes, each part of the way gone a few times at most however long the lists that they stand
 * in.
 *
 *   of the nodes that are passed every n-th is remembered, n growing with how many there were
 *
 * Resident: some MiB however large the heap, taken from the budget. */
#ifndef HS_ANALYSIS_CLIMB_H
#define HS_ANALYSIS_CLIMB_H

#include "analysis/view.h"

#define HS_CLIMB_NONE UINT64_MAX

struct hs_climb_slot {
    hs_node key; /* the node's number + 1; 0: empty */
    uint64_t value;
};

struct hs_climb {
    const struct hs_view *view;
    /* What is taken from a node of the root tree; `below` is the block by which it was climbed to,
     * HS_NO_NODE when the climb began at it. */
    uint64_t (*value_of)(const void *context, hs_node tree_node, hs_node below);
    const void *context;
    struct hs_climb_slot *slots; /* owned: open addressing, a power of two */
    size_t n_slots, n_used;
    uint64_t n_passed;
    uint64_t key; /* of the hash: whoever made the snapshot does not know it */
};

hs_status hs_climb_init(const struct hs_view *view,
                        uint64_t (*value_of)(const void *, hs_node tree_node, hs_node below),
                        const void *context, struct hs_climb *ret, struct hs_error *err);
void hs_climb_fini(struct hs_climb *climb);

/* HS_CLIMB_NONE for what no root reaches, and where the tree goes round in a circle. */
hs_status hs_climb_find(struct hs_climb *climb, hs_node node, uint64_t *ret, struct hs_error *err);

#endif
