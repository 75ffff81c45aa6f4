/* links: hs_target hs_symbols */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live_child.h"
#include "target/freeze.h"
#include "target/procfs.h"
#include "target/target.h"
#include "target/target_private.h"

static struct hs_error err;
static uint64_t known_word = 0x1234567890abcdef;

static void body_sleep(struct live_shared *shared)
{
    live_child_ready(shared);
    for (;;)
        pause();
}

static void expect_refusal(pid_t pid, const char *message, const char *hint)
{
    struct hs_target target = {0};
    memset(&err, 0, sizeof err);
    assert_int_equal(hs_target_open(pid, &target, &err), HS_TARGET);
    if (strstr(err.message, message) == NULL)
        fail_msg("'%s' is not in '%s'", message, err.message);
    if (strstr(err.hint, hint) == NULL)
        fail_msg("'%s' is not in '%s'", hint, err.hint);
    assert_int_equal(target.pid, 0); /* untouched */
    hs_target_close(&target);
}

static void no_such_process(void **state)
{
    struct live_child child = live_child_start(body_sleep);
    pid_t pid = child.pid;
    live_child_end(&child);
    expect_refusal(pid, "no such process", "ps -e");
    expect_refusal(0, "no such process", "ps -e");
    expect_refusal(-1, "no such process", "ps -e");
}

static void ourselves(void **state)
{
    expect_refusal(getpid(), "heapsnap itself", "another process");
}

static void body_end(struct live_shared *shared)
{
    live_child_ready(shared);
}

static void a_zombie(void **state)
{
    struct live_child child = live_child_start(body_end);
    char parent[32];
    assert_true(live_wait_state(child.pid, 'Z'));
    snprintf(parent, sizeof parent, "parent %d", getpid());
    expect_refusal(child.pid, "zombie", parent);
    live_child_end(&child);
}

static void a_kernel_thread(void **state)
{
    struct hs_proc_stat stat;
    if (hs_proc_stat_of(2, 0, &stat, &err) != HS_OK || !(stat.flags & 0x00200000))
        skip(); /* a container that shows none */
    expect_refusal(2, "kernel thread", "program");
}

static void *wait_forever(void *ignored)
{
    for (;;)
        pause();
    return NULL;
}

static void *tell_tid(void *shared)
{
    atomic_store(&((struct live_shared *)shared)->counters[0], (uint64_t)gettid());
    return wait_forever(NULL);
}

static void body_two_threads(struct live_shared *shared)
{
    live_thread(tell_tid, shared);
    while (atomic_load(&shared->counters[0]) == 0)
        live_sleep_us(100);
    body_sleep(shared);
}

static void a_thread_is_not_a_process(void **state)
{
    struct live_child child = live_child_start(body_two_threads);
    char command[64];
    snprintf(command, sizeof command, "heapsnap dump %d", child.pid);
    expect_refusal((pid_t)atomic_load(&child.shared->counters[0]), "it is a thread of process",
                   command);
    live_child_end(&child);
}

static void body_main_thread_ends(struct live_shared *shared)
{
    live_thread(wait_forever, NULL);
    live_child_ready(shared);
    pthread_exit(NULL);
}

static void a_process_whose_main_thread_ended(void **state)
{
    struct live_child child = live_child_start(body_main_thread_ends);
    assert_true(live_wait_state(child.pid, 'Z'));
    struct hs_target target = {0};
    uint64_t word = 0;
    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    assert_true(target.pid == child.pid && target.live.pid != child.pid);
    hs_addr at = (hs_addr)(uintptr_t)&known_word; /* forked: it lies where ours lies */
    assert_int_equal(hs_target_stop(&target, &err), HS_OK);
    assert_int_equal(target.n_threads, 1);
    assert_int_equal(hs_target_freeze(&target, &err), HS_OK);
    assert_int_equal(target.report.way, HS_WAY_READ);
    assert_int_equal(hs_target_read(&target, at, &word, sizeof word, &err), HS_OK);
    assert_int_equal(word, known_word);
    assert_non_null(hs_target_mapping_at(&target, at));
    hs_target_resume(&target);
    assert_int_equal(hs_refusal_if_ended(child.pid, HS_TARGET, &err), HS_TARGET);
    hs_target_close(&target);
    live_child_end(&child);
    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_TARGET);
}

