/* links: hs_runtimes hs_process hs_symbols */
#include "unit.h"

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
    hs_dump_plan_fini(&plan);
    hs_image_fini(&image);
    plan = (struct hs_dump_plan){0};
    return 0;
}

static hs_status make(uint64_t limit_bytes, uint64_t copy_bytes)
{
    hs_budget_init(limit_bytes, NULL, 1, &budget);
    const struct hs_dump_load load = {.copy_bytes = copy_bytes};

    return hs_dump_plan_make(&plan, &image, &budget, &load, &err);
}

static void what_fits_stays_in_memory(void **state)
{
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
    char text[100];

    assert_int_equal(make(GIB, 1000 * MIB), HS_OK); /* no room for its tables */
    assert_non_null(image.paged);
    assert_int_equal(image.limit_bytes, 0);
    assert_true(hs_dump_plan_tell(&plan, text, sizeof text));
    assert_string_equal(text, "the copy of the process (1000.0 MiB) went through a temporary file");
    /* what is resident gives way to tables, down to its least */
    uint64_t before = image.paged->most;
    assert_int_equal(hs_dump_plan_reserve(&plan, 500 * MIB, "a table", &err), HS_OK);
    assert_true(image.paged->most * image.paged->window_bytes <=
                before * image.paged->window_bytes - 490 * MIB);
    assert_int_equal(hs_dump_plan_reserve(&plan, GIB, "a table", &err), HS_LIMIT);
    assert_non_null(strstr(err.message, "a table"));
    assert_true(image.paged->most * image.paged->window_bytes >= HS_PAGED_MIN_BYTES);
    assert_true(budget.peak_bytes <= budget.limit_bytes);
    hs_dump_plan_fini(&plan);
    hs_image_fini(&image);
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
    plan = (struct hs_dump_plan){0};
}

/* A copy in a file is seen at addresses, as many as it has bytes. */
static void addresses_for_the_file_are_needed(void **state)
{
#ifdef HS_SANITIZED
    skip(); /* they have no use for a limit on addresses */
#endif
    struct rlimit before, less;

    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    less = (struct rlimit){8 * GIB, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    hs_budget_init(GIB, NULL, 1, &budget);
    const struct hs_dump_load five = {.copy_bytes = 5 * GIB};
    hs_status enough = hs_dump_refuse(&budget, &five, &err);
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
    assert_int_equal(make(600 * MIB, 12 * GIB), HS_OK);
    assert_true(image.paged->most * image.paged->window_bytes >= 32 * MIB);
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
    const struct hs_dump_load large = {.copy_bytes = 100 * GIB};
    assert_int_equal(hs_dump_plan_make(&plan, &image, NULL, &large, &err), HS_OK);
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

/* Of files: symbols count always, debug information where there is room for it, and it leaves some
 * to what must be had. */
static void counts_what_is_kept_of_files(void **state)
{
    struct hs_dump_load load = {.copy_bytes = 200 * MIB};
    struct hs_dump_needs without, with;

    hs_budget_init(GIB, NULL, 1, &budget);
    hs_dump_foresee(&budget, &load, &without);
    load.file_bytes = 50 * MIB;
    load.debug_bytes = 600 * MIB;
    load.block_bytes = 30 * MIB;
    hs_dump_foresee(&budget, &load, &with);
    assert_int_equal(with.memory_bytes - without.memory_bytes, 680 * MIB);
    assert_int_equal(with.seen_bytes - without.seen_bytes, 680 * MIB);
    assert_int_equal(with.least_bytes - without.least_bytes, 50 * MIB);
    assert_true(!with.spills && !without.spills);
    assert_int_equal(hs_dump_plan_make(&plan, &image, &budget, &load, &err), HS_OK);
    assert_true(budget.used_bytes > 250 * MIB && budget.used_bytes < 300 * MIB);
    assert_int_equal(image.limit_bytes,
                     GIB - HS_BUDGET_BASE_BYTES - with.memory_bytes + load.copy_bytes);
    uint64_t room = hs_dump_plan_room(&plan);
    assert_int_equal(hs_dump_plan_reserve_spare(&plan, 600 * MIB, "debug information", &err),
                     HS_OK);
    assert_int_equal(hs_dump_plan_reserve_spare(&plan, room - 601 * MIB, "more", &err), HS_LIMIT);
    assert_non_null(strstr(err.message, "no memory for more"));
    assert_int_equal(hs_dump_plan_reserve(&plan, room - 601 * MIB, "a table", &err), HS_OK);
}

/* Sums of what a process claims never wrap. */
static void sums_do_not_wrap(void **state)
{
    const struct hs_dump_load load = {UINT64_MAX / 2, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    struct hs_dump_needs needs;

    hs_budget_init(GIB, NULL, 1, &budget);
    hs_dump_foresee(&budget, &load, &needs);
    assert_int_equal(needs.memory_bytes, UINT64_MAX);
    assert_int_equal(needs.seen_bytes, UINT64_MAX);
    assert_int_equal(needs.least_bytes, UINT64_MAX);
    assert_int_equal(hs_dump_plan_make(&plan, &image, &budget, &load, &err), HS_LIMIT);
}

/* A process that has grown: its next copy goes to a file. */
static void turns_when_the_copy_is_full(void **state)
{
    hs_status status = HS_LIMIT;

    assert_int_equal(make(GIB, 800 * MIB), HS_OK);
    assert_false(hs_dump_plan_retry(&plan, &status, &err)); /* another limit */
    assert_int_equal(status, HS_LIMIT);
    image.is_full = true;
    image.kept_bytes = 900 * MIB;
    assert_true(hs_dump_plan_retry(&plan, &status, &err));
    assert_int_equal(status, HS_OK);
    assert_non_null(image.paged);
    assert_int_equal(plan.load.copy_bytes, 900 * MIB);
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
    struct live_child child = live_child_start(body);
    struct hs_target target;
    struct hs_objects objects = {0};
    const struct hs_dump_wants all = {.has_types = true, .bytes_of_a_block = 8}, none = {0};
    struct hs_dump_load load, bare;

    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    assert_int_equal(hs_objects_open(&objects, &target, &err), HS_OK);
    assert_int_equal(hs_dump_load_read(&target, &objects, NULL, &all, &load, &err), HS_OK);
    assert_true(load.copy_bytes > 4096 && load.copy_bytes < 100 * MIB);
    assert_true(load.file_bytes > 4096 &&
                load.file_bytes < 100 * MIB); /* symbols of this program */
    assert_true(load.debug_bytes > 4096);     /* it is built with -g */
    assert_int_equal(hs_dump_load_read(&target, &objects, NULL, &none, &bare, &err), HS_OK);
    assert_int_equal(bare.debug_bytes, 0);
    assert_int_equal(bare.block_bytes, 0);
    assert_true(load.block_bytes > 0 && load.block_bytes < load.copy_bytes);
    assert_int_equal(bare.file_bytes, load.file_bytes);
    hs_objects_close(&objects);
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
        cmocka_unit_test_teardown(counts_what_is_kept_of_files, tear_down),
        cmocka_unit_test_teardown(sums_do_not_wrap, tear_down),
        cmocka_unit_test_teardown(turns_when_the_copy_is_full, tear_down),
        cmocka_unit_test_teardown(adjusts_to_what_the_tables_come_to, tear_down),
        cmocka_unit_test_teardown(asks_the_kernel_what_there_is, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
