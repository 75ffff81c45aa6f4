/* The choice of the engine that computes an index, and its cost. */
#ifndef HS_INDEX_ENGINE_H
#define HS_INDEX_ENGINE_H

#include "index/index.h"
#include "index_work.h"
#include "index_write.h"

/* Chooses the engine. HS_LIMIT with the figures when the budget allows neither. */
hs_status index_engine_choose(const struct hs_snap *snap, const struct hs_budget *budget,
                              struct hs_index_estimate *ret, struct hs_error *err);
/* Writes what the writer has not yet. */
hs_status index_engine_run(const struct index_work *work, struct index_writer *writer,
                           struct hs_error *err);

/* The bytes of an index file: estimated from experience, and a bound that none exceeds. */
uint64_t index_engine_file_bytes(const struct hs_snap *snap);
uint64_t index_engine_file_bytes_max(const struct hs_snap *snap);

#endif
