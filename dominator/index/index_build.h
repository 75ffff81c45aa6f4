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

/* What it has resident at most, what the writer takes left out. */
uint64_t index_build_bytes(const struct hs_reachable_counts *counts, uint64_t n_edges);

#endif
