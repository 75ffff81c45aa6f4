/* links: hs_target */
#include "unit.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target/deadman.h"
#include "target/target_private.h"

#define SHORT_NS ((uint64_t)100000000)
/* The kernel's timer, which says nothing, comes a quarter of it after the alarm, which speaks: on a
 * busy machine, too, we come to speak by then. */
#define LONG_NS ((uint64_t)3000000000)

static bool timer_runs(void)
{
    struct itimerval value;
    assert_int_equal(getitimer(ITIMER_REAL, &value), 0);
    return value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0;
}

static bool is_blocked(int number)
{
    sigset_t mask;
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &mask), 0);
    return sigismember(&mask, number) == 1;
}

static void on_alarm(int number)
{
}

static void arms_and_leaves_no_trace(void **state)
{
    struct sigaction own = {.sa_handler = on_alarm}, now;
    assert_int_equal(sigaction(SIGALRM, &own, NULL), 0);
    hs_deadman_arm(getpid(), 0);
    assert_true(timer_runs());
    assert_true(is_blocked(SIGTSTP));
    assert_int_equal(sigaction(SIGALRM, NULL, &now), 0);
    assert_ptr_equal(now.sa_handler, SIG_DFL); /* a handler would not end a hang */
    hs_deadman_renew();
    hs_deadman_disarm();
    assert_false(timer_runs());
    assert_false(is_blocked(SIGTSTP));
    assert_int_equal(sigaction(SIGALRM, NULL, &now), 0);
    assert_ptr_equal(now.sa_handler, on_alarm);
    hs_deadman_disarm();
}

static void leaves_a_running_timer_alone(void **state)
{
    struct itimerval hour = {.it_value = {.tv_sec = 3600}}, off = {0}, left;
    assert_int_equal(setitimer(ITIMER_REAL, &hour, NULL), 0);
    hs_deadman_arm(getpid(), 0);
    hs_deadman_renew();
    assert_int_equal(getitimer(ITIMER_REAL, &left), 0);
    assert_true(left.it_value.tv_sec > 3000);
    hs_deadman_disarm();
    assert_true(timer_runs());
    assert_int_equal(setitimer(ITIMER_REAL, &off, NULL), 0);
}

static void block_alarm(int how)
{
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    assert_int_equal(sigprocmask(how, &alarm, NULL), 0);
}

static void hang(bool alarms_are_blocked)
{
    int report;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (alarms_are_blocked)
            block_alarm(SIG_BLOCK);
        hs_deadman_arm(getpid(), 0);
        struct itimerval soon = {.it_value = {.tv_usec = 1000}};
        setitimer(ITIMER_REAL, &soon, NULL); /* as if its time had come */
        for (;;)
            pause();
    }
    assert_int_equal(waitpid(child, &report, 0), child);
    assert_true(WIFSIGNALED(report) && WTERMSIG(report) == SIGALRM);
}

static void a_hang_ends_us(void **state)
{
    hang(false);
}

/* Signal masks are inherited. */
static void a_hang_ends_us_though_alarms_were_blocked(void **state)
{
    hang(true);
}

static void an_alarm_that_waits_already_does_not(void **state)
{
    block_alarm(SIG_BLOCK);
    assert_int_equal(raise(SIGALRM), 0);
    hs_deadman_arm(getpid(), 0);
    assert_true(timer_runs());
    hs_deadman_disarm();
    assert_true(is_blocked(SIGALRM));
    block_alarm(SIG_UNBLOCK);
}

static void say(const char *text, size_t n_bytes)
{
    (void)!write(STDERR_FILENO, text, n_bytes);
}

/* In a child with its standard error in a pipe, which both may hold: the wait status. */
static int end_of(uint64_t limit_ns, void (*body)(void), char *said, size_t n)
{
    int ends[2], report;
    ssize_t got;
    size_t at = 0;

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        hs_deadman_speak(&(struct hs_deadman_voice){say, 6});
        hs_deadman_arm(4242, limit_ns);
        hs_deadman_hold();
        body();
        _exit(0);
    }
    close(ends[1]);
    while (at < n - 1 && (got = read(ends[0], said + at, n - 1 - at)) > 0)
        at += (size_t)got;
    said[at] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &report, 0), child);
    return report;
}

static void be_stopped(void)
{
    (void)raise(SIGSTOP);
}

static void be_hung(void)
{
    for (;;)
        pause();
}

static void be_stopped_but_harmless(void)
{
    struct timespec while_stopped = {.tv_nsec = 400000000};

    hs_deadman_rest();
    if (fork() == 0) { /* who lets it go on */
        close(STDERR_FILENO);
        nanosleep(&while_stopped, NULL);
        kill(getppid(), SIGCONT);
        _exit(0);
    }
    (void)raise(SIGSTOP);
}

static void a_stop_of_ours_ends_us(void **state)
{
    char said[512];
    int report = end_of(SHORT_NS, be_stopped, said, sizeof said);
    assert_true(WIFSIGNALED(report) && WTERMSIG(report) == SIGKILL);
    assert_non_null(strstr(said, "process '4242'"));
    assert_non_null(strstr(said, "100.0 ms"));
}

static void a_hang_is_said(void **state)
{
    char said[512];
    int report = end_of(LONG_NS, be_hung, said, sizeof said);
    assert_true(WIFEXITED(report) && WEXITSTATUS(report) == 6);
    assert_non_null(strstr(said, "--max-pause"));
}

/* Whoever is stopped lets go within twice the limit, and who hangs comes to say so before. */
static void the_ends_are_within_twice_the_limit(void **state)
{
    const uint64_t ms = 1000000;
    for (uint64_t limit_ns = ms; limit_ns < 100000 * ms; limit_ns += 1 + limit_ns / 3) {
        uint64_t alarm_ns = hs_deadman_alarm_ns(limit_ns), kill_ns = hs_deadman_kill_ns(limit_ns);
        uint64_t most_ns = limit_ns < 10 * ms ? limit_ns + 10 * ms : 2 * limit_ns;
        assert_true(alarm_ns >= limit_ns + limit_ns / 4 && alarm_ns < kill_ns);
        assert_true(kill_ns >= limit_ns + 10 * ms && kill_ns <= most_ns);
        assert_true(limit_ns < 16 * ms || kill_ns <= limit_ns + limit_ns / 8 * 5);
    }
    assert_int_equal(hs_deadman_kill_ns(20 * ms), 32500000);
    assert_int_equal(hs_deadman_kill_ns(200 * ms), 300 * ms);
    assert_int_equal(hs_deadman_kill_ns(2000 * ms), 3000 * ms);
    assert_int_equal(hs_deadman_alarm_ns(20 * ms), 27500000);
    assert_int_equal(hs_deadman_alarm_ns(2000 * ms), 2500 * ms);
}

static void nobody_is_ended_who_holds_nothing(void **state)
{
    char said[512];
    int report = end_of(SHORT_NS, be_stopped_but_harmless, said, sizeof said);
    assert_true(WIFEXITED(report) && WEXITSTATUS(report) == 0);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arms_and_leaves_no_trace),
        cmocka_unit_test(leaves_a_running_timer_alone),
        cmocka_unit_test(a_hang_ends_us),
        cmocka_unit_test(a_hang_ends_us_though_alarms_were_blocked),
        cmocka_unit_test(an_alarm_that_waits_already_does_not),
        cmocka_unit_test(a_stop_of_ours_ends_us),
        cmocka_unit_test(a_hang_is_said),
        cmocka_unit_test(the_ends_are_within_twice_the_limit),
        cmocka_unit_test(nobody_is_ended_who_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
