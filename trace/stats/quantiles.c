#include <string.h>

#include "stats/quantiles.h"

enum { MOST_BITS = 8 };
#define BINS_BYTES ((uint64_t)32 << 20)

hs_status hs_quantiles_init(struct hs_quantiles *q, size_t n_groups, uint64_t max_value,
                            struct hs_budget *budget, struct hs_error *err)
{
    *q = (struct hs_quantiles){.memory = {.budget = budget}, .bits = MOST_BITS};
    while (q->bits > 1 && ((uint64_t)n_groups << q->bits) * sizeof *q->bins > BINS_BYTES)
        q->bits--;
    q->shift = max_value == 0 ? 1 : 64 - (unsigned)__builtin_clzll(max_value);
    void *groups, *bins;
    HS_TRY(hs_stats_alloc(&q->memory, n_groups, sizeof *q->groups, &groups, err));
    q->groups = groups;
    q->n_groups = n_groups;
    HS_TRY(hs_stats_alloc(&q->memory, n_groups << q->bits, sizeof *q->bins, &bins, err));
    q->bins = bins;
    return HS_OK;
}

void hs_quantiles_fini(struct hs_quantiles *q)
{
    hs_stats_free(&q->memory, q->bins, q->n_groups << q->bits, sizeof *q->bins);
    hs_stats_free(&q->memory, q->groups, q->n_groups, sizeof *q->groups);
    hs_stats_memory_fini(&q->memory);
    *q = (struct hs_quantiles){0};
}

bool hs_quantiles_begin(struct hs_quantiles *q)
{
    if (q->shift == 0) {
        for (size_t i = 0; i < q->n_groups; i++)
            if (q->groups[i].want == 0)
                q->groups[i].answer = HS_NO_QUANTILE;
        return false;
    }
    q->lower = q->shift > q->bits ? q->shift - q->bits : 0;
    memset(q->bins, 0, (q->n_groups << q->bits) * sizeof *q->bins);
    return true;
}

void hs_quantiles_end(struct hs_quantiles *q)
{
    size_t n_bins = (size_t)1 << q->bits;
    for (size_t i = 0; i < q->n_groups; i++) {
        struct hs_quantile *group = &q->groups[i];
        const uint64_t *bins = q->bins + (i << q->bits);
        size_t bin = 0;
        if (group->want == 0)
            continue;
        while (bin < n_bins && group->below + bins[bin] < group->want)
            group->below += bins[bin++];
        if (bin == n_bins)
            group->want = 0; /* all that there is weighs less */
        else
            group->answer |= (uint64_t)bin << q->lower;
    }
    q->shift = q->lower;
}
