/* The tiers of all nodes of a snapshot (graph/edges.h): two searches, one over firm edges from firm
 * roots, one that goes on from the roots that are a runtime's own. */
#ifndef HS_INDEX_TIERS_H
#define HS_INDEX_TIERS_H

#include "base/budget.h"
#include "graph/edges.h"

struct hs_tier_search {
    const struct hs_snap *snap;
    const struct hs_bitmap *pointers_in; /* by type, see struct hs_edge_choice; may be NULL */
    struct hs_budget *budget;            /* NULL: no limit */
    const struct hs_progress *progress;
    bool in_memory; /* else by passes over files */
};

/* Finds the tiers. *ret is freed with hs_tiers_fini; both engines find the same. O(n + m).
 * Resident: 1/4 byte per node, which stays, and what a search takes: in memory the graph and 4
 * bytes a node, by passes what hs_passes_run does. In memory only what stays is taken from the
 * budget: the rest is for the caller to reserve. HS_LIMIT when it does not fit or was
 * interrupted. */
hs_status hs_tiers_find(const struct hs_tier_search *search, struct hs_tiers *ret,
                        struct hs_error *err);
void hs_tiers_fini(struct hs_tiers *tiers, struct hs_budget *budget);

/* Returns the memory that stays reserved. */
uint64_t hs_tiers_bytes(uint64_t n_nodes);

#endif
