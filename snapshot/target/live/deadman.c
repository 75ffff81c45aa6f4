/* A hang of ours must not hold the target: a timer ends us, and the kernel then lets go. */
#include <signal.h>
#include <sys/time.h>

#include "base/progress.h"
#include "target_private.h"

#define DEADMAN_NS ((uint64_t)30000000000)
#define DEADMAN_RENEWALS 30 /* at most so often in the time that is left to a step */

static struct {
    bool is_armed, is_masked;
    struct sigaction old_action;
    sigset_t old_mask;
    uint64_t limit_ns, renewed_ns;
} deadman = {.limit_ns = DEADMAN_NS};

void hs_deadman_limit(uint64_t limit_ns)
{
    deadman.limit_ns = limit_ns;
}

static void deadman_start(uint64_t limit_ns)
{
    struct itimerval in = {
        .it_value = {.tv_sec = (time_t)(limit_ns / 1000000000),
                     .tv_usec = (suseconds_t)(limit_ns % 1000000000 / 1000)},
    };
    setitimer(ITIMER_REAL, &in, NULL);
    deadman.renewed_ns = hs_now_ns();
}

/* SIGALRM must end us, whatever we have inherited: a blocked one would do nothing. */
static bool deadman_take_alarm(void)
{
    struct sigaction drop = {.sa_handler = SIG_IGN}, die = {.sa_handler = SIG_DFL};
    sigset_t alarm;

    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    if (sigaction(SIGALRM, &drop, &deadman.old_action) != 0) /* drops one that waits already */
        return false;
    (void)sigaction(SIGALRM, &die, NULL);
    (void)sigprocmask(SIG_UNBLOCK, &alarm, NULL);
    return true;
}

void hs_deadman_arm(void)
{
    struct itimerval running;
    sigset_t mask;

    if (deadman.is_armed || deadman.is_masked)
        return; /* for another target: one timer serves both */
    sigemptyset(&mask);
    sigaddset(&mask, SIGTSTP);
    sigaddset(&mask, SIGTTIN);
    sigaddset(&mask, SIGTTOU);
    deadman.is_masked = sigprocmask(SIG_BLOCK, &mask, &deadman.old_mask) == 0;
    if (getitimer(ITIMER_REAL, &running) != 0 || running.it_value.tv_sec != 0 ||
        running.it_value.tv_usec != 0)
        return;
    deadman.is_armed = deadman_take_alarm();
    if (deadman.is_armed)
        deadman_start(deadman.limit_ns);
}

void hs_deadman_renew(void)
{
    if (deadman.is_armed && hs_now_ns() - deadman.renewed_ns > deadman.limit_ns / DEADMAN_RENEWALS)
        deadman_start(deadman.limit_ns);
}

void hs_deadman_within(uint64_t limit_ns)
{
    if (deadman.is_armed)
        deadman_start(limit_ns < deadman.limit_ns ? limit_ns : deadman.limit_ns);
}

void hs_deadman_disarm(void)
{
    if (deadman.is_armed) {
        struct itimerval off = {0};
        setitimer(ITIMER_REAL, &off, NULL);
        sigaction(SIGALRM, &deadman.old_action, NULL);
        deadman.is_armed = false;
    }
    if (deadman.is_masked) {
        sigprocmask(SIG_SETMASK, &deadman.old_mask, NULL);
        deadman.is_masked = false;
    }
}
