/* links: hs_target hs_symbols */
#include "unit.h"

#include <unistd.h>

#include "live_child.h"
#include "target/copy/forecast.h"

static struct hs_error err;

/* ---- status */

static void status_tells_what_guards_it(void **state)
{
    struct hs_copy_facts facts = {0};

    assert_true(hs_copy_facts_status(&facts, "Name:\tx\nPid:\t812\nNSpid:\t812\t14\t1\n"
                                             "Seccomp:\t2\nx86_Thread_features:\tshstk wrss\n"
                                             "x86_Thread_features_locked:\tshstk\n"));
    assert_true(facts.is_first && facts.is_filtered && facts.has_shadow_stack);
    assert_true(hs_copy_facts_status(&facts, "Name:\tx\nPid:\t812\nNSpid:\t812\t11\n"
                                             "Seccomp:\t0\nx86_Thread_features:\t\n"
                                             "x86_Thread_features_locked:\tshstk\n"));
    facts = (struct hs_copy_facts){0};
    assert_true(hs_copy_facts_status(&facts, "Pid:\t1\n"));
    assert_false(facts.is_first || facts.is_filtered || facts.has_shadow_stack);
    assert_false(hs_copy_facts_status(&facts, ""));
    assert_false(hs_copy_facts_status(&facts, "NSpid:"));
}

/* ---- smaps */

static const char made_smaps[] =
    "1000-9000 rw-p 00000000 00:00 0 \nRss: 32 kB\nAnonymous: 32 kB\nVmFlags: rd wr mr mw \n"
    "200000-600000 rw-p 00000000 00:00 0 \nAnonymous: 4096 kB\nAnonHugePages: 2048 kB\n"
    "Swap: 8 kB\nVmFlags: rd wr hg \n"
    "700000-701000 rw-p 00000000 00:00 0 \nAnonymous: 4 kB\nVmFlags: rd wr dc \n"
    "800000-802000 rw-p 00000000 00:00 0  a name\nAnonymous: 8 kB\nVmFlags: rd wr wf \n"
    "900000-901000 rw-s 00000000 00:05 77 /dev/zero (deleted)\nVmFlags: rd wr dc \n"
    "a00000-c00000 rw-p 00000000 00:0f 9 /anon_hugepage (deleted)\nAnonymous: 0 kB\n"
    "Private_Hugetlb: 2048 kB\nVmFlags: rd wr ht \n"
    "d00000-d01000 rw-p 00000000 00:00 0 \nAnonymous: 4 kB\nVmFlags: rd wr io pf dc \n";

static void smaps_tells_what_a_copy_shares_and_lacks(void **state)
{
    struct hs_copy_facts facts = {0};

    assert_int_equal(hs_copy_facts_smaps(&facts, made_smaps, sizeof made_smaps - 1, &err), HS_OK);
    assert_int_equal(facts.huge_bytes, 2048 << 10);
    assert_int_equal(facts.small_bytes, (32 + 2048 + 8 + 4 + 8 + 4) << 10);
    assert_int_equal(facts.n_areas, 3);
    assert_int_equal(facts.areas[0].begin, 0x700000);
    assert_int_equal(facts.areas[1].end, 0x802000);
    assert_int_equal(facts.areas[2].begin, 0xa00000);
    assert_int_equal(facts.saved_bytes, (4 + 8 + 2048) << 10);
    assert_false(facts.has_own_faults);
    hs_copy_facts_fini(&facts);
}

static void every_cut_of_smaps_is_survived(void **state)
{
    for (size_t n = 0; n < sizeof made_smaps; n++) {
        struct hs_copy_facts facts = {0};
        char text[sizeof made_smaps];
        memcpy(text, made_smaps, n);
        assert_int_equal(hs_copy_facts_smaps(&facts, text, n, &err), HS_OK);
        assert_true(facts.n_areas <= 3);
        hs_copy_facts_fini(&facts);
    }
}

static void no_figure_is_larger_than_its_mapping(void **state)
{
    static const char lies[] =
        "1000-2000 rw-p 00000000 00:00 0 \nAnonymous: 18446744073709551615 kB\n"
        "AnonHugePages: 99999999 kB\nSwap: 777 kB\nVmFlags: dc\n"
        "1000-2000 rw-p 00000000 00:00 0 \nAnonymous: 4 kB\n" /* twice */
        "3000-2000 rw-p 00000000 00:00 0 \nAnonymous: 4 kB\n"
        "zzzz\n5000-6000 rw-p 00000000 00:00 0 \nAnonymous: 40 kB\nVmFlags: um\n";
    struct hs_copy_facts facts = {0};

    assert_int_equal(hs_copy_facts_smaps(&facts, lies, sizeof lies - 1, &err), HS_OK);
    assert_true(facts.small_bytes + facts.huge_bytes <= 4 * 4096);
    assert_true(facts.has_own_faults);
    hs_copy_facts_fini(&facts);
}

