#include "stats/filter.h"

struct filter_spans {
    struct hs_stats_span allocated, live, collected, lifetime, size;
};

static uint64_t to_ns(uint64_t us)
{
    return us * 1000; /* below 2^58: times have 48 bits */
}

static hs_status resolve(bool has, const struct hs_stats_range *range,
                         const struct hs_stats_whole *whole, struct hs_stats_span *ret,
                         const char *what, struct hs_error *err)
{
    if (has && !range->is_never && hs_stats_range_resolve(range, whole, ret, err) != HS_OK)
        return hs_context(err, "--%s", what);
    return HS_OK;
}

static hs_status resolve_all(const struct hs_trace_filter *filter,
                             const struct hs_trace_counts *counts, struct filter_spans *ret,
                             struct hs_error *err)
{
    struct hs_stats_whole run = {to_ns(counts->end_us), to_ns(counts->peak_us),
                                 to_ns(counts->end_us)};
    HS_TRY(resolve(filter->has_allocated, &filter->allocated, &run, &ret->allocated, "allocated",
                   err));
    HS_TRY(resolve(filter->has_live, &filter->live, &run, &ret->live, "live-at", err));
    HS_TRY(resolve(filter->has_collected, &filter->collected, &run, &ret->collected, "collected",
                   err));
    HS_TRY(resolve(filter->has_lifetime, &filter->lifetime, &run, &ret->lifetime, "lifetime", err));
    return resolve(filter->has_size, &filter->size, &run, &ret->size, "size", err);
}

static bool fits_times(const struct hs_trace_filter *filter, const struct filter_spans *spans,
                       const struct hs_trace_object *object)
{
    bool is_freed = object->died_us != HS_OBJECT_NEVER;
    uint64_t born = to_ns(object->born_us), died = is_freed ? to_ns(object->died_us) : UINT64_MAX;
    if (filter->has_allocated && !hs_stats_span_has(&spans->allocated, born))
        return false;
    if (filter->has_live && (born > spans->live.to || died <= spans->live.from))
        return false;
    if (!filter->has_collected)
        return true;
    if (filter->collected.is_never)
        return !is_freed;
    return is_freed && hs_stats_span_has(&spans->collected, died);
}

static bool fits_lifetime(const struct hs_stats_span *span, const struct hs_trace_object *object,
                          uint64_t end_us)
{
    if (object->died_us != HS_OBJECT_NEVER)
        return hs_stats_span_has(span, to_ns(object->died_us - object->born_us));
    return span->to == UINT64_MAX && to_ns(end_us - object->born_us) >= span->from;
}

static bool fits_shape(const struct hs_trace_filter *filter, const struct hs_stats_span *size,
                       const struct hs_trace_shape *shape, uint32_t word_bytes)
{
    uint64_t n_bytes;
    if (filter->areas != 0 && (filter->areas >> shape->source & 1) == 0)
        return false;
    if (__builtin_mul_overflow(shape->words, (uint64_t)word_bytes, &n_bytes))
        n_bytes = UINT64_MAX;
    return !filter->has_size || hs_stats_span_has(size, n_bytes);
}

/* Returns the patterns that match a frame of the code: a bit each, those of `inside` first. */
static uint32_t mask_of_code(const struct hs_places *places, const uint32_t *of_function,
                             uint32_t code)
{
    uint32_t mask = 0;
    for (uint32_t i = places->begin[code]; i < places->begin[code + 1]; i++)
        mask |= of_function[hs_places_frame(places, places->frames[i]).function];
    return mask;
}

static void mask_functions(const struct hs_trace_filter *filter, const struct hs_places *places,
                           uint32_t *masks)
{
    for (uint32_t f = 0; f < hs_places_n_functions(places); f++)
        for (size_t i = 0; i < filter->n_inside + filter->n_not_inside; i++) {
            const struct hs_name_pattern *pattern = i < filter->n_inside
                                                        ? &filter->inside[i]
                                                        : &filter->not_inside[i - filter->n_inside];
            masks[f] |= (uint32_t)hs_places_matches(places, f, pattern) << i;
        }
}

/* Computes for each backtrace which patterns match one of its frames: it fits when these are all of
 * `inside` and none of `not inside`. */
static hs_status mask_stacks(const struct hs_trace_filter *filter, struct hs_trace_objects *objects,
                             const struct hs_places *places, uint32_t *masks, struct hs_error *err)
{
    struct hs_stats_memory *memory = &objects->memory;
    size_t n_functions = hs_places_n_functions(places) + 1;
    void *of_function;
    HS_TRY(hs_stats_alloc(memory, n_functions, sizeof *masks, &of_function, err));
    mask_functions(filter, places, of_function);
    for (uint32_t node = 1; node < hs_stacks_n(&objects->stacks); node++)
        masks[node] = masks[hs_stacks_parent(&objects->stacks, node)] |
                      mask_of_code(places, of_function, hs_stacks_code(&objects->stacks, node));
    hs_stats_free(memory, of_function, n_functions, sizeof *masks);
    return HS_OK;
}

static uint64_t select_objects(const struct hs_trace_filter *filter,
                               struct hs_trace_objects *objects, const struct filter_spans *spans,
                               const uint32_t *masks, uint32_t word_bytes)
{
    uint32_t wanted = (uint32_t)(((uint64_t)1 << filter->n_inside) - 1);
    uint64_t n = 0;
    for (uint64_t i = 0; i < objects->n; i++) {
        struct hs_trace_object *object = hs_trace_object(objects, i);
        const struct hs_trace_shape *shape = &objects->shapes[object->shape];
        bool fits = fits_times(filter, spans, object) &&
                    fits_shape(filter, &spans->size, shape, word_bytes) &&
                    (!filter->has_lifetime ||
                     fits_lifetime(&spans->lifetime, object, objects->counts.end_us)) &&
                    (masks == NULL || masks[object->stack] == wanted);
        object->is_selected = fits;
        n += fits;
    }
    return n;
}

hs_status hs_trace_filter_apply(const struct hs_trace_filter *filter,
                                struct hs_trace_objects *objects, const struct hs_places *places,
                                uint32_t word_bytes, uint64_t *ret_n, struct hs_error *err)
{
    struct filter_spans spans = {0};
    size_t n_nodes = hs_stacks_n(&objects->stacks);
    void *masks = NULL;
    HS_TRY(resolve_all(filter, &objects->counts, &spans, err));
    if (filter->n_inside + filter->n_not_inside > HS_FILTER_MAX_PATTERNS)
        return hs_fail(err, HS_USAGE, "more than %d patterns", HS_FILTER_MAX_PATTERNS);
    if (filter->n_inside + filter->n_not_inside != 0) {
        HS_TRY(hs_stats_alloc(&objects->memory, n_nodes, sizeof(uint32_t), &masks, err));
        hs_status status = mask_stacks(filter, objects, places, masks, err);
        if (status != HS_OK) {
            hs_stats_free(&objects->memory, masks, n_nodes, sizeof(uint32_t));
            return status;
        }
    }
    *ret_n = select_objects(filter, objects, &spans, masks, word_bytes);
    hs_stats_free(&objects->memory, masks, n_nodes, sizeof(uint32_t));
    return HS_OK;
}
