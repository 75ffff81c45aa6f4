/* The second stop of the direct variant: the copy is a child of the target itself, with exit signal
 * 0, so that no wait of its own sees it, and what is left of it would stay until the target ends.
 */
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "copy_private.h"

#define DIRECT_DEADLINE_NS ((uint64_t)2000000000)
#define DIRECT_TRIES 3

/* True when it was collected, or never will be. */
static bool direct_collect_stopped(struct hs_target *target, const struct hs_copy *copy,
                                   struct hs_copy_caller *caller)
{
    uint64_t deadline_ns = hs_now_ns() + DIRECT_DEADLINE_NS;
    uint64_t arguments[5] = {(uint64_t)copy->inner_pid, 0, __WALL | WNOHANG};
    bool is_collected = false;

    hs_deadman_within(2 * DIRECT_DEADLINE_NS);
    if (hs_copy_caller_open(caller, target, target->copy_plan, deadline_ns)) {
        hs_copy_pass(HS_COPY_AT_SECOND);
        enum hs_copy_called called = hs_copy_caller_call(caller, SYS_wait4, arguments);
        if (called == HS_CALLED)
            is_collected = caller->call.result != 0;
        else
            (void)hs_copy_caller_failed(caller, called, "the copy was to be collected");
        hs_copy_pass(HS_COPY_AT_COLLECTED);
    }
    return !hs_copy_caller_close(caller) || is_collected;
}

/* A target of its own, so that what the caller knows of the first stop stays. */
void hs_copy_collect(struct hs_target *target, struct hs_copy *copy)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_target second = {.pid = target->pid, .pidfd = -1, .live = HS_MEMORY_INIT};
    void *memory;

    if (hs_alloc(1, sizeof(struct hs_copy_caller), &memory, &ignored) != HS_OK)
        return;
    hs_auto_free struct hs_copy_caller *caller = memory;
    bool is_done = hs_refusal_check(target->pid, &ignored) != HS_OK ||
                   hs_process_open(&second, &ignored) != HS_OK;
    if (is_done) {
        hs_process_close(&second);
        return;
    }
    hs_socket_guards_wait(target);
    second.options.leaves_interrupted = target->options.leaves_interrupted;
    second.options.max_pause_ns = target->options.max_pause_ns;
    second.copy_plan = HS_STEAL(target->copy_plan);
    for (int i = 0; i < DIRECT_TRIES && !is_done; i++) {
        struct hs_priority saved;
        if (hs_copy_plan_make(&second, &ignored) != HS_OK ||
            hs_stop_all(&second, &ignored) != HS_OK)
            break;
        hs_priority_raise(&saved);
        is_done = direct_collect_stopped(&second, copy, caller);
        hs_stop_let_go(&second);
        hs_priority_restore(&saved);
        target->pause_ns += second.pause_ns;
        target->report.n_restarted += second.report.n_restarted;
        target->report.n_shortened += second.report.n_shortened;
        target->report.n_late += second.report.n_late;
        target->report.n_broken_off += second.report.n_broken_off;
        target->report.n_cut += second.report.n_cut;
        target->report.n_unsent += second.report.n_unsent;
        target->report.n_anew += second.report.n_anew;
    }
    target->copy_plan = HS_STEAL(second.copy_plan);
    hs_socket_guards_wait(&second);
    hs_process_close(&second);
}
