/* The evenness of growth. */
#include <math.h>

#include "analysis/series.h"

enum { ALL_COUNT = 10 }; /* steps of which the smallest counts; of more the 10th percentile */

const char *hs_growth_name(unsigned growth)
{
    static const char *const names[HS_N_GROWTHS] = {"none", "two", "unsure", "steady"};
    return growth < HS_N_GROWTHS ? names[growth] : NULL;
}

struct steps {
    const uint64_t *values, *times_ns; /* times NULL: steps count as they are */
    size_t n;                          /* steps */
    double mean_ns;
};

static double step_at(const struct steps *steps, size_t i)
{
    double step = (double)steps->values[i + 1] - (double)steps->values[i];
    if (steps->times_ns == NULL)
        return step;
    return step * steps->mean_ns / (double)(steps->times_ns[i + 1] - steps->times_ns[i]);
}

static double mean_of(const struct steps *steps, size_t first, size_t n)
{
    double sum = 0;
    for (size_t i = first; i < first + n; i++)
        sum += step_at(steps, i);
    return sum / (double)n;
}

/* The step that `rank` others, equal ones included, are below. O(n) a rank, and ranks are few. */
static double step_of_rank(const struct steps *steps, size_t rank)
{
    double least = -INFINITY, found = -INFINITY;
    for (size_t n_below = 0; n_below <= rank;) {
        size_t n_equal = 0;
        found = INFINITY;
        for (size_t i = 0; i < steps->n; i++) {
            double step = step_at(steps, i);
            if (step > least && step < found) {
                found = step;
                n_equal = 0;
            }
            n_equal += step == found;
        }
        if (n_equal == 0)
            break;
        n_below += n_equal;
        least = found;
    }
    return found;
}

static struct hs_series_score score_of(const struct steps *steps)
{
    struct hs_series_score ret = {.lasting = 1};
    size_t half = steps->n / 2 > 0 ? steps->n / 2 : 1;
    for (size_t i = 0; i < steps->n; i++)
        ret.n_up += step_at(steps, i) > 0;
    double mean = mean_of(steps, 0, steps->n);
    size_t rank = steps->n <= ALL_COUNT ? 0 : (steps->n - 1) / ALL_COUNT;
    double low = step_of_rank(steps, rank), high = step_of_rank(steps, steps->n - 1 - rank);
    if (low <= 0 || mean <= 0)
        return ret;
    double first = mean_of(steps, 0, half), last = mean_of(steps, steps->n - half, half);
    ret.even = fmin(1, low / mean);
    ret.lasting = first > 0 ? last / first : 1;
    double lasts = fmin(1, fmax(0, ret.lasting));
    ret.score = low * ret.even * ret.even * (low / high) * lasts * lasts;
    return ret;
}

static bool times_ascend(const uint64_t *times_ns, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (times_ns[i] == 0 || times_ns[i] >= times_ns[i + 1])
            return false;
    return true;
}

struct hs_series_score hs_series_score(const uint64_t *values, const uint64_t *times_ns, size_t n)
{
    struct steps steps = {.values = values, .n = n - 1};
    struct hs_series_score by_step = score_of(&steps);
    if (n == 2 || times_ns == NULL || !times_ascend(times_ns, n))
        return by_step;
    steps.times_ns = times_ns;
    steps.mean_ns = (double)(times_ns[n - 1] - times_ns[0]) / (double)steps.n;
    struct hs_series_score by_time = score_of(&steps);
    return by_time.score > by_step.score ? by_time : by_step;
}
