/* Stopping a process and letting it go.
 *
 *   list threads -> seize and interrupt those that a signal would break off -> seize and interrupt
 *   all others -> wait for all -> list again, until nobody is new
 *
 * A stop makes some calls return EINTR, unless their threads are told otherwise before they go on.
 * Should we be killed nobody tells them, so that is done at once, thread by thread.
 *
 * PTRACE_SEIZE and PTRACE_INTERRUPT send no signal (ptrace(2)). A stop that is not ours is a signal
 * on its way: it is passed on and the thread waited for again. Threads that end meanwhile are no
 * error. Every wait is bounded: a hang of ours would hold the target. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/calls.h"
#include "base/alloc.h"
#include "base/progress.h"
#include "target/procfs.h"
#include "target_private.h"
#include "thread_state.h"
#include "witness.h"

#define STOP_DEADLINE_NS ((uint64_t)3000000000)
#define STOP_LEAST_NS ((uint64_t)10000000)    /* a busy machine takes as long */
#define STOP_BLOCKED_NS ((uint64_t)500000000) /* for a thread that no tracer reaches */
#define STOP_LOOK_NS ((uint64_t)2000000)
#define STOP_MOMENT_NS ((uint64_t)100000000) /* for one in which no call would be cut short */
#define STOP_PATIENT_ROUNDS 32               /* then look for threads that will never stop */
#define STOP_WINDOW 64     /* threads that are looked at while one is waited for */
#define STOP_SWEEP_REST 20 /* times as long as all were looked at, before it is done again */
#define STOP_NAP_MIN_NS 10000
#define STOP_NAP_MAX_NS 500000
#define STOP_NAP_EACH_NS 200 /* for each thread that is to come: to look takes as long */
#define STOP_LEFT_OVER_NAP_NS 2000000
#define STOP_SINGLY_NS ((uint64_t)2000000) /* for threads that are interrupted one by one */
#define STOP_SINGLE_NS ((uint64_t)1000000) /* for each; then it is waited for with the others */
#define STOP_SINGLE_NAP_NS 1000

struct stop {
    struct hs_target *target;
    uint64_t deadline_ns;
    uint64_t since_ns;    /* of the first interrupt, or of what is undone */
    uint64_t sweep_at_ns; /* not before then again */
    size_t n_sorted;      /* threads [0, n_sorted) ascend by tid; behind are new ones */
    bool has_executed, has_ended;
    struct hs_waits_look look;
};

static int thread_compare(const void *a, const void *b)
{
    pid_t x = ((const struct hs_thread *)a)->tid, y = ((const struct hs_thread *)b)->tid;
    return (x > y) - (x < y);
}

static bool stop_knows(const struct stop *stop, pid_t tid)
{
    struct hs_thread key = {.tid = tid};
    const struct hs_target *target = stop->target;
    return stop->n_sorted > 0 &&
           bsearch(&key, target->threads, stop->n_sorted, sizeof key, thread_compare) != NULL;
}

/* Threads of [0, n), sorted, that were listed twice: once. */
static size_t stop_drop_twice(struct hs_thread *threads, size_t n)
{
    size_t n_left = 0;

    for (size_t i = 0; i < n; i++)
        if (n_left == 0 || threads[n_left - 1].tid != threads[i].tid)
            threads[n_left++] = threads[i];
    return n_left;
}

/* Drops threads that are gone and sorts the rest. */
static void stop_tidy(struct stop *stop)
{
    struct hs_target *target = stop->target;
    size_t n = 0;
    bool is_sorted = true;

    for (size_t i = 0; i < target->n_threads; i++) {
        if (target->threads[i].state == THREAD_GONE)
            continue;
        if (n != i)
            target->threads[n] = target->threads[i];
        is_sorted &= n == 0 || target->threads[n - 1].tid < target->threads[n].tid;
        n++;
    }
    if (!is_sorted) {
        qsort(target->threads, n, sizeof *target->threads, thread_compare);
        n = stop_drop_twice(target->threads, n);
    }
    target->n_threads = stop->n_sorted = n;
}

static bool thread_has_ended(pid_t pid, pid_t tid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_proc_stat stat;
    hs_status status = hs_proc_stat_of(pid, tid, &stat, &ignored);
    if (status == HS_LIMIT) /* no memory to look: whoever needs some next will say so */
        return false;
    return status != HS_OK || stat.state == 'Z' || stat.state == 'X';
}

