/* The rules of samplers, samples and the sites that they were allocated at. The writer keeps them,
 * the reader checks them. */
#include <math.h>

#include "schema.h"

hs_status hs_samplers_verify(const struct hs_sampler *samplers, size_t n, struct hs_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(samplers[i].period_words) || samplers[i].period_words < 0)
            return hs_fail(err, HS_FORMAT, "sampler %zu has no period that can be", i);
    return HS_OK;
}

static bool sample_follows(const struct hs_sample *sample, const struct hs_sample *previous)
{
    return previous->id < sample->id ||
           (previous->id == sample->id && previous->sampler <= sample->sampler);
}

hs_status hs_samples_verify(const struct hs_sample *samples, size_t n,
                            const struct hs_samples_limits *limits, struct hs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct hs_sample *sample = &samples[i];
        if (sample->node != HS_NO_NODE &&
            (sample->node < limits->n_roots || sample->node - limits->n_roots >= limits->n_blocks))
            return hs_fail(err, HS_FORMAT, "sample %zu is at node %llu, which is no block", i,
                           (unsigned long long)sample->node);
        if (sample->sampler >= limits->n_samplers)
            return hs_fail(err, HS_FORMAT, "sample %zu is of sampler %u of %llu", i,
                           sample->sampler, (unsigned long long)limits->n_samplers);
        if (sample->site != HS_NO_SITE && sample->site >= limits->n_sites)
            return hs_fail(err, HS_FORMAT, "sample %zu is of site %u of %llu", i, sample->site,
                           (unsigned long long)limits->n_sites);
        if (i > 0 && !sample_follows(sample, &samples[i - 1]))
            return hs_fail(err, HS_FORMAT, "sample %zu is out of order", i);
    }
    return HS_OK;
}

hs_status hs_site_frames_verify(const struct hs_site_frame *frames, size_t n, uint32_t *ret_n_sites,
                                struct hs_error *err)
{
    uint32_t n_sites = 0;

    for (size_t i = 0; i < n; i++) {
        if (n_sites != 0 && frames[i].site == n_sites - 1)
            continue;
        if (frames[i].site != n_sites || n_sites == HS_NO_SITE)
            return hs_fail(err, HS_FORMAT, "frame %zu is of site %u, where %u comes next", i,
                           frames[i].site, n_sites);
        n_sites++;
    }
    *ret_n_sites = n_sites;
    return HS_OK;
}
