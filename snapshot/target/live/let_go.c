/* Letting the threads of a stopped process go, with their calls set to start again.
 *
 *   who takes a signal that waits -> main thread -> all others -> those that return EINTR when a
 *   signal wakes them -> of these, those that wait at sockets with a limit
 *
 * As long as the main thread is traced, or one that has forked, the kernel does not drop what the
 * program ignores, but wakes a thread for it that goes already. */
#include <errno.h>
#include <sys/ptrace.h>

#include "arch/calls.h"
#include "base/progress.h"
#include "target_private.h"
#include "thread_state.h"

#define LET_GO_SOCKETS_NS ((uint64_t)50000000)

static void let_go_detach(struct hs_thread *thread)
{
    if (thread->state != THREAD_STOPPED)
        return;
    bool has_died = ptrace(PTRACE_DETACH, thread->tid, NULL, NULL) != 0 && errno == ESRCH;
    thread->state = has_died ? THREAD_DYING : THREAD_GONE;
}

/* Sets an interrupted call to start again. One SETREGS, valid before and after, so that our death
 * in between is harmless. Elsewhere by now: a handler has run, and EINTR is its due. */
static enum hs_restart let_go_set_restart(struct hs_target *target, const struct hs_thread *thread)
{
    struct hs_regs now, regs = thread->regs;

    if (!hs_regs_call_is_broken_off(&regs) ||
        ptrace(PTRACE_GETREGS, thread->tid, NULL, &now) != 0 ||
        hs_regs_sp(&now) != hs_regs_sp(&regs))
        return HS_RESTART_NOT;
    enum hs_restart how = hs_restart_call(target, thread, &regs);
    return ptrace(PTRACE_SETREGS, thread->tid, NULL, &regs) == 0 ? how : HS_RESTART_NOT;
}

static void let_go_restart(struct hs_target *target, const struct hs_thread *thread)
{
    struct hs_stop_report *report = &target->report;

    report->n_shortened += hs_restart_rest(target, thread);
    enum hs_restart how = let_go_set_restart(target, thread);
    report->n_restarted += how != HS_RESTART_NOT && how != HS_RESTART_LOST;
    report->n_shortened += how == HS_RESTART_REST;
    report->n_late += how == HS_RESTART_LATE;
    report->n_broken_off += how == HS_RESTART_LOST;
}

static bool let_go_restarts(const struct hs_target *target, const struct hs_thread *thread)
{
    return thread->state == THREAD_STOPPED && !target->options.leaves_interrupted &&
           !target->was_stopped_already;
}

/* At once, and again when they are let go: should we be killed in the stop, they go on for the rest
 * of their time and the pause. */
void hs_let_go_early(struct hs_target *target)
{
    if (target->options.leaves_interrupted)
        return;
    hs_restart_confirm(target);
    for (size_t i = 0; i < target->n_threads; i++) {
        struct hs_thread *thread = &target->threads[i];
        if (!let_go_restarts(target, thread))
            continue;
        hs_restart_prepare(target, thread);
        (void)let_go_set_restart(target, thread);
    }
}

static size_t let_go_take_sockets(struct hs_target *target, struct hs_socket_round *round)
{
    for (size_t i = 0; i < target->n_threads; i++) {
        struct hs_thread *thread = &target->threads[i];
        thread->has_socket = let_go_restarts(target, thread) && hs_restart_is_at_socket(thread) &&
                             hs_socket_take(round, target, thread);
    }
    return round->n;
}

/* At one socket one after the other: who else waits there stands meanwhile, and shall not begin
 * with that limit. */
static void let_go_sockets(struct hs_target *target)
{
    uint64_t until_ns = hs_now_ns() + LET_GO_SOCKETS_NS;
    bool is_good = true;

    while (is_good && hs_now_ns() < until_ns) {
        struct hs_socket_round round = {.guard = -1};
        if (let_go_take_sockets(target, &round) == 0)
            return;
        is_good = hs_socket_begin(&round, target);
        for (size_t i = 0; i < target->n_threads; i++) {
            struct hs_thread *thread = &target->threads[i];
            thread->has_socket &= is_good;
            if (!thread->has_socket)
                continue;
            let_go_restart(target, thread);
            let_go_detach(thread);
        }
        size_t n_late = hs_socket_end(&round, target);
        target->report.n_late += n_late;
        target->report.n_shortened -= n_late;
    }
}

static void let_go_one(struct hs_target *target, struct hs_thread *thread)
{
    if (let_go_restarts(target, thread))
        let_go_restart(target, thread);
    let_go_detach(thread);
}

static struct hs_thread *let_go_main(struct hs_target *target)
{
    for (size_t i = 0; i < target->n_threads; i++)
        if (target->threads[i].tid == target->pid)
            return &target->threads[i];
    return NULL;
}

static bool let_go_takes(const struct hs_target *target, const struct hs_thread *thread)
{
    return let_go_restarts(target, thread) && hs_signals_would_take(target->pid, thread->tid);
}

/* Lets the thread go first that is to take a signal which waits for the process, so that its call
 * returns EINTR: the main thread, as it would without us, or else one that does not block the
 * signal. */
static void let_go_taker(struct hs_target *target)
{
    struct hs_thread *taker = let_go_main(target);

    if (taker == NULL || !let_go_takes(target, taker)) {
        taker = NULL;
        if (!hs_signals_wait_for_process(target->pid, hs_process_speaker(target->pid)))
            return;
    }
    for (size_t i = 0; i < target->n_threads && taker == NULL; i++)
        if (!hs_restart_is_at_socket(&target->threads[i]) &&
            let_go_takes(target, &target->threads[i]))
            taker = &target->threads[i];
    if (taker == NULL)
        return;
    taker->has_signal = true;
    let_go_one(target, taker);
    hs_signals_wait_taken(target->pid, taker->tid);
}

/* Lets all threads go. What takes long, preparing their restarts, comes first; then each goes as
 * soon as it is ready, as the rest of its wait passes meanwhile. */
void hs_let_go_all(struct hs_target *target)
{
    struct hs_thread *main_thread = let_go_main(target);

    for (size_t i = 0; i < target->n_threads; i++)
        if (let_go_restarts(target, &target->threads[i]))
            hs_restart_prepare(target, &target->threads[i]);
    let_go_taker(target);
    if (main_thread != NULL && !hs_restart_is_at_socket(main_thread))
        let_go_one(target, main_thread);
    for (size_t i = 0; i < target->n_threads; i++)
        if (!hs_regs_call_is_broken_off(&target->threads[i].regs))
            let_go_one(target, &target->threads[i]);
    for (size_t i = 0; i < target->n_threads; i++)
        if (!hs_restart_is_at_socket(&target->threads[i]))
            let_go_one(target, &target->threads[i]);
    let_go_sockets(target);
    for (size_t i = 0; i < target->n_threads; i++) /* for which there was no time */
        let_go_one(target, &target->threads[i]);
}
