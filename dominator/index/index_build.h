/* Computes an index with everything in memory. */
#ifndef HS_INDEX_BUILD_H
#define HS_INDEX_BUILD_H

#include "dominator/reachable.h"
#include "index_work.h"
#include "index_write.h"

/* Writes the sections that the writer has not yet, in an order that keeps few arrays alive at a
 * time. */
hs_status index_build_run(const struct index_work *work, struct index_writer *writer,
                          struct hs_error *err);

/* Returns the most memory that is resident, without that of the writer. */
uint64_t index_build_bytes(const struct hs_reachable_counts *counts, uint64_t n_edges);

#endif
