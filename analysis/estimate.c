/* Estimates from samples. */
#include "analysis/estimate.h"

#include <math.h>

double hs_sample_words(const struct hs_sampler *sampler, const struct hs_sample *sample,
                       double *ret_variance)
{
    double period = sampler->period_words, words = 0, variance = 0;
    bool is_one_a_block = sampler->kind == HS_SAMPLER_JEMALLOC || sampler->kind == HS_SAMPLER_GO;
    if (period > 0 && is_one_a_block) {
        double seen = -expm1(-(double)sample->words / period);
        words =
            seen > 0 ? (double)sample->words / seen : period; /* the limit for no words at all */
        variance = words * words * (1 - seen);
    } else if (period > 0) {
        words = (double)sample->n_samples * period;
        variance = (double)sample->n_samples * period * period;
    }
    if (ret_variance != NULL)
        *ret_variance = variance;
    return words;
}

void hs_estimate_add(struct hs_estimate *estimate, const struct hs_sampler *sampler,
                     const struct hs_sample *sample)
{
    double variance;
    estimate->words += hs_sample_words(sampler, sample, &variance);
    estimate->variance += variance;
    estimate->n_blocks++;
    estimate->n_samples += sample->n_samples;
}

void hs_estimate_join(struct hs_estimate *estimate, const struct hs_estimate *other)
{
    estimate->words += other->words;
    estimate->variance += other->variance;
    estimate->n_blocks += other->n_blocks;
    estimate->n_samples += other->n_samples;
}

/* Sums of hostile figures may be beyond 64 bits, or no number. */
static uint64_t rounded(double value)
{
    if (!(value > 0))
        return 0;
    return value >= 0x1p64 ? UINT64_MAX : (uint64_t)(value + 0.5);
}

uint64_t hs_estimate_words(const struct hs_estimate *estimate)
{
    return rounded(estimate->words);
}

uint64_t hs_estimate_error_words(const struct hs_estimate *estimate)
{
    return rounded(sqrt(estimate->variance));
}
