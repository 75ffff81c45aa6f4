/* Keeps PTRACE_SEIZE from waiting for ever.
 *
 * A thread that executes a program kills all others and waits, with the mutex of its credentials
 * held, until they are collected (fs/exec.c, de_thread). Those that we have seized already only we
 * can collect, and PTRACE_SEIZE of the next one waits for that same mutex (kernel/ptrace.c,
 * ptrace_attach): neither would ever go on. The wait can be interrupted and is then taken up again
 * by itself, so a timer's handler collects the dead meanwhile. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target_private.h"

#define GUARD_SIGNAL SIGVTALRM
#define GUARD_PERIOD_NS 20000000

/* The state that the handler may touch: whole while `target` is not NULL. */
static struct {
    const struct hs_target *volatile target;
    volatile size_t n_seized, n_seen; /* when the timer last came */
    timer_t timer;
    bool has_timer;
    struct sigaction old_action;
    sigset_t old_mask;
} guard;

/* Only the ends of known threads are taken, no stop's report: a tracer is told of those, too, and
 * would lose them (kernel/exit.c, wait_task_stopped), so it first looks. The main thread is not
 * waited for by the one that executes, and its end is told to the program's parent. */
static void guard_collect(int number)
{
    const struct hs_target *target = guard.target;
    int saved_errno = errno;

    (void)number;
    if (guard.n_seen != guard.n_seized) { /* it goes on: to look at all takes longer than that */
        guard.n_seen = guard.n_seized;
        return;
    }
    for (size_t i = 0; target != NULL && i < target->n_threads; i++) {
        siginfo_t info = {.si_code = 0};
        pid_t tid = target->threads[i].tid;
        if (tid == target->pid ||
            waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0)
            continue;
        if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
            (void)waitid(P_PID, (id_t)tid, &info, WEXITED | WNOHANG | __WALL);
    }
    errno = saved_errno;
}

void hs_seize_guard_begin(void)
{
    struct sigaction collect = {.sa_handler = guard_collect, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = GUARD_SIGNAL};
    struct itimerspec period = {.it_value.tv_nsec = GUARD_PERIOD_NS,
                                .it_interval.tv_nsec = GUARD_PERIOD_NS};
    sigset_t mask;

    guard.target = NULL;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    guard.has_timer = timer_create(CLOCK_MONOTONIC, &event, &guard.timer) == 0;
    if (!guard.has_timer)
        return; /* the timer over the whole stop is still there */
    sigemptyset(&mask);
    sigaddset(&mask, GUARD_SIGNAL);
    (void)sigaction(GUARD_SIGNAL, &collect, &guard.old_action);
    (void)sigprocmask(SIG_UNBLOCK, &mask, &guard.old_mask);
    (void)timer_settime(guard.timer, 0, &period, NULL);
}

long hs_seize_guarded(const struct hs_target *target, pid_t tid, long options)
{
    guard.n_seized++;
    guard.target = target;
    long result = ptrace(PTRACE_SEIZE, tid, NULL, (void *)options);
    guard.target = NULL;
    return result;
}

void hs_seize_guard_end(void)
{
    if (!guard.has_timer)
        return;
    guard.has_timer = false;
    (void)timer_delete(guard.timer);
    (void)sigprocmask(SIG_SETMASK, &guard.old_mask, NULL);
    (void)sigaction(GUARD_SIGNAL, &guard.old_action, NULL);
}
