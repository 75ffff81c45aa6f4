/* Memory of the analysis of a trace: every array that grows with the trace is reserved in the
 * budget before it is allocated, so a trace that is too large ends with HS_LIMIT and the hint to
 * give more with --memory. */
#ifndef HS_STATS_MEMORY_H
#define HS_STATS_MEMORY_H

#include "base/budget.h"

struct hs_stats_memory {
    struct hs_budget *budget; /* borrowed; NULL: no limit */
    uint64_t reserved_bytes;
};

/* Pays for n * size bytes until the end of `memory`. */
hs_status hs_stats_reserve(struct hs_stats_memory *memory, size_t n, size_t size,
                           struct hs_error *err);
/* Grows an array as hs_grow. What it has and what it gets are taken together while it moves. */
hs_status hs_stats_grow(struct hs_stats_memory *memory, void **array, size_t *capacity,
                        size_t needed, size_t size, struct hs_error *err);
/* Allocates zeroed pages that are reserved in the budget; freed with hs_stats_free and the same
 * numbers. */
hs_status hs_stats_alloc(struct hs_stats_memory *memory, size_t n, size_t size, void **ret,
                         struct hs_error *err);
void hs_stats_free(struct hs_stats_memory *memory, void *array, size_t n, size_t size);
/* Gives back what is still taken; the arrays themselves are their owners'. */
void hs_stats_memory_fini(struct hs_stats_memory *memory);

#endif
