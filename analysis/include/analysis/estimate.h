/* The words that sampled allocations stand for: estimates, each with its standard error.
 *
 *   memprof, record   every word allocated is a sample with the same probability: a block with n
 *                     of them stands for n * period words. Counts are Poisson's, so the variance of
 *                     a sum is period^2 * sum n.
 *   jemalloc          a block of w words is seen or not, with p = 1 - exp(-w / period), and stands
 *                     for w / p (Horvitz and Thompson, 1952); variance: sum (w / p)^2 (1 - p).
 *
 * A sampler whose period is not known gives no words: then samples can only be counted. */
#ifndef HS_ANALYSIS_ESTIMATE_H
#define HS_ANALYSIS_ESTIMATE_H

#include "snapshot/model.h"

struct hs_estimate {
    double words, variance;       /* of words; 0 where the period is not known */
    uint64_t n_blocks, n_samples; /* that it comes from: exact */
};

/* Returns the words that the sample stands for; 0 when the sampler's period is not known.
 * *ret_variance may be NULL. */
double hs_sample_words(const struct hs_sampler *sampler, const struct hs_sample *sample,
                       double *ret_variance);

void hs_estimate_add(struct hs_estimate *estimate, const struct hs_sampler *sampler,
                     const struct hs_sample *sample);
void hs_estimate_join(struct hs_estimate *estimate, const struct hs_estimate *other);

/* Returns the estimate, rounded to whole words, at most UINT64_MAX. */
uint64_t hs_estimate_words(const struct hs_estimate *estimate);
/* Returns one standard error, rounded likewise. */
uint64_t hs_estimate_error_words(const struct hs_estimate *estimate);

#endif
