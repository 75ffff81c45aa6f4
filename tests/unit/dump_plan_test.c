/* links: hs_ocaml hs_runtimes hs_process hs_symbols */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "live_child.h"
#include "process/dump_plan.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static struct hs_error err;
static struct hs_budget budget;
static struct hs_image image;
static struct hs_dump_plan plan;

static int tear_down(void **state)
{
    (void)state;
    hs_dump_plan_fini(&plan);
    hs_image_fini(&image);
    plan = (struct hs_dump_plan){0};
    return 0;
}

static hs_status make(uint64_t limit_bytes, uint64_t copy_bytes)
{
    hs_budget_init(limit_bytes, NULL, 1, &budget);
    return hs_dump_plan_make(&plan, &image, &budget, copy_bytes, &err);
}

static void what_fits_stays_in_memory(void **state)
{
    (void)state;
    char text[100];

    assert_int_equal(make(GIB, 800 * MIB), HS_OK);
    assert_null(image.paged);
    assert_true(image.limit_bytes >= 800 * MIB && image.limit_bytes < GIB);
    assert_true(budget.used_bytes > 800 * MIB);
    assert_false(hs_dump_plan_tell(&plan, text, sizeof text));
    hs_dump_plan_fini(&plan);
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
    plan = (struct hs_dump_plan){0};
}

static void what_does_not_fit_goes_to_a_file(void **state)
{
    (void)state;
    char text[100];

    assert_int_equal(make(GIB, 1000 * MIB), HS_OK); /* no room for its tables */
    assert_non_null(image.paged);
    assert_int_equal(image.limit_bytes, 0);
    assert_true(hs_dump_plan_tell(&plan, text, sizeof text));
    assert_string_equal(text, "the copy of the process (1000.0 MiB) went through a temporary file");
    /* what is resident gives way to tables, down to its least */
    uint64_t before = image.paged->most;
    assert_int_equal(hs_dump_plan_reserve(&plan, 500 * MIB, "a table", &err), HS_OK);
    assert_true(image.paged->most * HS_PAGED_WINDOW_BYTES <=
                before * HS_PAGED_WINDOW_BYTES - 490 * MIB);
    assert_int_equal(hs_dump_plan_reserve(&plan, GIB, "a table", &err), HS_LIMIT);
    assert_non_null(strstr(err.message, "a table"));
    assert_true(image.paged->most * HS_PAGED_WINDOW_BYTES >= HS_PAGED_MIN_BYTES);
    assert_true(budget.peak_bytes <= budget.limit_bytes);
    hs_dump_plan_fini(&plan);
    hs_image_fini(&image);
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
    plan = (struct hs_dump_plan){0};
}

