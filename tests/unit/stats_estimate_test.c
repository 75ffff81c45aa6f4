/* links: hs_trace_stats m */
/* The estimates and their errors against simulated sampling with fixed seeds: unbiased, and the
 * truth within two standard errors about 95 times of 100. */
#include "unit.h"

#include <math.h>

#include "stats/trace_estimate.h"

enum { RUNS = 400 };

static uint64_t random_state;

static double uniform(void)
{
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return ((double)(random_state >> 11) + 0.5) / 0x1p53;
}

/* Samples of the next object of s words: the words until the next one are geometric. */
static uint64_t draw(uint64_t s, double rate, uint64_t *gap)
{
    uint64_t n = 0;
    while (*gap < s) {
        n++;
        *gap += 1 + (uint64_t)(log(uniform()) / log1p(-rate));
    }
    *gap -= s;
    return n;
}

struct outcome {
    unsigned words_within, allocations_within;
    double words_bias, allocations_bias; /* in standard errors of the mean over all runs */
};

/* One program again and again: objects of mixed sizes, some larger than the distance of samples. */
static struct outcome simulate(double rate, uint64_t n_objects, uint64_t large_words)
{
    struct outcome outcome = {0};
    double words_sum = 0, allocations_sum = 0, words_var = 0, allocations_var = 0;
    uint64_t true_words = 0;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct hs_trace_objects objects;
        struct hs_error err = HS_ERROR_INIT;
        struct hs_trace_sum sum = {0};
        random_state = seed * 7919;
        uint64_t gap = (uint64_t)(log(uniform()) / log1p(-rate));
        true_words = 0;
        hs_trace_objects_init(&objects, NULL);
        for (uint64_t i = 0; i < n_objects; i++) {
            unsigned source = i % 7 == 3 ? HS_TRACE_EXTERNAL : HS_TRACE_MINOR;
            uint64_t words = i % 50 == 0 ? large_words : 1 + i % 13;
            uint64_t s = hs_trace_shape_sampled_words(words, source);
            true_words += s;
            struct hs_trace_event event = {.id = i, .words = words, .source = (uint8_t)source};
            event.n_samples = draw(s, rate, &gap);
            if (event.n_samples != 0)
                assert_int_equal(hs_trace_objects_add(&objects, &event, &err), HS_OK);
        }
        struct hs_trace_scale scale = hs_trace_scale_of(&objects, rate);
        assert_string_equal(hs_trace_scale_name(&scale), "sampled");
        for (uint64_t i = 0; i < objects.n; i++)
            hs_trace_sum_add(&sum, &objects.shapes[hs_trace_object(&objects, i)->shape]);
        struct hs_trace_estimate words = hs_trace_words(&scale, sum.n_samples);
        struct hs_trace_estimate allocations = hs_trace_allocations(&scale, &sum);
        double words_off = (double)words.value - (double)true_words;
        double allocations_off = (double)allocations.value - (double)n_objects;
        outcome.words_within += fabs(words_off) <= 2 * (double)words.error;
        outcome.allocations_within += fabs(allocations_off) <= 2 * (double)allocations.error;
        words_sum += words_off, words_var += (double)words.error * (double)words.error;
        allocations_sum += allocations_off;
        allocations_var += (double)allocations.error * (double)allocations.error;
        hs_trace_objects_fini(&objects);
    }
    outcome.words_bias = words_sum / sqrt(words_var);
    outcome.allocations_bias = allocations_sum / sqrt(allocations_var);
    return outcome;
}

/* 95.4 % of 400 runs, give or take three deviations of such a count (4.2 runs each), and a little
 * for the skewness of few samples. */
static void check(const struct outcome *outcome)
{
    print_message("within two errors: words %u, allocations %u of %d; bias %.2f and %.2f\n",
                  outcome->words_within, outcome->allocations_within, RUNS, outcome->words_bias,
                  outcome->allocations_bias);
    assert_in_range(outcome->words_within, 365, 397);
    assert_in_range(outcome->allocations_within, 361, 397);
    assert_true(fabs(outcome->words_bias) < 3);
    assert_true(fabs(outcome->allocations_bias) < 3);
}

static void test_rare_samples(void **state)
{
    struct outcome outcome = simulate(0.01, 5000, 40);
    check(&outcome);
}

/* Blocks with several samples each. */
static void test_large_objects(void **state)
{
    struct outcome outcome = simulate(0.01, 5000, 1000);
    check(&outcome);
}

/* Where 1 - r tells: without it the errors would be 1.4 times as large. */
static void test_dense_samples(void **state)
{
    struct outcome outcome = simulate(0.5, 2000, 40);
    check(&outcome);
}

static void test_exact(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace_objects objects;
    struct hs_trace_sum sum = {0};
    hs_trace_objects_init(&objects, NULL);
    for (uint64_t i = 0; i < 100; i++) {
        struct hs_trace_event event = {
            .id = i, .words = i, .source = (uint8_t)(i % 3), .n_samples = i + 1};
        if (event.source == HS_TRACE_EXTERNAL)
            event.n_samples = i;
        assert_int_equal(hs_trace_objects_add(&objects, &event, &err), HS_OK);
        hs_trace_sum_add(&sum, &objects.shapes[hs_trace_object(&objects, i)->shape]);
    }
    struct hs_trace_scale scale = hs_trace_scale_of(&objects, 1);
    assert_string_equal(hs_trace_scale_name(&scale), "exact");
    assert_int_equal(hs_trace_allocations(&scale, &sum).value, 100);
    assert_int_equal(hs_trace_allocations(&scale, &sum).error, 0);
    assert_int_equal(hs_trace_words(&scale, sum.n_samples).value, 4950 + 67);
    assert_int_equal(hs_trace_words(&scale, sum.n_samples).error, 0);

    /* A word that was not drawn shows that rate 1 was no such thing. */
    struct hs_trace_event event = {.id = 100, .words = 9, .n_samples = 8};
    assert_int_equal(hs_trace_objects_add(&objects, &event, &err), HS_OK);
    scale = hs_trace_scale_of(&objects, 1);
    assert_string_equal(hs_trace_scale_name(&scale), "sampled");
    assert_int_not_equal(hs_trace_words(&scale, sum.n_samples).error, 0);
    hs_trace_objects_fini(&objects);
}

static void test_extremes(void **state)
{
    struct hs_trace_objects none;
    hs_trace_objects_init(&none, NULL);
    struct hs_trace_scale scale = hs_trace_scale_of(&none, 1e-300);
    assert_int_equal(hs_trace_words(&scale, 5).value, UINT64_MAX);
    assert_int_equal(hs_trace_words(&scale, 0).value, 0);
    assert_int_equal(hs_trace_words(&scale, 0).error, 0);
    scale = hs_trace_scale_of(&none, 1e300); /* a Poisson process may be as dense as it likes */
    assert_int_equal(hs_trace_words(&scale, UINT64_MAX).value, 0);
    hs_trace_objects_fini(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rare_samples),  cmocka_unit_test(test_large_objects),
        cmocka_unit_test(test_dense_samples), cmocka_unit_test(test_exact),
        cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
