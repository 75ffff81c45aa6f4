/* links: hs_analysis */
/* What samples stand for, against simulations with fixed seeds. */
#include "analysis/estimate.h"

#include <math.h>

#include "unit.h"

#include "edge_list.h"

static double uniform(uint64_t *random)
{
    return ((double)hs_random_below(random, 1u << 30) + 0.5) / (double)(1u << 30);
}

static void single_samples(void **state)
{
    double variance;
    struct hs_sampler memprof = {.kind = HS_SAMPLER_MEMPROF, .period_words = 1000};
    struct hs_sampler jemalloc = {.kind = HS_SAMPLER_JEMALLOC, .period_words = 1000};
    struct hs_sample sample = {.n_samples = 3, .words = 1000};
    assert_true(hs_sample_words(&memprof, &sample, &variance) == 3000);
    assert_true(variance == 3e6);
    double p = 1 - exp(-1);
    assert_true(fabs(hs_sample_words(&jemalloc, &sample, &variance) - 1000 / p) < 1e-6);
    assert_true(fabs(variance - 1000 / p * 1000 / p * (1 - p)) < 1e-3);
    sample.words = 1000000; /* is always seen: stands for itself, without an error */
    assert_true(hs_sample_words(&jemalloc, &sample, &variance) == 1e6);
    assert_true(variance == 0);
    sample.words = 0;
    assert_true(hs_sample_words(&jemalloc, &sample, NULL) == 1000);
    memprof.period_words = 0;
    assert_true(hs_sample_words(&memprof, &sample, &variance) == 0);
    assert_true(variance == 0);
}

static void sums_and_rounding(void **state)
{
    struct hs_sampler record = {.kind = HS_SAMPLER_RECORD, .period_words = 100.25};
    struct hs_sample sample = {.n_samples = 1, .words = 5};
    struct hs_estimate a = {0}, b = {0};
    for (int i = 0; i < 4; i++)
        hs_estimate_add(i < 2 ? &a : &b, &record, &sample);
    hs_estimate_join(&a, &b);
    assert_int_equal(hs_estimate_words(&a), 401);
    assert_int_equal(hs_estimate_error_words(&a), 201); /* 2 * 100.25 */
    assert_int_equal(a.n_blocks, 4);
    assert_int_equal(a.n_samples, 4);
    record.period_words = 1e300;
    sample.n_samples = UINT64_MAX;
    hs_estimate_add(&a, &record, &sample);
    hs_estimate_add(&a, &record, &sample);
    assert_int_equal(hs_estimate_words(&a), UINT64_MAX);
    assert_int_equal(hs_estimate_error_words(&a), UINT64_MAX); /* infinite */
    struct hs_estimate none = {0};
    assert_int_equal(hs_estimate_words(&none), 0);
    assert_int_equal(hs_estimate_error_words(&none), 0);
}

enum { RUNS = 300, BLOCKS = 2000 };

/* How often the truth lies within 1 and 3 standard errors, and the mean of estimate / truth. */
struct outcome {
    unsigned within_one, within_three;
    double ratio;
};

static uint64_t size_of_block(uint64_t *random)
{
    return 1 + (hs_random_below(random, 20) == 0 ? hs_random_below(random, 4000)
                                                 : hs_random_below(random, 60));
}

/* The samples among the words of a block: gaps are exponential, as the samplers draw them. */
static uint64_t hits_of(uint64_t words, double period, double *to_next, uint64_t *random)
{
    uint64_t n = 0;
    double left = (double)words;
    while (*to_next < left) {
        left -= *to_next;
        *to_next = -log(uniform(random)) * period;
        n++;
    }
    *to_next -= left;
    return n;
}

static struct outcome simulate(uint8_t kind, double period)
{
    struct outcome outcome = {0};
    struct hs_sampler sampler = {.kind = kind, .period_words = period};
    for (uint64_t run = 1; run <= RUNS; run++) {
        uint64_t random = run * 7919;
        struct hs_estimate estimate = {0};
        double truth = 0, to_next = -log(uniform(&random)) * period;
        for (unsigned i = 0; i < BLOCKS; i++) {
            struct hs_sample sample = {.words = size_of_block(&random)};
            truth += (double)sample.words;
            sample.n_samples = hits_of(sample.words, period, &to_next, &random);
            if (sample.n_samples != 0)
                hs_estimate_add(&estimate, &sampler, &sample);
        }
        double off = fabs(estimate.words - truth), error = sqrt(estimate.variance);
        outcome.within_one += off <= error;
        outcome.within_three += off <= 3 * error;
        outcome.ratio += estimate.words / truth / RUNS;
    }
    return outcome;
}

/* Of a normal distribution 68 % lie within one standard error and 99.7 % within three. */
static void check(struct outcome outcome)
{
    print_message("mean %.4f, within 1: %u, within 3: %u of %d\n", outcome.ratio,
                  outcome.within_one, outcome.within_three, RUNS);
    assert_true(fabs(outcome.ratio - 1) < 0.02);
    assert_true(outcome.within_one > RUNS * 58 / 100 && outcome.within_one < RUNS * 78 / 100);
    assert_true(outcome.within_three >= RUNS * 98 / 100);
}

static void poisson_covers_the_truth(void **state)
{
    check(simulate(HS_SAMPLER_MEMPROF, 500));
    check(simulate(HS_SAMPLER_RECORD, 2000));
}

static void horvitz_thompson_covers_the_truth(void **state)
{
    check(simulate(HS_SAMPLER_GO, 500));
    check(simulate(HS_SAMPLER_JEMALLOC, 2000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_samples),
        cmocka_unit_test(sums_and_rounding),
        cmocka_unit_test(poisson_covers_the_truth),
        cmocka_unit_test(horvitz_thompson_covers_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