/* A copy in a file is seen at addresses, as many as it has bytes. */
static void addresses_for_the_file_are_needed(void **state)
{
    (void)state;
#ifdef HS_SANITIZED
    skip(); /* they have no use for a limit on addresses */
#endif
    struct rlimit before, less;

    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    less = (struct rlimit){8 * GIB, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    hs_budget_init(GIB, NULL, 1, &budget);
    hs_status enough = hs_dump_refuse(&budget, 5 * GIB, &err);
    hs_status few = make(GIB, 16 * GIB);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(enough, HS_OK);
    assert_int_equal(few, HS_LIMIT);
    assert_non_null(strstr(err.message, "of addresses"));
    assert_non_null(strstr(err.hint, "ulimit -v"));
}

/* 12 GiB in 600 MiB, and no less than what their places take. */
static void tells_the_least_that_is_needed(void **state)
{
    (void)state;
    assert_int_equal(make(600 * MIB, 12 * GIB), HS_OK);
    assert_true(image.paged->most * HS_PAGED_WINDOW_BYTES >= 32 * MIB);
    tear_down(NULL);
    assert_int_equal(make(300 * MIB, 12 * GIB), HS_LIMIT);
    assert_non_null(strstr(err.message, "12.0 GiB"));
    assert_non_null(strstr(err.message, "at least"));
    assert_non_null(strstr(err.hint, "--memory"));
    assert_null(image.paged);
    assert_int_equal(make(GIB * 1024, UINT64_MAX / 2), HS_LIMIT);
    assert_int_equal(make(GIB * 1024 * 1024, GIB * 1024 * 1024), HS_IO); /* no such disk */
}

static void without_a_limit_nothing_is_counted(void **state)
{
    (void)state;
    assert_int_equal(hs_dump_plan_make(&plan, &image, NULL, 100 * GIB, &err), HS_OK);
    assert_null(image.paged);
    assert_int_equal(hs_dump_plan_reserve(&plan, GIB, "a table", &err), HS_OK);
    assert_int_equal(hs_dump_plan_adjust(&plan, GIB, &err), HS_OK);
    hs_dump_plan_release(&plan, GIB);
    assert_int_equal(image.limit_bytes, 0);
    struct hs_dump_plan none = {0}; /* tests of other parts make none */
    assert_int_equal(hs_dump_plan_reserve(&none, GIB, "a table", &err), HS_OK);
    hs_dump_plan_release(&none, GIB);
    hs_dump_plan_fini(&none);
    hs_dump_plan_fini(NULL);
}

/* A process that has grown: its next copy goes to a file. */
static void turns_when_the_copy_is_full(void **state)
{
    (void)state;
    hs_status status = HS_LIMIT;

    assert_int_equal(make(GIB, 800 * MIB), HS_OK);
    assert_false(hs_dump_plan_retry(&plan, &status, &err)); /* another limit */
    assert_int_equal(status, HS_LIMIT);
    image.is_full = true;
    image.kept_bytes = 900 * MIB;
    assert_true(hs_dump_plan_retry(&plan, &status, &err));
    assert_int_equal(status, HS_OK);
    assert_non_null(image.paged);
    assert_int_equal(plan.copy_bytes, 900 * MIB);
    assert_false(hs_dump_plan_retry(&plan, &status, &err));
    tear_down(NULL);
    assert_int_equal(make(40 * MIB, 1 * MIB), HS_OK);
    image.is_full = true;
    status = HS_LIMIT;
    assert_false(hs_dump_plan_retry(&plan, &status, &err)); /* not even that */
    assert_int_equal(status, HS_LIMIT);
}

static void adjusts_to_what_the_tables_come_to(void **state)
{
    (void)state;
    assert_int_equal(make(GIB, 800 * MIB), HS_OK);
    uint64_t used_bytes = budget.used_bytes;
    assert_int_equal(hs_dump_plan_adjust(&plan, 0, &err), HS_OK);
    assert_true(budget.used_bytes < used_bytes);
    assert_int_equal(hs_dump_plan_adjust(&plan, GIB, &err), HS_LIMIT);
}

static void body(struct live_shared *shared)
{
    live_child_ready(shared);
    for (;;)
        pause();
}

static void asks_the_kernel_what_there_is(void **state)
{
    (void)state;
    struct live_child child = live_child_start(body);
    struct hs_target target;
    uint64_t n_bytes = 0;

    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    assert_int_equal(hs_dump_copy_bytes(&target, &n_bytes, &err), HS_OK);
    assert_true(n_bytes > 4096 && n_bytes < 100 * MIB);
    hs_target_close(&target);
    live_child_end(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_fits_stays_in_memory, tear_down),
        cmocka_unit_test_teardown(what_does_not_fit_goes_to_a_file, tear_down),
        cmocka_unit_test_teardown(addresses_for_the_file_are_needed, tear_down),
        cmocka_unit_test_teardown(tells_the_least_that_is_needed, tear_down),
        cmocka_unit_test_teardown(without_a_limit_nothing_is_counted, tear_down),
        cmocka_unit_test_teardown(turns_when_the_copy_is_full, tear_down),
        cmocka_unit_test_teardown(adjusts_to_what_the_tables_come_to, tear_down),
        cmocka_unit_test_teardown(asks_the_kernel_what_there_is, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