/* Returns who traces a thread; 0: nobody. */
static pid_t stop_tracer(pid_t tid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t tracer = 0;

    bool is_told = hs_proc_read_of(tid, "status", &text, &n, &ignored) == HS_OK &&
                   hs_proc_number(text, "TracerPid", 10, &tracer);
    return is_told ? (pid_t)tracer : 0;
}

/* `seen`: who traced it a moment ago. */
static hs_status stop_refused(struct stop *stop, pid_t tid, pid_t seen, struct hs_error *err)
{
    pid_t pid = stop->target->pid, tracer = stop_tracer(tid);
    tracer = tracer == 0 ? seen : tracer;
    HS_TRY(hs_refusal_check(pid, err)); /* a tracer that came meanwhile, and all the rest */
    return tracer != 0 ? hs_refusal_traced(pid, tracer, err) : hs_refusal_permission(pid, err);
}

/* A seized thread that executes a program has the main thread's number from then on. */
static bool stop_is_seized(pid_t pid, pid_t tid)
{
    return tid == pid && stop_tracer(pid) == getpid();
}

/* Seizes a thread, or finds that it has ended meanwhile. Another tracer that lets go does so thread
 * by thread: while it has let the main one go, or has gone since it refused us, it is waited for,
 * for some milliseconds. Of two that began at once and have some threads each that of the lower
 * number waits longer, so that one of them gives way and not both. */
static hs_status stop_seize(struct stop *stop, struct hs_thread *thread, struct hs_error *err)
{
    enum { MOST_TRIES = 20, TRIES_OF_FIRST = 400 };
    static const struct timespec pause = {.tv_nsec = 1000000};
    const struct hs_target *target = stop->target;
    unsigned most = MOST_TRIES;
    bool was_traced = false;

    for (unsigned tries = 0;; tries++) {
        if (hs_seize_guarded(target, thread->tid, PTRACE_O_TRACEEXEC) == 0 ||
            (errno == EPERM && stop_is_seized(target->pid, thread->tid))) {
            thread->state = THREAD_SEIZED;
            return HS_OK;
        }
        bool is_refused = errno == EPERM;
        if (errno == ESRCH || thread_has_ended(target->pid, thread->tid)) {
            thread->state = THREAD_GONE;
            return HS_OK;
        }
        pid_t tracer = stop_tracer(thread->tid);
        if (tracer > getpid() || (tracer == 0 && was_traced)) /* or it has let go just now */
            most = TRIES_OF_FIRST;
        was_traced |= tracer != 0;
        pid_t of_main = stop_tracer(target->pid);
        if (!is_refused || tries >= most || of_main != 0)
            return stop_refused(stop, thread->tid, tracer != 0 ? tracer : of_main, err);
        (void)nanosleep(&pause, NULL);
    }
}

/* From the moment in which a thread is seized it is sent also what it ignores: the main one also on
 * behalf of the process, one that has forked of its children; and for what one that stands already
 * is sent, another is woken. So those that would return EINTR then come first, and the main thread
 * last. */
static hs_status stop_seize_listed(struct stop *stop, bool only_waiting, struct hs_error *err)
{
    struct hs_target *target = stop->target;
    struct hs_thread *main_thread = NULL;
    hs_status status = HS_OK;

    hs_seize_guard_begin();
    for (size_t i = 0; i < target->n_threads && status == HS_OK; i++) {
        struct hs_thread *thread = &target->threads[i];
        if (thread->state != THREAD_LISTED || (only_waiting && !thread->may_break_off))
            continue;
        if (thread->tid == target->pid)
            main_thread = thread;
        else
            status = stop_seize(stop, thread, err);
    }
    if (main_thread != NULL && status == HS_OK)
        status = stop_seize(stop, main_thread, err);
    hs_seize_guard_end();
    stop_tidy(stop);
    return status;
}

/* One pass over the list of threads: those that are new. Which of them wait, and since when, is
 * looked at before they are seized. */
