/* The sites at which the memory that a root retains was allocated: samples summed below each row of
 * a listing of roots.
 *
 * Cost: each sample climbs to its row once (climb.h), one sort; 32 bytes a sample. */
#ifndef HS_ANALYSIS_ROOT_SITES_H
#define HS_ANALYSIS_ROOT_SITES_H

#include "analysis/root_rows.h"
#include "analysis/sample_join.h"

#define HS_ROOT_SITES_SHOWN 5 /* below each root in a table */

struct hs_root_site {
    uint32_t row;  /* of the listing */
    hs_str place;  /* of the join; 0: unknown */
    uint32_t site; /* one of the backtraces */
    struct hs_estimate estimate;
};

struct hs_root_sites {
    struct hs_root_site *sites; /* owned: by row; within one those that stand for most first */
    size_t n, capacity;
    size_t *begin;              /* owned: by row, n_rows + 1 */
    struct hs_estimate *totals; /* owned: by row */
};

/* Finds the sites; memory that a row with several parts (of a thread, of a frame) retains together
 * is not followed: HS_USAGE for such listings. */
hs_status hs_root_sites_find(struct hs_sample_join *join, const struct hs_root_query *query,
                             const struct hs_root_rows *rows, struct hs_root_sites *ret,
                             struct hs_error *err);
void hs_root_sites_fini(struct hs_root_sites *sites);

#endif
