#include "stats/memory.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/checked.h"

static const char what[] = "the analysis of this trace";

hs_status hs_stats_reserve(struct hs_stats_memory *memory, size_t n, size_t size,
                           struct hs_error *err)
{
    uint64_t n_bytes;
    if (!hs_mul_fits(n, size, &n_bytes))
        return hs_fail(err, HS_LIMIT, "%s needs more memory than there is", what);
    HS_TRY(hs_budget_reserve(memory->budget, n_bytes, what, err));
    memory->reserved_bytes += n_bytes;
    return HS_OK;
}

static void memory_release(struct hs_stats_memory *memory, size_t n, size_t size)
{
    uint64_t n_bytes = (uint64_t)n * size;
    assert(n_bytes <= memory->reserved_bytes);
    hs_budget_release(memory->budget, n_bytes);
    memory->reserved_bytes -= n_bytes;
}

hs_status hs_stats_grow(struct hs_stats_memory *memory, void **array, size_t *capacity,
                        size_t needed, size_t size, struct hs_error *err)
{
    size_t before = *capacity;
    if (needed <= before)
        return HS_OK;
    size_t wanted = before * 2 < needed ? needed : before * 2;
    if (wanted < 64)
        wanted = 64;
    HS_TRY(hs_stats_reserve(memory, wanted, size, err));
    hs_status status = hs_grow(array, capacity, wanted, size, err);
    if (status != HS_OK) {
        memory_release(memory, wanted, size);
        return status;
    }
    memory_release(memory, before, size);
    if (*capacity > wanted) /* hs_grow has its own least size */
        return hs_stats_reserve(memory, *capacity - wanted, size, err);
    return HS_OK;
}

hs_status hs_stats_alloc(struct hs_stats_memory *memory, size_t n, size_t size, void **ret,
                         struct hs_error *err)
{
    HS_TRY(hs_stats_reserve(memory, n, size, err));
    hs_status status = hs_pages_alloc(n, size, ret, err);
    if (status != HS_OK)
        memory_release(memory, n, size);
    return status;
}

void hs_stats_free(struct hs_stats_memory *memory, void *array, size_t n, size_t size)
{
    if (array == NULL)
        return;
    hs_pages_free(array, n, size);
    memory_release(memory, n, size);
}

void hs_stats_memory_fini(struct hs_stats_memory *memory)
{
    hs_budget_release(memory->budget, memory->reserved_bytes);
    memory->reserved_bytes = 0;
}
