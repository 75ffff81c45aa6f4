/* Keeps a dump that hangs from holding its target. Three things see to that, each where the one
 * before cannot:
 *
 *   all loops     look at the time and let go                          at the limit
 *   SIGALRM       a step that hangs: says so and ends us               a quarter after it
 *   SIGKILL       we are stopped or frozen: a timer of the kernel's    half of it after it
 *
 * Of a short limit more than that, for who runs on a busy machine comes late: three eighths of it,
 * up to 50 ms, and five eighths, up to 100 ms; so all is over within twice the limit. At least 5
 * and 10 ms: a stop that does not come to stand is not given up before (stop.c, STOP_LEAST_NS).
 *
 * Until it stands, a step has seconds; but whoever is seized stands by any signal until we look, so
 * the witness ends us as soon when we are stopped or frozen meanwhile.
 *
 * A timer's SIGKILL acts on a process that is stopped, and on one in a frozen group of cgroup v2;
 * it cannot be killed before us and knows no pid. It says nothing: the witness (witness.c) does.
 * Whatever ends us, the kernel detaches, and the target goes on. */
#include "target/deadman.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/units.h"
#include "target_private.h"
#include "witness.h"

#define DEADMAN_STEP_NS ((uint64_t)30000000000)
#define DEADMAN_LOOSE_NS ((uint64_t)1000000000)
#define DEADMAN_RENEWALS 30 /* at most so often in the time that is left to a step */
/* Less than the first of these a busy machine takes for anything, less than the second hardly. */
#define DEADMAN_ALARM_BUSY_NS ((uint64_t)50000000)
#define DEADMAN_ALARM_MIN_NS ((uint64_t)5000000)
#define DEADMAN_KILL_BUSY_NS ((uint64_t)100000000)
#define DEADMAN_KILL_MIN_NS ((uint64_t)10000000)
#define DEADMAN_LOOKS 4 /* of the witness in the limit */

static struct {
    bool is_armed, has_alarm, is_masked;
    struct sigaction old_action;
    sigset_t old_mask;
    timer_t killer;
    pid_t killer_of;   /* whose timer that is: a child of ours has none */
    uint64_t step_ns;  /* without a limit: what one step may take */
    uint64_t limit_ns; /* of the whole pause; 0: none */
    uint64_t renewed_ns;
    bool is_holding;
    struct hs_deadman_voice voice;
    char said[HS_WITNESS_TEXT_BYTES]; /* by the handler */
} deadman = {.step_ns = DEADMAN_STEP_NS};

void hs_deadman_speak(const struct hs_deadman_voice *voice)
{
    deadman.voice = *voice;
}

void hs_deadman_limit(uint64_t limit_ns)
{
    deadman.step_ns = limit_ns;
}

static uint64_t deadman_most_ns(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* So long after the limit: a part of it, and of a short limit more eighths, up to `busy_ns`. */
static uint64_t deadman_more_ns(uint64_t limit_ns, uint64_t part, uint64_t eighths,
                                uint64_t busy_ns, uint64_t least_ns)
{
    uint64_t more_ns = limit_ns / 8 * eighths;

    more_ns = deadman_most_ns(limit_ns / part, more_ns < busy_ns ? more_ns : busy_ns);
    return deadman_most_ns(more_ns, least_ns);
}

uint64_t hs_deadman_alarm_ns(uint64_t limit_ns)
{
    return limit_ns + deadman_more_ns(limit_ns, 4, 3, DEADMAN_ALARM_BUSY_NS, DEADMAN_ALARM_MIN_NS);
}

uint64_t hs_deadman_kill_ns(uint64_t limit_ns)
{
    return limit_ns + deadman_more_ns(limit_ns, 2, 5, DEADMAN_KILL_BUSY_NS, DEADMAN_KILL_MIN_NS);
}

/* ---- the clocks */

static void deadman_set_alarm(uint64_t ns)
{
    struct itimerval in = {
        .it_value = {.tv_sec = (time_t)(ns / 1000000000),
                     .tv_usec = (suseconds_t)(ns % 1000000000 / 1000)},
    };
    if (deadman.has_alarm)
        setitimer(ITIMER_REAL, &in, NULL);
}

static void deadman_set_killer(uint64_t ns)
{
    struct itimerspec in = {
        .it_value = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)},
    };
    if (deadman.killer_of == getpid())
        (void)timer_settime(deadman.killer, 0, &in, NULL);
}

static void deadman_start(uint64_t limit_ns, bool is_step)
{
    uint64_t now_ns = hs_now_ns(), kill_ns = hs_deadman_kill_ns(limit_ns);

    hs_witness_tell(now_ns + kill_ns, deadman.killer_of == getpid());
    if (!deadman.is_holding && deadman.limit_ns != 0)
        hs_witness_seized(hs_deadman_kill_ns(deadman.limit_ns));
    deadman_set_killer(kill_ns);
    deadman_set_alarm(is_step ? limit_ns : hs_deadman_alarm_ns(limit_ns));
    deadman.renewed_ns = now_ns;
}

static void deadman_stop_clocks(void)
{
    deadman_set_alarm(0);
    deadman_set_killer(0);
    hs_witness_tell(0, false); /* last: should it come to the end just now, that is told */
}

/* ---- its last words */

/* Should the words not find their way, the default action ends us a little later. */
static void deadman_on_alarm(int number)
{
    struct itimerval soon = {.it_value = {.tv_usec = DEADMAN_ALARM_BUSY_NS / 1000}};

    (void)number;
    (void)setitimer(ITIMER_REAL, &soon, NULL);
    deadman.voice.say(deadman.said, strlen(deadman.said));
    _exit(deadman.voice.exit_code);
}

