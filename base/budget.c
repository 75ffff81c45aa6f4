/* Memory that may be taken, and disk that there must be. */
#include "base/budget.h"

#include <assert.h>
#include <sched.h>
#include <sys/statvfs.h>

#include "base/units.h"

#define MAX_DEFAULT_THREADS 8

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static unsigned default_threads(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > MAX_DEFAULT_THREADS ? MAX_DEFAULT_THREADS : (unsigned)n;
}

static uint64_t default_limit(void)
{
    uint64_t available = hs_memory_available_bytes();
    if (available == UINT64_MAX || available / 4 < HS_BUDGET_MIN_BYTES)
        return HS_BUDGET_MIN_BYTES;
    return available / 4;
}

void hs_budget_init(uint64_t limit_bytes, const char *spill_dir, unsigned n_threads,
                    struct hs_budget *ret)
{
    const char *bound_by = NULL;
    if (limit_bytes == 0)
        limit_bytes = default_limit();
    if (limit_bytes != UINT64_MAX) {
        struct hs_memory_bound bound;
        hs_memory_bound(&bound);
        if (bound.left_bytes < limit_bytes) {
            limit_bytes = bound.left_bytes;
            bound_by = bound.by;
        }
    }
    *ret = (struct hs_budget){.limit_bytes = limit_bytes,
                              .used_bytes = least(HS_BUDGET_BASE_BYTES, limit_bytes),
                              .spill_dir = spill_dir,
                              .bound_by = bound_by,
                              .n_threads = n_threads == 0 ? default_threads() : n_threads};
    ret->peak_bytes = ret->used_bytes;
}

uint64_t hs_budget_left_bytes(const struct hs_budget *budget)
{
    if (budget == NULL || budget->limit_bytes == UINT64_MAX)
        return UINT64_MAX;
    return budget->limit_bytes - least(budget->limit_bytes, budget->used_bytes);
}

hs_status hs_budget_hint(const struct hs_budget *budget, struct hs_error *err)
{
    if (budget != NULL && budget->bound_by != NULL)
        return hs_hint(err, "%s allows no more", budget->bound_by);
    return hs_hint(err, "allow more with --memory");
}

/* ---- what may be let go */

static struct hs_budget_cache **find_cache(struct hs_budget *budget,
                                           const struct hs_budget_cache *cache)
{
    struct hs_budget_cache **link = &budget->caches;

    while (*link != NULL && *link != cache)
        link = &(*link)->next;
    return link;
}

void hs_budget_add_cache(struct hs_budget *budget, struct hs_budget_cache *cache)
{
    if (budget == NULL || cache == NULL || *find_cache(budget, cache) != NULL)
        return;
    cache->next = budget->caches;
    budget->caches = cache;
}

void hs_budget_remove_cache(struct hs_budget *budget, struct hs_budget_cache *cache)
{
    if (budget == NULL || cache == NULL)
        return;
    struct hs_budget_cache **link = find_cache(budget, cache);
    if (*link != NULL)
        *link = cache->next;
}

static void make_room(struct hs_budget *budget)
{
    uint64_t n_bytes = 0;

    for (struct hs_budget_cache *cache = budget->caches; cache != NULL; cache = cache->next)
        n_bytes += cache->n_bytes;
    if (n_bytes <= hs_budget_left_bytes(budget))
        return;
    for (struct hs_budget_cache *cache = budget->caches; cache != NULL; cache = cache->next)
        cache->let_go(cache);
}

/* ---- reserving */

hs_status hs_budget_reserve(struct hs_budget *budget, uint64_t n_bytes, const char *what,
                            struct hs_error *err)
{
    char needed[HS_UNIT_TEXT_BYTES], left[HS_UNIT_TEXT_BYTES], limit[HS_UNIT_TEXT_BYTES];
    uint64_t used;

    if (budget == NULL)
        return HS_OK;
    if (!__builtin_add_overflow(budget->used_bytes, n_bytes, &used) &&
        used <= budget->limit_bytes) {
        budget->used_bytes = used;
        if (used > budget->peak_bytes)
            budget->peak_bytes = used;
        make_room(budget);
        return HS_OK;
    }
    hs_format_bytes(n_bytes, needed);
    hs_format_bytes(hs_budget_left_bytes(budget), left);
    hs_format_bytes(budget->limit_bytes, limit);
    hs_status status = hs_fail(err, HS_LIMIT, "no memory for %s: %s are needed, %s of %s are left",
                               what, needed, left, limit);
    (void)hs_budget_hint(budget, err);
    return status;
}

void hs_budget_release(struct hs_budget *budget, uint64_t n_bytes)
{
    if (budget == NULL)
        return;
    assert(budget->used_bytes >= n_bytes);
    budget->used_bytes -= n_bytes;
}

hs_status hs_disk_need(const char *directory, uint64_t n_bytes, struct hs_error *err)
{
    char needed[HS_UNIT_TEXT_BYTES], has[HS_UNIT_TEXT_BYTES];
    struct statvfs about;
    uint64_t free_bytes;

    if (statvfs(directory, &about) != 0)
        return hs_fail_errno(err, HS_IO, "cannot ask for the free space of '%s'", directory);
    if (__builtin_mul_overflow((uint64_t)about.f_bavail, (uint64_t)about.f_frsize, &free_bytes))
        free_bytes = UINT64_MAX;
    if (n_bytes <= free_bytes)
        return HS_OK;
    hs_format_bytes(n_bytes, needed);
    hs_format_bytes(free_bytes, has);
    hs_status status = hs_fail(err, HS_IO, "%s of temporary files do not fit in '%s': %s are free",
                               needed, directory, has);
    (void)hs_hint(err, "name a directory with more room by --spill-dir");
    return status;
}