static hs_status stop_list_new(struct stop *stop, bool *ret_any_new, struct hs_error *err)
{
    struct hs_target *target = stop->target;
    char path[HS_PROC_PATH_BYTES];
    hs_status status = HS_OK;
    size_t n_known = target->n_threads;

    snprintf(path, sizeof path, "/proc/%d/task", target->pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL) {
        stop->has_ended = true;
        return hs_fail_errno(err, HS_TARGET, "cannot list the threads of process %d", target->pid);
    }
    for (struct dirent *e; status == HS_OK && (e = readdir(tasks)) != NULL;) {
        struct hs_thread thread = {.tid = (pid_t)strtol(e->d_name, NULL, 10),
                                   .state = THREAD_LISTED};
        if (thread.tid <= 0 || stop_knows(stop, thread.tid))
            continue;
        hs_waits_look_at(&stop->look, &thread);
        status = HS_GROW(&target->threads, &target->threads_capacity, target->n_threads + 1, err);
        if (status == HS_OK)
            target->threads[target->n_threads++] = thread;
    }
    closedir(tasks);
    *ret_any_new = target->n_threads != n_known;
    stop_tidy(stop);
    return status;
}

/* From the interrupt until here it would return EINTR without us. That its time is the rest, not
 * the whole, comes later (hs_let_go_early); the registers kept are those of the stop. */
static void stop_spare(struct hs_target *target, struct hs_thread *thread)
{
    struct hs_stop_report *told = &target->report;

    if (target->options.leaves_interrupted || hs_regs_sp(&thread->regs) != 0 ||
        ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->regs) != 0)
        return;
    struct hs_regs again = thread->regs;
    if (!hs_regs_call_restart(&again) || ptrace(PTRACE_SETREGS, thread->tid, NULL, &again) != 0)
        return;
    uint64_t exposed_ns = hs_now_ns() - thread->interrupted_ns;
    told->n_exposed++;
    told->exposed_ns += exposed_ns;
    if (told->exposed_most_ns < exposed_ns)
        told->exposed_most_ns = exposed_ns;
}

/* The interrupt first: the thread then stands again before it returns to the program, be it from a
 * call that a signal has woken which it ignores, or in front of a handler. */
static void stop_pass_on(struct hs_thread *thread, long number)
{
    ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
    thread->n_passed += ptrace(PTRACE_CONT, thread->tid, NULL, (void *)number) == 0;
}

/* A thread has reported: our stop, a signal to pass on, its end, or a new program. */
static void stop_take_report(struct stop *stop, struct hs_thread *thread, int report)
{
    struct hs_target *target = stop->target;

    if (WIFEXITED(report) || WIFSIGNALED(report)) {
        thread->state = THREAD_GONE;
        stop->has_ended |= thread->tid == target->pid;
    } else if (report >> 16 == PTRACE_EVENT_STOP) {
        thread->state = THREAD_STOPPED;
        thread->reported_ns = hs_now_ns();
        /* ptrace(2): the stopping signal in a group-stop, else SIGTRAP */
        target->was_stopped_already |= WSTOPSIG(report) != SIGTRAP;
        if (WSTOPSIG(report) == SIGTRAP)
            stop_spare(target, thread);
    } else if (report >> 16 == PTRACE_EVENT_EXEC) {
        thread->state = THREAD_STOPPED;
        stop->has_executed = true;
    } else {
        stop_pass_on(thread, WSTOPSIG(report));
    }
}

static void stop_poll(struct stop *stop, struct hs_thread *thread)
{
    int report;
    pid_t found = waitpid(thread->tid, &report, __WALL | WNOHANG);

    if (found == thread->tid)
        stop_take_report(stop, thread, report);
    else if (found < 0 && errno == ECHILD)
        thread->state = THREAD_GONE;
}

/* The slow way: a main thread that ended before the others never reports, and a thread that
 * executes a program waits until the others, which it kills, are collected by us. */
static void stop_look_closer(struct stop *stop)
{
    struct hs_target *target = stop->target;

    for (size_t i = 0; i < target->n_threads; i++) {
        struct hs_thread *thread = &target->threads[i];
        if (thread->state == THREAD_STOPPED)
            stop_poll(stop, thread);
        else if (thread->state == THREAD_INTERRUPTED && thread->tid == target->pid &&
                 thread_has_ended(target->pid, thread->tid))
            thread->state = THREAD_DYING;
    }
}

