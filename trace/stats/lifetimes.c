#include "stats/lifetimes.h"
#include "base/alloc.h"

void hs_lifetimes_fini(struct hs_lifetimes *l)
{
    hs_stats_free(&l->memory, l->histogram, l->n_rows * HS_LIFETIME_BUCKETS, sizeof *l->histogram);
    hs_stats_free(&l->memory, l->parts, l->n_rows * (1 + l->n_parts), sizeof *l->parts);
    hs_stats_memory_fini(&l->memory);
    *l = (struct hs_lifetimes){0};
}

static size_t part_of(const struct hs_lifetimes *l, uint64_t born_us)
{
    uint64_t part = born_us / l->part_us;
    return part < l->n_parts ? (size_t)part : l->n_parts - 1;
}

static void count_in(struct hs_lifetime_part *part, uint64_t n_samples, bool is_never)
{
    part->n_objects++;
    part->n_samples += n_samples;
    if (is_never)
        part->n_never_samples += n_samples;
}

static void count_object(struct hs_lifetimes *l, size_t row, const struct hs_trace_object *object,
                         uint64_t n_samples)
{
    struct hs_lifetime_part *parts = &l->parts[row * (1 + l->n_parts)];
    bool is_never = object->died_us == HS_OBJECT_NEVER;
    count_in(&parts[0], n_samples, is_never);
    count_in(&parts[1 + part_of(l, object->born_us)], n_samples, is_never);
    if (!is_never)
        l->histogram[row * HS_LIFETIME_BUCKETS +
                     hs_lifetime_bucket(object->died_us - object->born_us)] += n_samples;
}

static void count_all(struct hs_lifetimes *l, const struct hs_trace_objects *objects,
                      const struct hs_trace_rows *rows)
{
    for (uint64_t i = 0; i < objects->n; i++) {
        const struct hs_trace_object *object = hs_trace_object(objects, i);
        if (!object->is_selected)
            continue;
        size_t n;
        const uint32_t *in = hs_trace_rows_of(rows, object, &n);
        for (size_t k = 0; k < n; k++)
            count_object(l, in[k], object, objects->shapes[object->shape].n_samples);
    }
}

/* Groups stand as the parts do, two each: median and 90th percentile. */
static void weigh(struct hs_quantiles *q, const struct hs_lifetimes *l,
                  const struct hs_trace_objects *objects, const struct hs_trace_rows *rows)
{
    for (uint64_t i = 0; i < objects->n; i++) {
        const struct hs_trace_object *object = hs_trace_object(objects, i);
        if (!object->is_selected || object->died_us == HS_OBJECT_NEVER)
            continue;
        uint64_t lifetime_us = object->died_us - object->born_us;
        uint64_t n_samples = objects->shapes[object->shape].n_samples;
        size_t n, part = 1 + part_of(l, object->born_us);
        const uint32_t *in = hs_trace_rows_of(rows, object, &n);
        for (size_t k = 0; k < n; k++) {
            size_t first = in[k] * (1 + l->n_parts);
            for (size_t g = 0; g < 2; g++) {
                hs_quantiles_add(q, 2 * first + g, lifetime_us, n_samples);
                hs_quantiles_add(q, 2 * (first + part) + g, lifetime_us, n_samples);
            }
        }
    }
}

static hs_status find_quantiles(struct hs_lifetimes *l, const struct hs_trace_objects *objects,
                                const struct hs_trace_rows *rows, struct hs_error *err)
{
    size_t n_parts = l->n_rows * (1 + l->n_parts);
    struct hs_quantiles q = {0};
    hs_status status =
        hs_quantiles_init(&q, 2 * n_parts, objects->counts.end_us, l->memory.budget, err);
    for (size_t i = 0; status == HS_OK && i < n_parts; i++) {
        q.groups[2 * i].want = (l->parts[i].n_samples + 1) / 2;
        q.groups[2 * i + 1].want = l->parts[i].n_samples - l->parts[i].n_samples / 10;
    }
    while (status == HS_OK && hs_quantiles_begin(&q)) {
        weigh(&q, l, objects, rows);
        hs_quantiles_end(&q);
    }
    for (size_t i = 0; status == HS_OK && i < n_parts; i++) {
        l->parts[i].median_us = q.groups[2 * i].answer;
        l->parts[i].p90_us = q.groups[2 * i + 1].answer;
    }
    hs_quantiles_fini(&q);
    return status;
}

hs_status hs_lifetimes_init(struct hs_lifetimes *ret, const struct hs_trace_objects *objects,
                            const struct hs_trace_rows *rows, size_t n_parts,
                            struct hs_budget *budget, struct hs_error *err)
{
    void *memory;
    *ret = (struct hs_lifetimes){.memory = {.budget = budget}, .n_rows = rows->n};
    ret->n_parts = n_parts;
    ret->part_us = objects->counts.end_us / n_parts + 1;
    HS_TRY(hs_stats_alloc(&ret->memory, rows->n * HS_LIFETIME_BUCKETS, sizeof *ret->histogram,
                          &memory, err));
    ret->histogram = memory;
    HS_TRY(hs_stats_alloc(&ret->memory, rows->n * (1 + n_parts), sizeof *ret->parts, &memory, err));
    ret->parts = memory;
    count_all(ret, objects, rows);
    return find_quantiles(ret, objects, rows, err);
}
