/* Exact quantiles of many groups of numbers at once, without sorting or keeping them: each pass
 * over the numbers tells more bits of every group's answer.
 *
 *     hs_quantiles_init(&q, n_groups, max_value, ...);  set q.groups[i].want
 *     while (hs_quantiles_begin(&q)) { for each number hs_quantiles_add(&q, group, value, weight);
 *                                      hs_quantiles_end(&q); }
 *
 * The answer of a group is the least value such that the numbers up to it weigh at least `want`;
 * HS_NO_QUANTILE when they never do. Resident: 24 bytes per group, and up to 32 MiB (more only when
 * there are more than two million groups); the fewer groups the fewer passes: 4 to 48. */
#ifndef HS_STATS_QUANTILES_H
#define HS_STATS_QUANTILES_H

#include "stats/memory.h"

#define HS_NO_QUANTILE UINT64_MAX

struct hs_quantile {
    uint64_t want;   /* weight; 0 gives HS_NO_QUANTILE */
    uint64_t below;  /* weight of all that lies below `answer` */
    uint64_t answer; /* its upper bits, so far */
};

struct hs_quantiles {
    struct hs_stats_memory memory;
    struct hs_quantile *groups; /* owned */
    uint64_t *bins;             /* owned: 1 << bits per group */
    size_t n_groups;
    unsigned bits;  /* told by a pass */
    unsigned shift; /* bits not yet told, those of this pass included */
    unsigned lower; /* bits not yet told after this pass */
};

/* Begins quantiles of numbers up to max_value. HS_LIMIT. */
hs_status hs_quantiles_init(struct hs_quantiles *q, size_t n_groups, uint64_t max_value,
                            struct hs_budget *budget, struct hs_error *err);
void hs_quantiles_fini(struct hs_quantiles *q);

/* Begins another pass over the numbers. False when all is known. */
bool hs_quantiles_begin(struct hs_quantiles *q);
void hs_quantiles_end(struct hs_quantiles *q);

static inline void hs_quantiles_add(struct hs_quantiles *q, size_t group, uint64_t value,
                                    uint64_t weight)
{
    const struct hs_quantile *g = &q->groups[group];
    if (q->shift < 64 && (value >> q->shift) != (g->answer >> q->shift))
        return;
    q->bins[(group << q->bits) + ((value >> q->lower) & (((uint64_t)1 << q->bits) - 1))] += weight;
}

#endif
