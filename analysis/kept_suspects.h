/* The suspects of a large snapshot, kept beside it (`heap.snap.suspects`) once they were found.
 * The sentences depend on the program that finds them, so that a file is of use to the same build
 * alone. */
#ifndef HS_ANALYSIS_KEPT_SUSPECTS_H
#define HS_ANALYSIS_KEPT_SUSPECTS_H

#include "analysis/suspects.h"

/* Suspects of a smaller heap are found as fast as a file is read. */
#define HS_KEPT_SUSPECTS_LEAST_BLOCKS ((uint64_t)1 << 18)

/* Finds the suspects that are kept. *ret_found is false where nothing is kept that answers the
 * query. HS_LIMIT. */
hs_status hs_kept_suspects_find(const struct hs_view *view, const struct hs_suspect_query *query,
                                struct hs_suspects *ret, bool *ret_found, struct hs_error *err);
/* Keeps what was found. That no place takes the file is no failure. HS_LIMIT. */
hs_status hs_kept_suspects_keep(const struct hs_view *view, const struct hs_suspect_query *query,
                                const struct hs_suspects *found, struct hs_error *err);

#endif
