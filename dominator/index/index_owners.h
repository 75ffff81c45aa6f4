/* The sections of an index that say who owns what: OWNERS, SET_ROOTS and SETS. */
#ifndef HS_INDEX_OWNERS_H
#define HS_INDEX_OWNERS_H

#include "index_write.h"

/* Tells whether any of the sections of owners is still missing. */
bool index_owners_wanted(const struct index_writer *writer);

/* The results to ask an engine for: the roots of a snapshot, and who takes their sets and writes
 * the sections that are missing. IDOM is there by then. Do not move it; fini takes a zeroed one. */
struct index_owners {
    struct hs_budget *budget; /* borrowed */
    struct hs_owner_roots roots;
    struct hs_owner_request request;
};
/* Prepares the request. `tiers` of all nodes, borrowed; NULL: what is reached is firm. One bit per
 * node of the root tree, from the budget where there is one. */
hs_status index_owners_init(struct index_writer *writer, const struct hs_tiers *tiers,
                            struct hs_budget *budget, struct index_owners *ret,
                            struct hs_error *err);
void index_owners_fini(struct index_owners *owners);

#endif