/* Threads that are on their way want the processor on which we would look for them. */
static void stop_nap(unsigned round, size_t n_to_come)
{
    const size_t n_counted = STOP_NAP_MAX_NS / STOP_NAP_EACH_NS;
    long ns = STOP_NAP_MIN_NS;

    ns += STOP_NAP_EACH_NS * (long)(n_to_come < n_counted ? n_to_come : n_counted);
    for (; round > 0 && ns < STOP_NAP_MAX_NS; round--)
        ns += ns / 2;
    struct timespec nap = {.tv_nsec = ns < STOP_NAP_MAX_NS ? ns : STOP_NAP_MAX_NS};
    nanosleep(&nap, NULL);
}

/* All others stand still meanwhile: it is not waited for where that is known to be in vain. */
static bool stop_is_in_vain(const struct stop *stop, pid_t tid, unsigned round)
{
    char group[PATH_MAX];
    bool is_v1 = false;
    uint64_t now_ns = hs_now_ns();

    if (now_ns > stop->deadline_ns)
        return true;
    if (round == STOP_PATIENT_ROUNDS)
        return hs_stuck_is_frozen(stop->target->pid, group, sizeof group, &is_v1) && is_v1;
    return now_ns - stop->since_ns > STOP_BLOCKED_NS && hs_stuck_is_blocked(stop->target->pid, tid);
}

/* The first thread from number *at on that does not stand yet; NULL: there is none. */
static struct hs_thread *stop_next_waiting(struct stop *stop, size_t *at)
{
    struct hs_target *target = stop->target;

    for (; *at < target->n_threads; ++*at) {
        struct hs_thread *thread = &target->threads[*at];
        if (thread->state == THREAD_INTERRUPTED)
            stop_poll(stop, thread);
        if (thread->state == THREAD_INTERRUPTED)
            return thread;
    }
    return NULL;
}

/* Up to n threads behind number `at`: one that has stopped for a signal goes on meanwhile. */
static void stop_poll_behind(struct stop *stop, size_t at, size_t n)
{
    struct hs_target *target = stop->target;

    for (; n > 0 && ++at < target->n_threads; n--)
        if (target->threads[at].state == THREAD_INTERRUPTED)
            stop_poll(stop, &target->threads[at]);
}

/* All that may have something to tell, now and then: one that is waited for may itself wait for
 * another to be collected. It takes 10 ms for 10,000, on a processor that it may wait for, too. */
static void stop_sweep(struct stop *stop, size_t at)
{
    uint64_t begun_ns = hs_now_ns();

    if (begun_ns < stop->sweep_at_ns)
        return;
    stop_poll_behind(stop, at, SIZE_MAX);
    stop_look_closer(stop);
    uint64_t now_ns = hs_now_ns();
    stop->sweep_at_ns = now_ns + STOP_SWEEP_REST * (now_ns - begun_ns);
}

/* They come to stand in about the order in which they were interrupted, so one is waited for after
 * the other: to look at all of them in every round takes the square of their number. */
static hs_status stop_wait_all(struct stop *stop, struct hs_error *err)
{
    const struct hs_target *target = stop->target;
    size_t at = 0, last = SIZE_MAX;
    unsigned round = 0; /* of waiting for the same thread */

    for (;;) {
        const struct hs_thread *waiting = stop_next_waiting(stop, &at);
        if (waiting == NULL || stop->has_ended)
            return HS_OK;
        round = at == last ? round + 1 : 0;
        last = at;
        if (stop_is_in_vain(stop, waiting->tid, round))
            return hs_stuck_explain(target, waiting->tid, hs_now_ns() - stop->since_ns, err);
        if (round < STOP_PATIENT_ROUNDS)
            stop_poll_behind(stop, at, STOP_WINDOW);
        else
            stop_sweep(stop, at);
        stop_nap(round, target->n_threads - at);
    }
}

static void stop_interrupt(struct hs_thread *thread)
{
    if (thread->state != THREAD_SEIZED)
        return;
    thread->state = THREAD_INTERRUPTED;
    thread->interrupted_ns = hs_now_ns();
    ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL); /* ended: the wait will tell */
}

/* Those that would return EINTR come first and one by one, as far as time allows: what a thread
 * takes from its interrupt until it is set to start again is then short, and not that of all. */
