/* The lifetimes of objects, per row and over the run: a histogram, quantiles, and the same
 * quantiles of what was born in each part of the run. Weights are samples, so all shares are of
 * words. What was never freed counts as longest. Looks at the objects that the filter selected. */
#ifndef HS_STATS_LIFETIMES_H
#define HS_STATS_LIFETIMES_H

#include "stats/quantiles.h"
#include "stats/trace_rows.h"

/* Lifetimes below 2, 4, 8, ... microseconds: bucket b has [2^b, 2^(b + 1)), bucket 0 begins at 0.
 */
#define HS_LIFETIME_BUCKETS 48

struct hs_lifetime_part {
    uint64_t n_samples, n_never_samples; /* born in this part; of these never freed */
    uint64_t n_objects;
    uint64_t median_us, p90_us; /* HS_NO_QUANTILE: never freed */
};

struct hs_lifetimes {
    struct hs_stats_memory memory;
    size_t n_rows, n_parts;
    uint64_t part_us;    /* part p begins at p * part_us */
    uint64_t *histogram; /* owned: n_rows x HS_LIFETIME_BUCKETS, samples */
    /* owned: per row first the whole run, then its parts: n_rows x (1 + n_parts) */
    struct hs_lifetime_part *parts;
};

/* Begins the lifetimes of `rows`, which stay the caller's, over a run of objects->counts.end_us.
 * HS_LIMIT. On failure `ret` can be freed, too. */
hs_status hs_lifetimes_init(struct hs_lifetimes *ret, const struct hs_trace_objects *objects,
                            const struct hs_trace_rows *rows, size_t n_parts,
                            struct hs_budget *budget, struct hs_error *err);
void hs_lifetimes_fini(struct hs_lifetimes *lifetimes);

static inline const struct hs_lifetime_part *hs_lifetimes_of(const struct hs_lifetimes *lifetimes,
                                                             size_t row, size_t part)
{
    return &lifetimes->parts[row * (1 + lifetimes->n_parts) + part];
}

static inline unsigned hs_lifetime_bucket(uint64_t lifetime_us)
{
    return lifetime_us < 2 ? 0 : 63 - (unsigned)__builtin_clzll(lifetime_us);
}

#endif
