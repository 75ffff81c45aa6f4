/* links: hs_tools_lib */
/* parts: watch */
/* Ticks, missed ones, rests after failures: the clock is an argument. */
#include "unit.h"

#include "tools/watch/plan.h"

#define MS ((uint64_t)1000000)
#define SECOND (1000 * MS)
#define MINUTE (60 * SECOND)

static void ticks_do_not_drift(void **state)
{
    struct hs_watch_plan plan;
    uint64_t start = 77 * SECOND, now = start;
    hs_watch_plan_init(10 * SECOND, 0, now, &plan);
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(hs_watch_plan_wait_ns(&plan, now), 0);
        assert_int_equal(hs_watch_plan_take(&plan, now), 1);
        assert_int_equal(hs_watch_plan_take(&plan, now), 0); /* taken is taken */
        /* Woken late each time, by up to 999 ms: the next one is where it belongs all the same. */
        now = start + (i + 1) * 10 * SECOND + i % 1000 * MS;
        assert_int_equal(hs_watch_plan_wait_ns(&plan, start + i * 10 * SECOND), 10 * SECOND);
    }
}

static void missed_ticks_are_counted(void **state)
{
    struct hs_watch_plan plan;
    hs_watch_plan_init(10 * SECOND, 3 * SECOND, 0, &plan);
    assert_int_equal(hs_watch_plan_wait_ns(&plan, 0), 3 * SECOND);
    assert_int_equal(hs_watch_plan_take(&plan, 3 * SECOND - 1), 0);
    assert_int_equal(hs_watch_plan_take(&plan, 3 * SECOND), 1);
    assert_int_equal(hs_watch_plan_take(&plan, 13 * SECOND - 1), 0);
    assert_int_equal(hs_watch_plan_take(&plan, 48 * SECOND), 4); /* of 13, 23, 33, 43 */
    assert_int_equal(hs_watch_plan_wait_ns(&plan, 48 * SECOND), 5 * SECOND);
}

static void the_longest_interval(void **state)
{
    struct hs_watch_plan plan;
    hs_watch_plan_init(HS_WATCH_MAX_EVERY_NS, HS_WATCH_MAX_EVERY_NS, MINUTE, &plan);
    assert_int_equal(hs_watch_plan_wait_ns(&plan, MINUTE), HS_WATCH_MAX_EVERY_NS);
    assert_int_equal(hs_watch_plan_take(&plan, MINUTE + HS_WATCH_MAX_EVERY_NS), 1);
    assert_int_equal(hs_watch_plan_failed(&plan), 1);
    hs_watch_plan_init(HS_WATCH_MIN_EVERY_NS, 0, 0, &plan);
    assert_int_equal(hs_watch_plan_take(&plan, SECOND), 1001);
}

static void failures_rest_longer_and_longer(void **state)
{
    static const uint64_t expected[] = {1, 2, 4, 8, 16, 32, 32, 32};
    struct hs_watch_plan plan;
    hs_watch_plan_init(MINUTE, 0, 0, &plan);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(hs_watch_plan_failed(&plan), expected[i]);
        for (uint64_t tick = 1; tick < expected[i]; tick++)
            assert_false(hs_watch_plan_may_try(&plan, 1));
        assert_true(hs_watch_plan_may_try(&plan, 1));
        assert_true(hs_watch_plan_may_try(&plan, 1)); /* it stays so until the next failure */
    }
    hs_watch_plan_succeeded(&plan);
    assert_int_equal(hs_watch_plan_failed(&plan), 1);
}

static void missed_ticks_count_as_rest(void **state)
{
    struct hs_watch_plan plan;
    hs_watch_plan_init(MINUTE, 0, 0, &plan);
    for (int i = 0; i < 4; i++)
        (void)hs_watch_plan_failed(&plan);
    assert_int_equal(plan.n_resting, 7);
    assert_false(hs_watch_plan_may_try(&plan, 7));
    assert_true(hs_watch_plan_may_try(&plan, 1));
    (void)hs_watch_plan_failed(&plan);
    assert_true(hs_watch_plan_may_try(&plan, 1000));
}

static void a_rest_is_at_most_an_hour_or_a_tick(void **state)
{
    struct hs_watch_plan plan;
    hs_watch_plan_init(10 * MINUTE, 0, 0, &plan);
    uint64_t n_ticks = 0;
    for (int i = 0; i < 10; i++)
        n_ticks = hs_watch_plan_failed(&plan);
    assert_int_equal(n_ticks, 6);
    hs_watch_plan_init(24 * 60 * MINUTE, 0, 0, &plan);
    for (int i = 0; i < 10; i++)
        n_ticks = hs_watch_plan_failed(&plan);
    assert_int_equal(n_ticks, 1);
    assert_true(hs_watch_plan_may_try(&plan, 1));
}

static void a_new_watch_keeps_the_distance(void **state)
{
    assert_int_equal(hs_watch_delay_ns(MINUTE, 0, 5000), 0);         /* none yet */
    assert_int_equal(hs_watch_delay_ns(MINUTE, 5000, 5000), MINUTE); /* just now */
    assert_int_equal(hs_watch_delay_ns(MINUTE, 5000, 25000), 40 * SECOND);
    assert_int_equal(hs_watch_delay_ns(MINUTE, 5000, 65000), 0);
    assert_int_equal(hs_watch_delay_ns(MINUTE, 5000, 6500000), 0);
    assert_int_equal(hs_watch_delay_ns(MINUTE, 5000, 4999), 0); /* the clock was set back */
    assert_int_equal(hs_watch_delay_ns(MINUTE, 1, UINT64_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_do_not_drift),
        cmocka_unit_test(missed_ticks_are_counted),
        cmocka_unit_test(the_longest_interval),
        cmocka_unit_test(failures_rest_longer_and_longer),
        cmocka_unit_test(missed_ticks_count_as_rest),
        cmocka_unit_test(a_rest_is_at_most_an_hour_or_a_tick),
        cmocka_unit_test(a_new_watch_keeps_the_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
