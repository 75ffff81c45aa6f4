/* links: hs_target hs_symbols */
#include "unit.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "live_child.h"
#include "target/copy/copy_private.h"
#include "target/procfs.h"

#define STAT(state, signal)                                                           \
    "17 (a b) c) " state                                                              \
    " 5 5 5 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 99 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 " signal \
    " 1 0 0 0 0 0 0 0 0 0 0 0 0 9\n"
#define STATUS(mask, pids) "Name:\ta\nPid:\t17\nNSpid:" pids "\nSigBlk:\t" mask "\n"
#define LEFT_MASK "fffffffffffbfeff"

static pid_t inner;

static bool is_left(const char *stat, const char *status_text, const char *parent_status_text)
{
    inner = -1;
    return hs_copy_left_is(stat, status_text, parent_status_text, &inner);
}

static void tells_by_all_marks(void **state)
{
    const char *parent = STATUS("0000000000000000", "\t5\t1"), *mine = STATUS(LEFT_MASK, "\t17\t3");

    assert_true(is_left(STAT("Z", "0"), mine, parent));
    assert_int_equal(inner, 3);
    assert_false(is_left(STAT("S", "0"), mine, parent));
    assert_false(is_left(STAT("Z", "17"), mine, parent));
    assert_false(is_left(STAT("Z", "0"), STATUS("fffffffe7ffbfeff", "\t17\t3"), parent));
    assert_false(is_left(STAT("Z", "0"), STATUS(LEFT_MASK, "\t17"), parent));
    assert_false(is_left(STAT("Z", "0"), STATUS(LEFT_MASK, "\t17\t3\t1"), parent));
}

static void believes_no_cut_file(void **state)
{
    const char *parent = STATUS("0", "\t5"), *mine = STATUS(LEFT_MASK, "\t17");
    const char *stat = STAT("Z", "0");
    char cut[256];

    for (size_t n = 0; n < strlen(stat); n++) {
        snprintf(cut, sizeof cut, "%.*s", (int)n, stat);
        bool is_whole = n > strlen(stat) - strlen(" 1 0 0 0 0 0 0 0 0 0 0 0 0 9\n");
        assert_int_equal(is_left(cut, mine, parent), is_whole);
    }
    assert_false(is_left(stat, "", parent));
    assert_false(is_left(stat, mine, ""));
    assert_false(is_left(stat, "NSpid:\t17\nSigBlk:\t" LEFT_MASK "\n", parent));
}

/* A child as a dump makes it, and one as programs make them. */
static pid_t make_child(unsigned long exit_signal, bool blocks_all)
{
    uint64_t all = UINT64_MAX, before;

    if (blocks_all)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    pid_t pid = (pid_t)syscall(SYS_clone, exit_signal, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    if (blocks_all)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    assert_true(pid > 0);
    assert_true(live_wait_state(pid, 'Z'));
    return pid;
}

static void finds_ours_alone(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    pid_t found[4], others[] = {make_child(0, false), make_child(SIGCHLD, true)};
    pid_t ours[] = {make_child(0, true), make_child(0, true)};

    assert_int_equal(hs_proc_read_of(getpid(), "status", &text, &n, &err), HS_OK);
    assert_int_equal(hs_copy_left_find(getpid(), text, found, 4), 2);
    assert_int_equal(found[0], ours[0]);
    assert_int_equal(found[1], ours[1]);
    assert_int_equal(hs_copy_left_find(getpid(), text, found, 1), 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(waitpid(ours[i], NULL, __WALL), ours[i]);
        assert_int_equal(waitpid(others[i], NULL, __WALL), others[i]);
    }
    assert_int_equal(hs_copy_left_find(getpid(), text, found, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_by_all_marks),
        cmocka_unit_test(believes_no_cut_file),
        cmocka_unit_test(finds_ours_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
