#include <math.h>

#include "stats/trace_estimate.h"

/* Returns the scale; exact only when the file shows it: at rate 1 every word must have been
 * drawn. */
struct hs_trace_scale hs_trace_scale_of(const struct hs_trace_objects *objects, double rate)
{
    struct hs_trace_scale scale = {rate, rate < 1 ? 1 - rate : 1, rate == 1};
    for (size_t i = 0; scale.is_exact && i < objects->n_shapes; i++) {
        const struct hs_trace_shape *shape = &objects->shapes[i];
        scale.is_exact =
            shape->n_samples == hs_trace_shape_sampled_words(shape->words, shape->source);
    }
    if (scale.is_exact)
        scale.spread = 0;
    return scale;
}

const char *hs_trace_scale_name(const struct hs_trace_scale *scale)
{
    return scale->is_exact ? "exact" : "sampled";
}

void hs_trace_sum_merge(struct hs_trace_sum *sum, const struct hs_trace_sum *other)
{
    sum->n_objects += other->n_objects;
    sum->n_samples += other->n_samples;
    sum->allocations += other->allocations;
    sum->allocations_sq += other->allocations_sq;
}

static uint64_t rounded(double value)
{
    return value >= 0x1p63 || value != value ? UINT64_MAX : (uint64_t)(value + 0.5);
}

struct hs_trace_estimate hs_trace_words(const struct hs_trace_scale *scale, uint64_t n_samples)
{
    double n = (double)n_samples;
    return (struct hs_trace_estimate){rounded(n / scale->rate),
                                      rounded(sqrt(n * scale->spread) / scale->rate)};
}

struct hs_trace_estimate hs_trace_allocations(const struct hs_trace_scale *scale,
                                              const struct hs_trace_sum *sum)
{
    return (struct hs_trace_estimate){
        rounded(sum->allocations / scale->rate),
        rounded(sqrt(sum->allocations_sq * scale->spread) / scale->rate)};
}