static void stop_interrupt_singly(struct stop *stop)
{
    struct hs_target *target = stop->target;
    struct timespec nap = {.tv_nsec = STOP_SINGLE_NAP_NS};
    uint64_t end_ns = hs_now_ns() + STOP_SINGLY_NS;

    for (size_t i = 0; i < target->n_threads && hs_now_ns() < end_ns; i++) {
        struct hs_thread *thread = &target->threads[i];
        if (!thread->may_break_off || thread->state != THREAD_SEIZED)
            continue;
        if (!hs_wait_goes_on(target, thread)) /* it may be a new one */
            thread->asleep_since_ns = 0;
        stop_interrupt(thread);
        stop_poll(stop, thread);
        while (thread->state == THREAD_INTERRUPTED &&
               hs_now_ns() - thread->interrupted_ns < STOP_SINGLE_NS) {
            nanosleep(&nap, NULL);
            stop_poll(stop, thread);
        }
    }
}

static void stop_interrupt_all(struct stop *stop)
{
    struct hs_target *target = stop->target;

    for (size_t i = 0; i < target->n_threads; i++)
        stop_interrupt(&target->threads[i]);
}

static uint64_t stop_patience_ns(const struct hs_target *target)
{
    uint64_t limit_ns = target->options.max_pause_ns;

    if (limit_ns == 0 || limit_ns > STOP_DEADLINE_NS)
        return STOP_DEADLINE_NS;
    return limit_ns < STOP_LEAST_NS ? STOP_LEAST_NS : limit_ns;
}

/* From here on it stands still. */
static void stop_begin(struct stop *stop)
{
    struct hs_target *target = stop->target;

    target->stopped_at_ns = stop->since_ns = hs_now_ns();
    stop->deadline_ns = stop->since_ns + stop_patience_ns(target);
    hs_deadman_hold();
}

static hs_status stop_too_many(const struct stop *stop, struct hs_error *err)
{
    return hs_fail(err, HS_TARGET,
                   "cannot stop process '%d': it starts threads faster than they "
                   "can be stopped (%zu so far)",
                   stop->target->pid, stop->target->n_threads);
}

/* Are all threads that the process has known? They all stand, so that none can come, and those that
 * have ended are counted until they are collected, by us. */
static bool stop_has_all(const struct stop *stop)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t n_threads;

    return hs_proc_read_of(stop->target->pid, "status", &text, &n, &ignored) == HS_OK &&
           hs_proc_number(text, "Threads", 10, &n_threads) && n_threads == stop->target->n_threads;
}

/* The second look is the one just before the first interrupt. */
static void stop_choose_moment(struct hs_target *target, struct hs_waits_look *look)
{
    if (target->options.leaves_interrupted)
        return;
    hs_partial_wait(target, hs_now_ns() + STOP_MOMENT_NS);
    hs_waits_look_again(look, target);
}

/* All are known, and those that wait are seized, at a moment that is good. */
static hs_status stop_foresee(struct stop *stop, struct hs_error *err)
{
    bool any_new = true;

    while (any_new) {
        HS_TRY(stop_list_new(stop, &any_new, err));
        if (hs_now_ns() > stop->deadline_ns)
            return stop_too_many(stop, err);
    }
    HS_TRY(stop_seize_listed(stop, true, err));
    hs_copy_pass_seized();
    stop_choose_moment(stop->target, &stop->look);
    return HS_OK;
}

/* Seizes the threads that were listed last and tells whether any has lived; who has ended is listed
 * until it is collected. */
static hs_status stop_seize_rest(struct stop *stop, bool *ret_any, struct hs_error *err)
{
    HS_TRY(stop_seize_listed(stop, false, err));
    *ret_any = false;
    for (size_t i = 0; i < stop->target->n_threads; i++)
        *ret_any |= stop->target->threads[i].state == THREAD_SEIZED;
    return HS_OK;
}

static hs_status stop_all(struct stop *stop, struct hs_error *err)
{
    bool any_new = true;

    hs_waits_begin(&stop->look, stop->target);
    hs_status status = stop_foresee(stop, err);
    hs_waits_end(&stop->look);
    HS_TRY(status);
    stop_begin(stop);
    stop_interrupt_singly(stop);
    HS_TRY(stop_seize_rest(stop, &any_new, err));
    do {
        any_new = false;
        stop_interrupt_all(stop);
        HS_TRY(stop_wait_all(stop, err));
        hs_copy_pass_standing();
        stop_tidy(stop);
        if (stop->has_ended || stop->has_executed)
            return HS_OK;
        if (!stop_has_all(stop)) /* to list them takes as long as to stop them */
            HS_TRY(stop_list_new(stop, &any_new, err));
        if (any_new)
            HS_TRY(stop_seize_rest(stop, &any_new, err));
        if (any_new && hs_now_ns() > stop->deadline_ns)
            return stop_too_many(stop, err);
    } while (any_new);
    return HS_OK;
}

