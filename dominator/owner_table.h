/* Owner sets while they are told apart: those that are kept, and behind them those of the range of
 * signatures that is being looked at. */
#ifndef HS_OWNER_TABLE_H
#define HS_OWNER_TABLE_H

#include "dominator/condensed.h"

struct owner_entry {
    uint64_t signature;
    uint64_t place; /* of its first top unit */
    struct hs_owner_set set;
};

struct owner_table {
    struct owner_entry *entries; /* owned pages */
    uint64_t n, capacity;
    uint32_t *slots;        /* owned pages: open addressing; 0 = free, else 1 + entry */
    uint64_t n_slots;       /* a power of two */
    struct hs_sizes others; /* of those that were cut off */
    uint64_t n_others;
    struct hs_budget *budget;
    uint64_t reserved_bytes;
};

struct hs_owners {
    struct hs_condensed *condensed;
    const struct hs_owner_tops *tops;
    const struct hs_owner_roots *roots;
    uint64_t max_listed;
    uint64_t sink_bytes; /* hs_owner_request's */
    const struct hs_progress *progress;
    struct owner_table table; /* once made: entry i is set i + 1 */
};

/* Returns the least memory of tables for so many places, while sets are told apart and afterwards.
 */
uint64_t owner_table_bytes(uint64_t n_places);
/* Returns the least memory of lists (hs_owners_lists). */
uint64_t owner_lists_bytes(uint64_t n_nodes, uint64_t n_ends);

/* Finds and numbers the sets; their roots are not known yet. */
hs_status owner_table_make(struct hs_owners *owners, struct hs_error *err);
void owner_table_fini(struct owner_table *table);

/* Finds the entry of a signature; NULL when there is none. */
const struct owner_entry *owner_table_find(const struct owner_table *table, uint64_t signature);

#endif
