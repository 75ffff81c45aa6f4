/* One pass over a trace for the allocations that are asked for. */
#include "analysis/trace_join.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"

enum { FIRST_SLOTS = 1 << 10, TELL_EVERY = 1 << 18 };

static hs_status take(struct hs_trace_join *join, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(join->budget, n_bytes, "the backtraces of samples", err));
    join->reserved_bytes += n_bytes;
    return HS_OK;
}

/* hs_grow, paid for first. */
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
    hs_free(join->slots);
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
    size_t begin = join->stacks[stack].begin;
    size_t end = stack + 1 < join->n_stacks ? join->stacks[stack + 1].begin : join->n_codes;
    *ret_n = end - begin;
    return join->codes + begin;
}

static uint64_t hash_of(const uint64_t *codes, size_t n)
{
    uint64_t h = UINT64_C(0x9E3779B97F4A7C15) * (n + 1);
    for (size_t i = 0; i < n; i++) {
        h = (h ^ codes[i]) * UINT64_C(0xC2B2AE3D27D4EB4F);
        h ^= h >> 29;
    }
    return h;
}

static hs_status resize_slots(struct hs_trace_join *join, struct hs_error *err)
{
    size_t n = join->n_slots == 0 ? FIRST_SLOTS : 2 * join->n_slots;
    uint32_t *slots;
    HS_TRY(take(join, (n - join->n_slots) * sizeof *slots, err));
    HS_TRY(hs_alloc(n, sizeof *slots, (void **)&slots, err));
    for (size_t i = 0; i < join->n_stacks; i++) {
        size_t at = join->stacks[i].hash & (n - 1);
        while (slots[at] != 0)
            at = (at + 1) & (n - 1);
        slots[at] = (uint32_t)i + 1;
    }
    hs_free(join->slots);
    join->slots = slots;
    join->n_slots = n;
    return HS_OK;
}

/* The stack's number, a new one when it is not known. */
static hs_status intern(struct hs_trace_join *join, const uint64_t *codes, size_t n, uint32_t *ret,
                        struct hs_error *err)
{
    if (n > HS_TRACE_JOIN_FRAMES) {
        codes += n - HS_TRACE_JOIN_FRAMES;
        n = HS_TRACE_JOIN_FRAMES;
    }
    if (4 * (join->n_stacks + 1) > 3 * join->n_slots)
        HS_TRY(resize_slots(join, err));
    uint64_t hash = hash_of(codes, n);
    size_t at = hash & (join->n_slots - 1);
    for (; join->slots[at] != 0; at = (at + 1) & (join->n_slots - 1)) {
        size_t n_known;
        uint32_t stack = join->slots[at] - 1;
        const uint64_t *known = hs_trace_join_stack(join, stack, &n_known);
        *ret = stack;
        if (join->stacks[stack].hash == hash && n_known == n &&
            (n == 0 || memcmp(known, codes, n * sizeof *codes) == 0))
            return HS_OK;
    }
    if (join->n_stacks >= HS_NO_STACK - 1)
        return hs_fail(err, HS_LIMIT, "%zu backtraces are too many", join->n_stacks);
    HS_TRY(grow(join, (void **)&join->stacks, &join->stacks_capacity, join->n_stacks + 1,
                sizeof *join->stacks, err));
    HS_TRY(grow(join, (void **)&join->codes, &join->codes_capacity, join->n_codes + n,
                sizeof *join->codes, err));
    if (n != 0)
        memcpy(join->codes + join->n_codes, codes, n * sizeof *codes);
    join->stacks[join->n_stacks] = (struct hs_trace_stack){join->n_codes, hash};
    join->n_codes += n;
    *ret = (uint32_t)join->n_stacks++;
    join->slots[at] = *ret + 1;
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
    HS_TRY(hs_alloc(n, sizeof *join->traced, (void **)&join->traced, err));
    for (size_t i = 0; i < n; i++)
        join->traced[i] = (struct hs_traced){.id = ids[i], .stack = HS_NO_STACK};
    join->n_traced = n;
    return read_events(join, progress, err);
}