static hs_status stop_ended(struct hs_error *err)
{
    return hs_fail(err, HS_TARGET, "it ended during the dump");
}

/* Is it still the program that was opened? */
static hs_status stop_check_identity(const struct stop *stop, struct hs_error *err)
{
    const struct hs_identity *opened = &stop->target->identity;
    struct hs_identity now;

    if (stop->has_ended)
        return stop_ended(err);
    hs_status status = hs_target_identify(stop->target->pid, &now, err);
    if (status == HS_TARGET || (status == HS_OK && now.start_time != opened->start_time))
        return stop_ended(err);
    HS_TRY(status);
    if (stop->has_executed || !hs_identity_equal(&now, opened)) {
        (void)hs_fail(err, HS_TARGET, "it executed another program during the dump");
        return hs_hint(err, "try again");
    }
    return HS_OK;
}

/* One that lives after all is let go, with its signal if it stopped for one. */
static bool stop_is_collected(pid_t tid)
{
    int report;
    pid_t found = waitpid(tid, &report, __WALL | WNOHANG);

    if (found == tid && WIFSTOPPED(report)) {
        long number = report >> 16 == 0 ? WSTOPSIG(report) : 0;
        return ptrace(PTRACE_DETACH, tid, NULL, (void *)number) == 0;
    }
    return found == tid || (found < 0 && errno == ECHILD);
}

/* Collects the threads that were killed, which cannot be let go. Uncollected they stay zombies as
 * long as we live, and the target's parent, or a thread of it that executes a program, waits for
 * us. The end of the first thread is told only when all others are collected. */
static void stop_collect_dead(struct hs_target *target)
{
    uint64_t deadline_ns = hs_now_ns() + STOP_DEADLINE_NS / 30;
    size_t n_left = 1;

    for (unsigned round = 0; n_left != 0 && hs_now_ns() < deadline_ns; round++) {
        if (round != 0)
            stop_nap(round, n_left);
        n_left = 0;
        for (size_t i = 0; i < target->n_threads; i++) {
            struct hs_thread *thread = &target->threads[i];
            if (thread->state == THREAD_DYING && stop_is_collected(thread->tid))
                thread->state = THREAD_GONE;
            n_left += thread->state == THREAD_DYING;
        }
    }
}

/* Those of who has reported are there since then; whether it has been killed since the first one
 * tells, which is killed with all others. False when one was, in this moment. */
static bool stop_read_missing(struct hs_target *target, bool asks_all)
{
    bool all_live = true;

    for (size_t i = 0; i < target->n_threads; i++) {
        struct hs_thread *thread = &target->threads[i];
        struct hs_regs now;
        bool is_read = hs_regs_sp(&thread->regs) != 0;
        if (i != 0 && is_read && !asks_all)
            continue;
        if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &now) != 0) {
            thread->state = THREAD_DYING;
            all_live = false;
        } else if (!is_read) {
            thread->regs = now;
        }
    }
    return all_live;
}

static void stop_read_registers(struct stop *stop)
{
    struct hs_target *target = stop->target;

    if (stop_read_missing(target, false))
        return;
    (void)stop_read_missing(target, true);
    stop_collect_dead(target);
    for (size_t i = 0; i < target->n_threads; i++)
        if (target->threads[i].state == THREAD_DYING)
            target->threads[i].state = THREAD_GONE;
    stop_tidy(stop);
}

/* Lets go of those that have stopped; their registers may not have been read yet. */
static void stop_release(struct hs_target *target)
{
    for (size_t i = 0; i < target->n_threads; i++) {
        struct hs_thread *thread = &target->threads[i];
        if (thread->state == THREAD_STOPPED && hs_regs_sp(&thread->regs) == 0)
            (void)ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->regs);
    }
    hs_restart_confirm(target);
    hs_let_go_all(target);
    stop_collect_dead(target);
}

/* After a failure: seized threads that run cannot be detached until they stop. One that does not
 * even now stays ours; it runs, and is let go when it stops or we end. */
