/* One pass over a trace for the allocations that are asked for. */
#include "analysis/trace_join.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"

enum { TELL_EVERY = 1 << 18 };

static hs_status take(struct hs_trace_join *join, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(join->budget, n_bytes, "the backtraces of samples", err));
    join->reserved_bytes += n_bytes;
    return HS_OK;
}

/* Grows an array as hs_grow, reserved in the budget first. */
static hs_status grow(struct hs_trace_join *join, void **array, size_t *capacity, size_t needed,
                      size_t size, struct hs_error *err)
{
    if (needed <= *capacity)
        return HS_OK;
    size_t wanted = *capacity < 512 ? 1024 : 2 * *capacity;
    if (wanted < needed)
        wanted = needed;
    HS_TRY(take(join, (wanted - *capacity) * size, err));
    return hs_grow(array, capacity, wanted, size, err);
}

hs_status hs_trace_join_open(const char *path, struct hs_budget *budget, struct hs_trace_join *ret,
                             struct hs_error *err)
{
    struct hs_trace_join join = {.budget = budget};
    if (hs_trace_open(path, &join.trace, err) != HS_OK)
        return hs_context(err, "cannot read the trace '%s'", path);
    *ret = join;
    return HS_OK;
}

void hs_trace_join_close(struct hs_trace_join *join)
{
    hs_trace_close(join->trace);
    hs_free(join->traced);
    hs_free(join->codes);
    hs_free(join->stacks);
    hs_table_fini(&join->by_codes);
    hs_budget_release(join->budget, join->reserved_bytes);
    *join = (struct hs_trace_join){0};
}

const struct hs_traced *hs_trace_join_find(const struct hs_trace_join *join, uint64_t id)
{
    size_t at = HS_FIRST_FROM(join->traced, join->n_traced, id, id);
    return at < join->n_traced && join->traced[at].id == id ? &join->traced[at] : NULL;
}

const uint64_t *hs_trace_join_stack(const struct hs_trace_join *join, uint32_t stack, size_t *ret_n)
{
    size_t begin = join->stacks[stack];
    size_t end = stack + 1 < join->n_stacks ? join->stacks[stack + 1] : join->n_codes;
    *ret_n = end - begin;
    return join->codes + begin;
}

static bool stack_is(const struct hs_trace_join *join, uint32_t stack, const uint64_t *codes,
                     size_t n)
{
    size_t n_known;
    const uint64_t *known = hs_trace_join_stack(join, stack, &n_known);
    return n_known == n && (n == 0 || memcmp(known, codes, n * sizeof *codes) == 0);
}

/* The stack's number, a new one when it is not known. */
static hs_status intern(struct hs_trace_join *join, const uint64_t *codes, size_t n, uint32_t *ret,
                        struct hs_error *err)
{
    if (n > HS_TRACE_JOIN_FRAMES) {
        codes += n - HS_TRACE_JOIN_FRAMES;
        n = HS_TRACE_JOIN_FRAMES;
    }
    uint64_t hash = hs_hash_bytes(codes, n * sizeof *codes);
    *ret = HS_TABLE_FIND(&join->by_codes, hash, i, stack_is(join, i, codes, n));
    if (*ret != HS_NO_NUMBER)
        return HS_OK;
    if (join->n_stacks >= HS_NO_STACK - 1)
        return hs_fail(err, HS_LIMIT, "%zu backtraces are too many", join->n_stacks);
    HS_TRY(grow(join, (void **)&join->stacks, &join->stacks_capacity, join->n_stacks + 1,
                sizeof *join->stacks, err));
    HS_TRY(grow(join, (void **)&join->codes, &join->codes_capacity, join->n_codes + n,
                sizeof *join->codes, err));
    HS_TRY(take(join, hs_table_growth_bytes(&join->by_codes, 1), err));
    HS_TRY(hs_table_add(&join->by_codes, hash, join->n_stacks, err));
    if (n != 0)
        memcpy(join->codes + join->n_codes, codes, n * sizeof *codes);
    join->stacks[join->n_stacks] = join->n_codes;
    join->n_codes += n;
    *ret = (uint32_t)join->n_stacks++;
    return HS_OK;
}

static hs_status allocate(struct hs_trace_join *join, const struct hs_trace_event *event,
                          struct hs_traced *traced, struct hs_error *err)
{
    join->n_allocated++;
    if (event->id > join->last_id)
        join->last_id = event->id;
    if (traced == NULL)
        return HS_OK;
    traced->is_allocated = true;
    traced->allocated_us = event->time_us;
    traced->n_samples = event->n_samples;
    traced->words = event->words;
    traced->source = event->source;
    return intern(join, event->frames, event->n_frames, &traced->stack, err);
}

static hs_status see(struct hs_trace_join *join, const struct hs_trace_event *event,
                     struct hs_error *err)
{
    struct hs_traced *traced = NULL;
    join->has_domains |= event->domain != 0;
    if (event->time_us > join->last_us)
        join->last_us = event->time_us;
    if (event->kind != HS_TRACE_PROMOTE)
        traced = (struct hs_traced *)(uintptr_t)hs_trace_join_find(join, event->id);
    if (event->kind == HS_TRACE_ALLOC)
        return allocate(join, event, traced, err);
    if (event->kind != HS_TRACE_COLLECT)
        return HS_OK;
    join->n_collected++;
    if (traced != NULL) {
        traced->is_collected = true;
        traced->collected_us = event->time_us;
    }
    return HS_OK;
}

static hs_status read_events(struct hs_trace_join *join, const struct hs_progress *progress,
                             struct hs_error *err)
{
    struct hs_trace_event event;
    bool more;
    for (uint64_t n = 0;; n++) {
        HS_TRY(hs_trace_next(join->trace, &event, &more, err));
        if (!more)
            return HS_OK;
        HS_TRY(see(join, &event, err));
        if (n % TELL_EVERY == TELL_EVERY - 1)
            HS_TRY(hs_progress_tell(progress, "reading the trace", n + 1, 0, err));
    }
}

hs_status hs_trace_join_read(struct hs_trace_join *join, const uint64_t *ids, size_t n,
                             const struct hs_progress *progress, struct hs_error *err)
{
    HS_TRY(take(join, n * sizeof *join->traced, err));
    HS_TRY(HS_ALLOC(&join->traced, n, err));
    for (size_t i = 0; i < n; i++)
        join->traced[i] = (struct hs_traced){.id = ids[i], .stack = HS_NO_STACK};
    join->n_traced = n;
    return read_events(join, progress, err);
}