/* ---- the verdict */

static struct hs_copy_facts good_facts(void)
{
    return (struct hs_copy_facts){
        .has_code = true,
        .small_bytes = UINT64_C(1) << 30,
        .room_bytes = UINT64_C(1) << 32,
        .costs = {.page_ns = 40, .child_ns = 200000, .mib_read_ns = 180000}};
}

static void refuses(struct hs_copy_facts facts, const char *word)
{
    struct hs_copy_outlook outlook;

    hs_copy_facts_judge(&facts, &outlook);
    assert_int_equal(outlook.variant, HS_COPY_NONE);
    if (strstr(outlook.why, word) == NULL)
        fail_msg("'%s' does not speak of '%s'", outlook.why, word);
    assert_true(outlook.read_pause_ns > 0);
}

static void each_obstacle_is_named(void **state)
{
    struct hs_copy_facts facts = good_facts();
    struct hs_copy_outlook outlook;

    hs_copy_facts_judge(&facts, &outlook);
    assert_int_equal(outlook.variant, HS_COPY_MIDDLE);
    assert_string_equal(outlook.why, "");
    facts.is_first = true;
    hs_copy_facts_judge(&facts, &outlook);
    assert_int_equal(outlook.variant, HS_COPY_DIRECT);
    facts = good_facts();
    facts.is_filtered = true;
    refuses(facts, "seccomp");
    facts.may_suspend_filter = true;
    hs_copy_facts_judge(&facts, &outlook);
    assert_int_equal(outlook.variant, HS_COPY_MIDDLE);
    facts.has_shadow_stack = true;
    refuses(facts, "shadow stack");
    facts = good_facts();
    facts.has_own_faults = true;
    refuses(facts, "userfaultfd");
    facts = good_facts();
    facts.commits_strictly = true;
    refuses(facts, "overcommit");
    facts = good_facts();
    facts.has_code = false;
    refuses(facts, "code");
    facts = good_facts();
    facts.saved_bytes = UINT64_C(1) << 30; /* all of it */
    facts.own_room_bytes = UINT64_C(1) << 40;
    refuses(facts, "take as long");
    facts.saved_bytes /= 4;
    hs_copy_facts_judge(&facts, &outlook);
    assert_int_equal(outlook.variant, HS_COPY_MIDDLE);
    facts.own_room_bytes = facts.saved_bytes;
    refuses(facts, "DONTFORK");
    facts = good_facts();
    facts.room_bytes = 1 << 20;
    refuses(facts, "little memory");
}

static void the_pause_grows_with_the_memory(void **state)
{
    struct hs_copy_facts facts = good_facts(), huge = good_facts();
    struct hs_copy_outlook small, large, of_huge;

    hs_copy_facts_judge(&facts, &small);
    facts.small_bytes *= 4;
    hs_copy_facts_judge(&facts, &large);
    huge.huge_bytes = huge.small_bytes;
    huge.small_bytes = 0;
    hs_copy_facts_judge(&huge, &of_huge);
    assert_true(large.copy_pause_ns > 3 * small.copy_pause_ns);
    assert_true(large.read_pause_ns > 3 * small.read_pause_ns);
    assert_true(small.read_pause_ns > 10 * small.copy_pause_ns);
    assert_true(of_huge.copy_pause_ns < small.copy_pause_ns / 2);
    facts.small_bytes = UINT64_MAX / 2; /* nothing wraps */
    facts.huge_bytes = 0;
    hs_copy_facts_judge(&facts, &large);
    assert_true(large.read_pause_ns > large.copy_pause_ns);
}

static void page_tables_and_threads_count(void **state)
{
    struct hs_copy_facts facts = good_facts();
    struct hs_copy_outlook before, after;

    hs_copy_facts_judge(&facts, &before);
    facts.table_bytes = UINT64_C(64) << 20; /* eight times those of full ones */
    hs_copy_facts_judge(&facts, &after);
    assert_true(after.copy_pause_ns > 3 * before.copy_pause_ns / 2);
    facts.table_bytes = facts.small_bytes / 512;
    hs_copy_facts_judge(&facts, &after);
    assert_int_equal(after.copy_pause_ns, before.copy_pause_ns);
    facts.n_threads = 10000;
    hs_copy_facts_judge(&facts, &after);
    assert_true(after.copy_pause_ns > before.copy_pause_ns + 50000000);
    assert_true(hs_copy_facts_status(&facts, "Pid:\t1\nThreads:\t77\nVmPTE:\t 100 kB\n"));
    assert_int_equal(facts.n_threads, 77);
    assert_int_equal(facts.table_bytes, 100 << 10);
}

