/* links: hs_target hs_symbols */
#include "unit.h"

#include <dirent.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "live_child.h"
#include "target/target_private.h"

static void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return NULL;
}

/* The main thread executes a program when it is told to. */
static void body_exec_when_told(struct live_shared *shared)
{
    live_thread(wait_for_ever, NULL);
    live_child_ready(shared);
    while (atomic_load(&shared->end) == 0)
        live_sleep_us(100);
    execl("/bin/sleep", "sleep", "60", (char *)NULL);
}

static pid_t other_thread(pid_t pid)
{
    char path[64];
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    assert_non_null(tasks);
    for (struct dirent *e; (e = readdir(tasks)) != NULL;) {
        long tid = strtol(e->d_name, NULL, 10);
        if (tid > 0 && tid != pid)
            found = (pid_t)tid;
    }
    closedir(tasks);
    return found;
}

static void wait_thread_dead(pid_t pid, pid_t tid)
{
    for (int i = 0; i < 5000 && live_state_of(pid, tid) != 'Z'; i++)
        live_sleep_us(1000);
    assert_int_equal(live_state_of(pid, tid), 'Z');
}

/* A seized thread is killed by the exec of the main one, which waits until it is collected: by us,
 * who wait for the main thread. Without the guard the alarm ends this test. */
static void seizing_goes_on_beside_an_exec(void **state)
{
    for (int i = 0; i < 5; i++) {
        struct live_child child = live_child_start(body_exec_when_told);
        struct hs_thread thread = {.tid = other_thread(child.pid)};
        struct hs_target target = {.pid = child.pid, .threads = &thread, .n_threads = 1};
        assert_true(thread.tid > 0);
        assert_int_equal(ptrace(PTRACE_SEIZE, thread.tid, NULL, NULL), 0);
        atomic_store(&child.shared->end, 1);
        wait_thread_dead(child.pid, thread.tid);
        alarm(20);
        hs_seize_guard_begin();
        assert_int_equal(hs_seize_guarded(&target, child.pid, 0), 0);
        hs_seize_guard_end();
        alarm(0);
        live_child_end(&child);
    }
}

static void the_signal_is_given_back(void **state)
{
    struct sigaction mine = {.sa_handler = SIG_IGN}, found;
    sigset_t mask;
    assert_int_equal(sigaction(SIGVTALRM, &mine, NULL), 0);
    hs_seize_guard_begin();
    live_sleep_us(50000); /* the timer goes off: nobody is being seized */
    hs_seize_guard_end();
    assert_int_equal(sigaction(SIGVTALRM, NULL, &found), 0);
    assert_true(found.sa_handler == SIG_IGN);
    assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
    assert_false(sigismember(&mask, SIGVTALRM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seizing_goes_on_beside_an_exec),
        cmocka_unit_test(the_signal_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
