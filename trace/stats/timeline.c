#include "stats/timeline.h"
#include "base/bisect.h"

/* The first point at or after a time; n when there is none. */
static size_t point_at(const struct hs_timeline_point *points, size_t n, uint64_t at_us)
{
    return HS_FIRST_NOT(at, 0, n, points[at].at_us < at_us);
}

static void change(struct hs_trace_sum *sum, const struct hs_trace_shape *shape, bool is_birth)
{
    if (is_birth) {
        hs_trace_sum_add(sum, shape);
        return;
    }
    sum->n_objects--; /* may go below 0 until what came before is added: unsigned, it comes back */
    sum->n_samples -= shape->n_samples;
    sum->allocations -= shape->allocations;
    sum->allocations_sq -= shape->allocations_sq;
}

/* Clears the trace of rounding that a subtraction may leave. */
static void clear_rounding(struct hs_trace_sum *sum)
{
    if (sum->n_objects == 0 || sum->allocations < 0)
        sum->allocations = 0;
    if (sum->n_objects == 0 || sum->allocations_sq < 0)
        sum->allocations_sq = 0;
}

void hs_timeline_fill(const struct hs_trace_objects *objects, struct hs_timeline_point *points,
                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        points[i].all = points[i].selected = (struct hs_trace_sum){0};
    for (uint64_t i = 0; i < objects->n; i++) {
        const struct hs_trace_object *object = hs_trace_object(objects, i);
        const struct hs_trace_shape *shape = &objects->shapes[object->shape];
        size_t born = point_at(points, n, object->born_us);
        size_t died = point_at(points, n, object->died_us);
        if (born == died)
            continue;
        change(&points[born].all, shape, true);
        if (object->is_selected)
            change(&points[born].selected, shape, true);
        if (died == n)
            continue;
        change(&points[died].all, shape, false);
        if (object->is_selected)
            change(&points[died].selected, shape, false);
    }
    for (size_t i = 1; i < n; i++) {
        hs_trace_sum_merge(&points[i].all, &points[i - 1].all);
        hs_trace_sum_merge(&points[i].selected, &points[i - 1].selected);
    }
    for (size_t i = 0; i < n; i++) {
        clear_rounding(&points[i].all);
        clear_rounding(&points[i].selected);
    }
}

size_t hs_timeline_place(const struct hs_trace_counts *counts, uint64_t n_points,
                         struct hs_timeline_point *points)
{
    size_t n = 0;
    bool has_peak = false;
    for (uint64_t i = 0; i < n_points; i++) {
        uint64_t at_us = n_points == 1
                             ? counts->end_us
                             : (uint64_t)((__uint128_t)counts->end_us * i / (n_points - 1));
        if (!has_peak && counts->peak_us < at_us)
            points[n++] = (struct hs_timeline_point){.at_us = counts->peak_us};
        has_peak = has_peak || counts->peak_us <= at_us;
        if (n == 0 || points[n - 1].at_us != at_us)
            points[n++] = (struct hs_timeline_point){.at_us = at_us};
    }
    return n;
}