/* Its main thread ends between opening and a stop. */
static void body_main_thread_ends_later(struct live_shared *shared)
{
    live_thread(wait_forever, NULL);
    live_child_ready(shared);
    while (!atomic_load(&shared->counters[1]))
        live_sleep_us(1000);
    pthread_exit(NULL);
}

static void a_main_thread_that_ends_meanwhile(void **state)
{
    struct live_child child = live_child_start(body_main_thread_ends_later);
    struct hs_target target = {0};
    uint64_t word = 0;
    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    assert_int_equal(target.live.pid, child.pid);
    atomic_store(&child.shared->counters[1], 1);
    assert_true(live_wait_state(child.pid, 'Z'));
    target.options.mode = HS_STOP_READ;
    assert_int_equal(hs_stop_all(&target, &err), HS_OK);
    assert_true(target.live.pid != child.pid && target.n_mappings > 0);
    hs_addr at = (hs_addr)(uintptr_t)&known_word;
    assert_int_equal(hs_target_read(&target, at, &word, sizeof word, &err), HS_OK);
    assert_int_equal(word, known_word);
    hs_target_resume(&target);
    assert_true(live_runs_free(target.live.pid));
    hs_target_close(&target);
    live_child_end(&child);
}

static void already_traced_names_the_tracer(void **state)
{
    struct live_child child = live_child_start(body_sleep);
    char who[64];
    int ready[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    pid_t tracer = fork();
    assert_true(tracer >= 0);
    if (tracer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "tra\033[1mcer");
        bool good = ptrace(PTRACE_SEIZE, child.pid, NULL, NULL) == 0;
        if (write(ready[1], good ? "y" : "n", 1) == 1)
            wait_forever(NULL);
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    /* a name may carry escape sequences; they must not reach the user's terminal */
    snprintf(who, sizeof who, "traced by 'tra?[1mcer' (pid %d)", tracer);
    expect_refusal(child.pid, who, "detach");
    kill(tracer, SIGKILL);
    assert_int_equal(waitpid(tracer, NULL, 0), tracer);
    close(ready[0]);
    close(ready[1]);
    live_child_end(&child);
}

/* Runs the check as nobody; the parts of the answer come back through a pipe. */
static void refuse_as_nobody(pid_t pid, bool is_undumpable, char *text, size_t n)
{
    int answer[2];
    assert_int_equal(pipe(answer), 0);
    pid_t tool = fork();
    assert_true(tool >= 0);
    if (tool == 0) {
        struct hs_error tool_err = HS_ERROR_INIT;
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(1);
        prctl(PR_SET_DUMPABLE, !is_undumpable);
        hs_status status = hs_refusal_check(pid, &tool_err);
        dprintf(answer[1], "%d %s | %s", status, tool_err.message, tool_err.hint);
        _exit(0);
    }
    close(answer[1]);
    ssize_t got = read(answer[0], text, n - 1);
    text[got > 0 ? got : 0] = '\0';
    close(answer[0]);
    assert_int_equal(waitpid(tool, NULL, 0), tool);
}

static void another_user(void **state)
{
    char text[1024];
    if (geteuid() != 0)
        skip();
    struct live_child child = live_child_start(body_sleep);
    refuse_as_nobody(child.pid, false, text, sizeof text);
    assert_non_null(strstr(text, "belongs to user 0 and you are user 65534"));
    assert_non_null(strstr(text, "as that user or as root"));
    live_child_end(&child);
}

static void body_nobody(struct live_shared *shared)
{
    if (setgid(65534) != 0 || setuid(65534) != 0)
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the change of user cleared it and made us undumpable */
    body_sleep(shared);
}

static void not_dumpable(void **state)
{
    char text[1024];
    if (geteuid() != 0)
        skip();
    struct live_child child = live_child_start(body_nobody);
    refuse_as_nobody(child.pid, false, text, sizeof text);
    if (strstr(text, "not dumpable") == NULL || strstr(text, "as root") == NULL)
        fail_msg("%s", text);
    live_child_end(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_such_process),
        cmocka_unit_test(ourselves),
        cmocka_unit_test(a_zombie),
        cmocka_unit_test(a_kernel_thread),
        cmocka_unit_test(a_thread_is_not_a_process),
        cmocka_unit_test(a_process_whose_main_thread_ended),
        cmocka_unit_test(a_main_thread_that_ends_meanwhile),
        cmocka_unit_test(already_traced_names_the_tracer),
        cmocka_unit_test(another_user),
        cmocka_unit_test(not_dumpable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
