/* The estimate of all allocations from samples, and its error.
 *
 * Every word, headers included, is drawn with probability r (the rate), independently: of an object
 * of s words n are drawn, n binomial (s, r). Then
 *
 *     words         W = sum n / r             error = sqrt(sum n (1 - r)) / r
 *     allocations   A = sum n / (r s)         error = sqrt(sum n (1 - r) / s^2) / r
 *
 * are unbiased: E n = s r. Var n = s r (1 - r) makes the variance of n / r, summed over all objects
 * sampled or not, sum s (1 - r) / r, of which the square of the first error is the unbiased
 * estimate (Horvitz and Thompson 1952: weigh by the inverse of the probability, the variance
 * likewise); that of n / (r s) is sum (1 - r) / (r s), and the second error likewise. Errors are
 * standard errors: the truth is within two of them about 95 times of 100 when n is not small (of
 * rows of fewer than some ten samples less often: a row that was never sampled has no row).
 * A rate above 1 can only come of a Poisson process over bytes; then 1 - r is taken as 1.
 *
 * At rate 1 with every word of every object drawn the figures are exact, and said to be. */
#ifndef HS_STATS_TRACE_ESTIMATE_H
#define HS_STATS_TRACE_ESTIMATE_H

#include "stats/trace_objects.h"

/* The sum over a group of objects; sums can be added and taken away. */
struct hs_trace_sum {
    uint64_t n_objects, n_samples;
    double allocations, allocations_sq;
};

struct hs_trace_scale {
    double rate;   /* samples per word */
    double spread; /* what n is multiplied with in the errors */
    bool is_exact;
};

struct hs_trace_estimate {
    uint64_t value, error; /* rounded; UINT64_MAX for what is larger */
};

/* Returns the scale for all objects of a trace: looks at the shapes. */
struct hs_trace_scale hs_trace_scale_of(const struct hs_trace_objects *objects, double rate);
/* Returns "exact" or "sampled". */
const char *hs_trace_scale_name(const struct hs_trace_scale *scale);

static inline void hs_trace_sum_add(struct hs_trace_sum *sum, const struct hs_trace_shape *shape)
{
    sum->n_objects++;
    sum->n_samples += shape->n_samples;
    sum->allocations += shape->allocations;
    sum->allocations_sq += shape->allocations_sq;
}

void hs_trace_sum_merge(struct hs_trace_sum *sum, const struct hs_trace_sum *other);

struct hs_trace_estimate hs_trace_words(const struct hs_trace_scale *scale, uint64_t n_samples);
struct hs_trace_estimate hs_trace_allocations(const struct hs_trace_scale *scale,
                                              const struct hs_trace_sum *sum);

#endif