static void costs_are_tried(void **state)
{
    struct hs_copy_costs costs = {0}, again = {0};

    hs_copy_costs_probe(&costs);
    assert_true(costs.page_ns > 0 && costs.page_ns < 100000);
    assert_true(costs.child_ns > 1000);
    assert_true(costs.mib_read_ns > 1000);
    hs_copy_costs_probe(&again);
    assert_memory_equal(&costs, &again, sizeof costs); /* known for a while */
}

static void a_range_is_told_in_one_unit_where_it_can_be(void **state)
{
    char text[HS_FORESEEN_TEXT_BYTES];

    hs_foreseen_text(15000000, 0, text, sizeof text);
    assert_string_equal(text, "9.0 to 25.0 ms");
    hs_foreseen_text(900000, 0, text, sizeof text);
    assert_non_null(strstr(text, " to 1.5 ms"));
    hs_foreseen_text(15000000, 48000000, text, sizeof text);
    assert_string_equal(text, "9.0 to 73.0 ms");
}

static void a_busy_machine_widens_the_range(void **state)
{
    struct hs_copy_facts facts = good_facts();
    struct hs_copy_outlook quiet, busy;

    assert_int_equal(hs_forecast_crowd("0.30 0.50 0.70 1/500 7\n", 2), 0);
    assert_int_equal(hs_forecast_crowd("2.90 0.50 0.70 3/500 7\n", 2), 0);
    assert_int_equal(hs_forecast_crowd("0.30 0.50 0.70 15/500 7\n", 2), 600);
    assert_int_equal(hs_forecast_crowd("14.10 0.50 0.70 2/500 7\n", 2), 600);
    assert_int_equal(hs_forecast_crowd("14.10 0.50 0.70 2/500 7\n", 64), 0);
    assert_int_equal(hs_forecast_crowd("", 2), 0);
    assert_int_equal(hs_forecast_crowd("nan -1 1e300 99999999999999999999999/", 2), 0);
    assert_int_equal(hs_forecast_crowd("14", 0), 0);
    hs_copy_facts_judge(&facts, &quiet);
    facts.crowd_percent = 600;
    hs_copy_facts_judge(&facts, &busy);
    assert_int_equal(quiet.copy_busy_ns, 0);
    assert_int_equal(quiet.read_busy_ns, 0);
    assert_int_equal(busy.copy_pause_ns, quiet.copy_pause_ns);
    assert_int_equal(busy.copy_busy_ns, 6 * 2 * UINT64_C(4000000));
    assert_true(busy.read_busy_ns > 5 * busy.read_pause_ns);
}

static void body_sleep(struct live_shared *shared)
{
    live_child_ready(shared);
    for (;;)
        pause();
}

static void a_live_process_is_foreseen_without_a_stop(void **state)
{
    struct live_child child = live_child_start(body_sleep);
    struct hs_target target;
    struct hs_copy_outlook outlook;

    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    assert_int_equal(hs_copy_foresee(&target, &outlook, &err), HS_OK);
    assert_true(outlook.resident_bytes > 0);
    assert_true(outlook.variant != HS_COPY_NONE || outlook.why[0] != '\0');
    assert_true(live_runs_free(child.pid));

    live_child_end(&child);
    assert_int_equal(hs_copy_foresee(&target, &outlook, &err), HS_TARGET);

    hs_target_close(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_tells_what_guards_it),
        cmocka_unit_test(smaps_tells_what_a_copy_shares_and_lacks),
        cmocka_unit_test(every_cut_of_smaps_is_survived),
        cmocka_unit_test(no_figure_is_larger_than_its_mapping),
        cmocka_unit_test(each_obstacle_is_named),
        cmocka_unit_test(the_pause_grows_with_the_memory),
        cmocka_unit_test(page_tables_and_threads_count),
        cmocka_unit_test(costs_are_tried),
        cmocka_unit_test(a_range_is_told_in_one_unit_where_it_can_be),
        cmocka_unit_test(a_busy_machine_widens_the_range),
        cmocka_unit_test(a_live_process_is_foreseen_without_a_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
