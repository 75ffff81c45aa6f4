/* links: hs_target */
#include "unit.h"

#include <unistd.h>

#include "base/alloc.h"
#include "target/procfs.h"

static struct hs_error err;

static void reads_whole_files(void **state)
{
    char *text = NULL;
    size_t n = 0;
    uint64_t pid;
    assert_int_equal(hs_proc_read("/proc/self/status", &text, &n, &err), HS_OK);
    assert_int_equal(strlen(text), n);
    assert_true(hs_proc_number(text, "Pid", 10, &pid));
    assert_int_equal(pid, getpid());
    assert_false(hs_proc_number(text, "id", 10, &pid)); /* not at the start of a line */
    assert_false(hs_proc_number(text, "Name", 10, &pid));
    hs_free(text);
    assert_int_equal(hs_proc_read_of(getpid(), "no such file", &text, &n, &err), HS_TARGET);
    assert_true(err.sys_errno != 0);
}

static void parses_stat_with_any_name(void **state)
{
    struct hs_proc_stat stat;
    assert_true(hs_proc_parse_stat("7 (a) R 1 (b)) ) S 1 7 7 0 -1 2097216 0 0 0 0 0 0 0 0 20 0 1 0 "
                                   "4711 0 0 18446744073709551615 94000 95000 140737 0 0\n",
                                   &stat));
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.flags, 2097216);
    assert_int_equal(stat.start_time, 4711);
    assert_int_equal(stat.code_begin, 94000);
    assert_int_equal(stat.stack_begin, 140737);
}

static void refuses_a_malformed_stat(void **state)
{
    struct hs_proc_stat stat;
    static const char *const bad[] = {"",
                                      "7",
                                      "7 (x)",
                                      "7 (x) ",
                                      "7 (x) S",
                                      "7 (x) S 1 2 3",
                                      "7 (x) S 1 7 7 0 -1 x",
                                      "7 (x)S 1 2 3 4 5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(hs_proc_parse_stat(bad[i], &stat));
}

static void reads_our_own_stat(void **state)
{
    struct hs_proc_stat of_process, of_thread;
    assert_int_equal(hs_proc_stat_of(getpid(), 0, &of_process, &err), HS_OK);
    assert_int_equal(hs_proc_stat_of(getpid(), getpid(), &of_thread, &err), HS_OK);
    assert_int_equal(of_process.state, 'R');
    assert_int_equal(of_process.start_time, of_thread.start_time);
    assert_true(of_process.stack_begin > 4096);
    assert_int_equal(hs_proc_stat_of(-1, 0, &of_process, &err), HS_TARGET);
}

static void a_failed_allocation_is_a_limit(void **state)
{
    char *text = NULL;
    size_t n;
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_proc_read("/proc/self/stat", &text, &n, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_whole_files),
        cmocka_unit_test(parses_stat_with_any_name),
        cmocka_unit_test(refuses_a_malformed_stat),
        cmocka_unit_test(reads_our_own_stat),
        cmocka_unit_test(a_failed_allocation_is_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