/* Composed before the stop: a signal handler may not, and a witness has what we had. */
static void deadman_compose(pid_t pid)
{
    char limit[HS_UNIT_TEXT_BYTES];
    char witnessed[HS_WITNESS_TEXT_BYTES];
    const char *what = deadman.limit_ns != 0
                           ? "it stood still for more than the %s that are allowed"
                           : "it stood still for a step of more than %s";
    char why[128];

    hs_format_duration(deadman.limit_ns != 0 ? deadman.limit_ns : deadman.step_ns, limit);
    snprintf(why, sizeof why, what, limit);
    snprintf(deadman.said, sizeof deadman.said, "cannot dump process '%d': %s; it runs again\n%s",
             pid, why, deadman.limit_ns != 0 ? "allow more with --max-pause" : "");
    snprintf(witnessed, sizeof witnessed,
             "cannot dump process '%d': %s while heapsnap itself was stopped, or got no processor; "
             "heapsnap has been ended, and the process runs again\nlet heapsnap run (no control-Z, "
             "no frozen control group) while it dumps%s",
             pid, why, deadman.limit_ns != 0 ? ", or allow more with --max-pause" : "");
    hs_witness_words(pid, witnessed);
}

/* ---- arming */

/* SIGALRM must end us, whatever we have inherited: a blocked one would do nothing. */
static bool deadman_take_alarm(void)
{
    struct sigaction drop = {.sa_handler = SIG_IGN}, die = {.sa_handler = SIG_DFL};
    sigset_t alarm;

    if (deadman.voice.say != NULL)
        die = (struct sigaction){.sa_handler = deadman_on_alarm,
                                 .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    if (sigaction(SIGALRM, &drop, &deadman.old_action) != 0) /* drops one that waits already */
        return false;
    (void)sigaction(SIGALRM, &die, NULL);
    (void)sigprocmask(SIG_UNBLOCK, &alarm, NULL);
    return true;
}

/* Refused where no more signals may wait (RLIMIT_SIGPENDING): the witness kills us then. */
static void deadman_take_killer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};

    if (deadman.killer_of != getpid() &&
        timer_create(CLOCK_MONOTONIC, &event, &deadman.killer) == 0)
        deadman.killer_of = getpid();
}

void hs_deadman_prepare(void)
{
    deadman_take_killer();
    if (deadman.voice.say != NULL)
        hs_witness_start(deadman.voice.say);
}

void hs_deadman_expect(uint64_t limit_ns)
{
    hs_witness_look_each(limit_ns / DEADMAN_LOOKS);
}

void hs_deadman_arm(pid_t pid, uint64_t limit_ns)
{
    struct itimerval running;
    sigset_t mask;

    if (deadman.is_armed)
        return; /* for another target: one timer serves both */
    deadman.is_armed = true;
    deadman.is_holding = false;
    deadman.limit_ns = limit_ns;
    hs_deadman_prepare();
    deadman_compose(pid);
    if (!deadman.is_masked) {
        sigemptyset(&mask);
        sigaddset(&mask, SIGTSTP);
        sigaddset(&mask, SIGTTIN);
        sigaddset(&mask, SIGTTOU);
        deadman.is_masked = sigprocmask(SIG_BLOCK, &mask, &deadman.old_mask) == 0;
    }
    deadman.has_alarm = getitimer(ITIMER_REAL, &running) == 0 && running.it_value.tv_sec == 0 &&
                        running.it_value.tv_usec == 0 && deadman_take_alarm();
    deadman_start(deadman.step_ns, true);
}

void hs_deadman_hold(void)
{
    if (!deadman.is_armed)
        return;
    deadman.is_holding = true;
    if (deadman.limit_ns != 0)
        deadman_start(deadman.limit_ns, false);
    else
        deadman_start(deadman.step_ns, true);
}

void hs_deadman_renew(void)
{
    if (deadman.is_armed && (deadman.limit_ns == 0 || !deadman.is_holding) &&
        hs_now_ns() - deadman.renewed_ns > deadman.step_ns / DEADMAN_RENEWALS)
        deadman_start(deadman.step_ns, true);
}

void hs_deadman_within(uint64_t limit_ns)
{
    if (deadman.is_armed && (deadman.limit_ns == 0 || !deadman.is_holding))
        deadman_start(limit_ns < deadman.step_ns ? limit_ns : deadman.step_ns, true);
}

void hs_deadman_loosen(void)
{
    deadman.is_holding = false;
    hs_deadman_within(DEADMAN_LOOSE_NS);
}

void hs_deadman_attend(void)
{
    uint64_t limit_ns = deadman.limit_ns != 0 ? deadman.limit_ns : deadman.step_ns;

    if (!deadman.is_armed)
        return;
    hs_deadman_rest();
    hs_witness_attend(hs_deadman_kill_ns(limit_ns));
}

void hs_deadman_rest(void)
{
    if (!deadman.is_armed)
        return;
    deadman_stop_clocks();
    if (deadman.has_alarm)
        sigaction(SIGALRM, &deadman.old_action, NULL);
    deadman.has_alarm = deadman.is_armed = false;
}

void hs_deadman_disarm(void)
{
    hs_deadman_rest();
    if (deadman.is_masked) {
        sigprocmask(SIG_SETMASK, &deadman.old_mask, NULL);
        deadman.is_masked = false;
    }
}