static void stop_undo(struct stop *stop)
{
    struct hs_error ignored = HS_ERROR_INIT;

    stop_release(stop->target); /* those that stand still have waited for long enough */
    hs_deadman_loosen();
    stop->since_ns = hs_now_ns();
    stop->deadline_ns = stop->since_ns + STOP_DEADLINE_NS / 30;
    stop->has_ended = false; /* the rest of it is waited for, too */
    stop_interrupt_all(stop);
    if (stop_wait_all(stop, &ignored) != HS_OK)
        stop_tidy(stop);
    stop_release(stop->target);
    stop->target->n_threads = 0;
}

static hs_status stop_whole(struct stop *stop, struct hs_error *err)
{
    hs_status status = stop_all(stop, err);

    if (status != HS_OK && !stop->has_ended && !stop->has_executed)
        return status;
    HS_TRY(stop_check_identity(stop, err));
    stop_read_registers(stop);
    if (stop->target->n_threads == 0)
        return stop_ended(err);
    hs_partial_settle(stop->target);
    hs_let_go_early(stop->target);
    hs_process_follow(stop->target);
    stop->target->is_stopped = true; /* what is read from here on is read within the bound */
    return hs_process_mappings(stop->target, err);
}

static hs_status stop_once(struct hs_target *target, struct hs_error *err)
{
    struct stop stop = {.target = target};
    struct hs_priority saved;

    target->n_threads = 0;
    target->was_stopped_already = false;
    target->pause_ns = 0;
    hs_socket_guards_wait(target); /* who looks at a socket now shall see the program's limit */
    hs_deadman_arm(target->pid, target->options.max_pause_ns);
    hs_priority_raise(&saved);
    stop.deadline_ns = hs_now_ns() + STOP_DEADLINE_NS;
    hs_status status = stop_whole(&stop, err);
    target->report.stopping_ns = hs_now_ns() - target->stopped_at_ns;
    if (status != HS_OK)
        stop_undo(&stop);
    hs_priority_restore(&saved);
    target->is_stopped = status == HS_OK;
    if (status != HS_OK)
        hs_deadman_disarm();
    else if (target->was_stopped_already)
        hs_deadman_attend();
    target->looked_at_ns = hs_now_ns();
    return status;
}

/* Linux keeps a SIGCONT for a traced process, whatever it does with it, until we let go. */
static bool stop_is_continued(pid_t pid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t own = 0, shared = 0;

    return hs_proc_read_of(pid, "status", &text, &n, &ignored) == HS_OK &&
           hs_proc_number(text, "SigPnd", 16, &own) &&
           hs_proc_number(text, "ShdPnd", 16, &shared) &&
           ((own | shared) >> (SIGCONT - 1) & 1) != 0;
}

void hs_stop_look_for_continue(struct hs_target *target)
{
    uint64_t now_ns = hs_now_ns();

    if (!target->is_stopped || !target->was_stopped_already ||
        now_ns - target->looked_at_ns < STOP_LOOK_NS)
        return;
    if (stop_is_continued(target->pid)) {
        target->was_stopped_already = false;
        uint64_t seen_ns = hs_witness_continued_at();
        /* since then at most: the witness looks all the time */
        target->stopped_at_ns = seen_ns > target->looked_at_ns ? seen_ns : target->looked_at_ns;
        hs_deadman_arm(target->pid, target->options.max_pause_ns);
        hs_deadman_hold();
    }
    target->looked_at_ns = now_ns;
}

void hs_stop_let_go(struct hs_target *target)
{
    struct hs_priority saved;

    if (!target->is_stopped)
        return;
    hs_stop_look_for_continue(target);
    hs_priority_raise(&saved);
    hs_let_go_all(target);
    stop_collect_dead(target);
    target->is_stopped = false;
    if (!target->was_stopped_already)
        target->pause_ns = hs_now_ns() - target->stopped_at_ns;
    hs_deadman_rest();
    hs_priority_restore(&saved);
}

hs_status hs_stop_all(struct hs_target *target, struct hs_error *err)
{
    uint64_t deadline_ns = hs_now_ns() + STOP_DEADLINE_NS;
    struct timespec nap = {.tv_nsec = STOP_LEFT_OVER_NAP_NS};

    for (;;) {
        HS_TRY(stop_once(target, err));
        if (target->was_stopped_already || !hs_copy_is_left_over(target) ||
            hs_now_ns() > deadline_ns)
            return HS_OK;
        hs_stop_let_go(target);
        hs_deadman_disarm();
        nanosleep(&nap, NULL);
    }
}
