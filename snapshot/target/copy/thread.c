/* The thread that calls for us: the main thread, on the stack that the kernel gave it.
 *
 *   open: frame written -> armed -> signals blocked
 *   close: signal mask -> registers -> a stop of its own -> stack as it was
 *
 * At every moment in between our death leaves it with registers by which it is back, signal mask
 * included: armed before the mask is touched, unarmed after the mask is whole again. */
#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "arch/calls.h"
#include "base/alloc.h"
#include "copy_private.h"
#include "target/procfs.h"

#define THREAD_OPTIONS (PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE)
#define THREAD_RESTORE_NS ((uint64_t)1000000000) /* to become whole again, however late it is */

#define THREAD_PAGE_BYTES ((hs_addr)4096)

/* linux/rseq.h */
#define THREAD_RSEQ_CS_AT 8

struct thread_rseq_section {
    uint32_t version, flags;
    uint64_t begin, n_bytes, abort;
};

/* linux/ptrace.h, since 6.4 */
#define THREAD_GET_DISPATCH 0x4211

struct thread_dispatch {
    uint64_t mode, selector, offset, length;
};

static bool thread_refuses(struct hs_copy_caller *caller, const char *why)
{
    snprintf(caller->why, sizeof caller->why, "%s", why);
    return false;
}

static bool thread_find(struct hs_copy_caller *caller)
{
    struct hs_target *target = caller->target;

    for (size_t i = 0; i < target->n_threads; i++)
        if (target->threads[i].tid == target->pid)
            caller->thread = &target->threads[i];
    if (caller->thread == NULL)
        return thread_refuses(caller, "its main thread has ended");
    if (!hs_regs_may_call(&caller->thread->regs))
        return thread_refuses(caller, "it runs 32-bit code");
    return true;
}

/* Tells whether the thread is in a restartable sequence (rseq), which the kernel would not find,
 * and so not restart, after the call. */
static bool thread_is_in_section(const struct hs_copy_caller *caller)
{
    struct __ptrace_rseq_configuration found = {0};
    struct thread_rseq_section section;
    struct hs_memory memory = caller->target->live;
    hs_addr pc = hs_regs_pc(&caller->thread->regs);
    hs_addr at = 0;

    if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, caller->thread->tid, (void *)sizeof found, &found) <
            (long)sizeof found ||
        found.rseq_abi_pointer == 0)
        return false;
    if (hs_memory_read(&memory, found.rseq_abi_pointer + THREAD_RSEQ_CS_AT, &at, sizeof at) !=
            sizeof at ||
        at == 0)
        return false;
    return hs_memory_read(&memory, at, &section, sizeof section) != sizeof section ||
           (pc >= section.begin && pc - section.begin < section.n_bytes);
}

/* Calls from anywhere but one range of code become a signal. */
static bool thread_is_dispatched(const struct hs_copy_caller *caller)
{
    struct thread_dispatch found = {0};

    return ptrace((enum __ptrace_request)THREAD_GET_DISPATCH, caller->thread->tid,
                  (void *)sizeof found, &found) == 0 &&
           found.mode != 0;
}

static bool thread_may_call(struct hs_copy_caller *caller)
{
    if (thread_is_in_section(caller))
        return thread_refuses(caller, "its main thread is inside of a restartable sequence");
    if (thread_is_dispatched(caller))
        return thread_refuses(caller, "its system calls are dispatched to itself");
    if (!hs_copy_code_stands(caller->target, &caller->plan->code))
        return thread_refuses(caller, "its code has changed");
    return true;
}

static struct hs_mapping *thread_stack(const struct hs_target *target)
{
    for (size_t i = target->n_mappings; i-- > 0;)
        if (strcmp(hs_mapping_path(target, &target->mappings[i]), "[stack]") == 0)
            return &target->mappings[i];
    return NULL;
}

bool hs_copy_is_left_over(const struct hs_target *target)
{
    const struct hs_mapping *stack = thread_stack(target);

    for (size_t i = 0; stack != NULL && i < target->n_threads; i++) {
        hs_addr sp = hs_regs_sp(&target->threads[i].regs);
        if (target->threads[i].tid == target->pid && sp >= stack->begin && sp < stack->end)
            return hs_sigframe_is_taken(stack->begin, sp);
    }
    return false;
}

bool hs_copy_suits(struct hs_target *target)
{
    const struct hs_mapping *stack = thread_stack(target);

    if (stack == NULL || target->options.mode == HS_STOP_READ || target->copy_plan == NULL ||
        target->copy_plan->outlook.variant == HS_COPY_NONE)
        return true;
    for (size_t i = 0; i < target->n_threads; i++) {
        hs_addr sp = hs_regs_sp(&target->threads[i].regs);
        if (target->threads[i].tid == target->pid && sp >= stack->begin && sp < stack->end)
            return sp - stack->begin >= HS_SIGFRAME_STACK_BYTES;
    }
    return true;
}

static bool thread_is_zero(const uint8_t *bytes, size_t n)
{
    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

/* Grows the stack by reading below it when no better moment came, as the handler of a signal would,
 * within the process's own limit (the kernel would apply ours). */
static void thread_grow_stack(const struct hs_copy_caller *caller, hs_addr sp)
{
    struct hs_target *target = caller->target;
    struct hs_mapping *stack = thread_stack(target);
    hs_addr below = (sp - HS_SIGFRAME_STACK_BYTES) & ~(THREAD_PAGE_BYTES - 1);
    struct rlimit limit;

    if (below >= stack->begin || prlimit(target->pid, RLIMIT_STACK, NULL, &limit) != 0 ||
        stack->end - below > limit.rlim_cur)
        return;
    if (stack != target->mappings && stack[-1].end > below) /* it would be a look at that */
        return;
    errno = 0;
    (void)ptrace(PTRACE_PEEKDATA, caller->thread->tid, (void *)(uintptr_t)below, NULL);
    if (errno == 0)
        stack->begin = below;
}

/* A stack pointer elsewhere says nothing of how deep the stack is in use: then only what was never
 * written is free. */
static bool thread_choose_place(struct hs_copy_caller *caller, size_t xstate_bytes)
{
    const struct hs_mapping *stack = thread_stack(caller->target);
    struct hs_memory memory = caller->target->live;
    struct hs_sigframe_place *place = &caller->frame.place;
    hs_addr sp = hs_regs_sp(&caller->thread->regs);

    if (stack == NULL || !stack->readable || !stack->writable)
        return thread_refuses(caller, "it has no stack of the usual kind");
    bool is_on_it = sp >= stack->begin && sp < stack->end;
    if (is_on_it && hs_sigframe_is_taken(stack->begin, sp))
        return thread_refuses(caller, "it is on its way back from another copy");
    if (is_on_it && sp - stack->begin < HS_SIGFRAME_STACK_BYTES)
        thread_grow_stack(caller, sp);
    if (!hs_sigframe_choose(stack->begin, is_on_it ? sp : stack->end, xstate_bytes, place))
        return thread_refuses(caller, "there is too little stack left");
    caller->area_bytes = place->end - place->frame;
    if (hs_memory_read(&memory, place->frame, caller->before, caller->area_bytes) !=
        (ssize_t)caller->area_bytes)
        return thread_refuses(caller, "its stack cannot be read");
    if (!is_on_it && !thread_is_zero(caller->before, caller->area_bytes))
        return thread_refuses(caller, "its main thread is on another stack");
    return true;
}

/* Chooses the registers to return to, those that it would have without us: calls that the stop
 * broke off start again. */
static void thread_choose_regs(struct hs_copy_caller *caller)
{
    const struct hs_target *target = caller->target;
    struct hs_regs regs = caller->thread->regs;

    if (!target->options.leaves_interrupted) {
        hs_restart_prepare(target, caller->thread);
        (void)hs_restart_call(target, caller->thread, &regs);
    }
    caller->again = regs;
    caller->frame.regs = hs_restart_framed(target, caller->thread, &regs);
    if (!target->options.leaves_interrupted)
        hs_restart_frame(target, caller->thread, &caller->frame.regs);
}

static bool thread_make_frame(struct hs_copy_caller *caller)
{
    struct hs_sigframe *frame = &caller->frame;
    struct iovec state = {caller->xstate, sizeof caller->xstate};
    pid_t tid = caller->thread->tid;

    if (ptrace(PTRACE_GETREGSET, tid, (void *)HS_ARCH_STATE_NOTE, &state) != 0 ||
        !hs_sigframe_state(caller->xstate, &state.iov_len, sizeof caller->xstate))
        return thread_refuses(caller, "its floating point state cannot be kept");
    if (ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof frame->signal_mask, &frame->signal_mask) != 0)
        return thread_refuses(caller, "its signal mask cannot be read");
    if (!thread_choose_place(caller, state.iov_len))
        return false;
    thread_choose_regs(caller);
    frame->xstate = caller->xstate;
    frame->xstate_bytes = state.iov_len;
    frame->sigreturn = caller->plan->code.sigreturn;
    frame->leave = caller->plan->code.leave;
    hs_sigframe_build(frame, caller->area);
    return true;
}

static bool thread_write(const struct hs_copy_caller *caller, const uint8_t *bytes)
{
    struct iovec local = {(void *)(uintptr_t)bytes, caller->area_bytes};
    struct iovec remote = {(void *)(uintptr_t)caller->frame.place.frame, caller->area_bytes};

    return process_vm_writev(caller->target->pid, &local, 1, &remote, 1, 0) ==
           (ssize_t)caller->area_bytes;
}

/* Seen anew: a filter may have come since it was foreseen. */
static bool thread_is_filtered(const struct hs_copy_caller *caller)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t seccomp = 0;

    if (hs_proc_read_of(caller->target->pid, "status", &text, &n, &ignored) != HS_OK)
        return true;
    return hs_proc_number(text, "Seccomp", 10, &seccomp) && seccomp != 0;
}

static bool thread_set_options(struct hs_copy_caller *caller)
{
    bool is_filtered = thread_is_filtered(caller);

    caller->options = THREAD_OPTIONS | (is_filtered ? PTRACE_O_SUSPEND_SECCOMP : 0);
    if (ptrace(PTRACE_SETOPTIONS, caller->thread->tid, NULL, (void *)caller->options) == 0)
        return true;
    return thread_refuses(caller, is_filtered
                                      ? "a seccomp filter is active and may not be suspended"
                                      : "its main thread cannot be traced");
}

/* Armed first: a mask without a frame to undo it would stay for ever. */
static bool thread_arm(struct hs_copy_caller *caller)
{
    const struct hs_sigframe *frame = &caller->frame;
    struct hs_regs regs = caller->thread->regs;
    uint64_t all = UINT64_MAX;

    hs_regs_sigreturn(&regs, frame->sigreturn, frame->place.frame);
    if (ptrace(PTRACE_SETREGS, caller->thread->tid, NULL, &regs) != 0)
        return thread_refuses(caller, "its main thread ends");
    caller->is_armed = true;
    hs_copy_pass(HS_COPY_AT_ARMED);
    if (ptrace(PTRACE_SETSIGMASK, caller->thread->tid, (void *)sizeof all, &all) != 0)
        return thread_refuses(caller, "its signals cannot be blocked");
    caller->is_masked = true;
    hs_copy_pass(HS_COPY_AT_MASKED);
    return true;
}

bool hs_copy_caller_open(struct hs_copy_caller *caller, struct hs_target *target,
                         const struct hs_copy_plan *plan, uint64_t deadline_ns)
{
    memset(caller, 0, offsetof(struct hs_copy_caller, area_bytes));
    caller->target = target;
    caller->plan = plan;
    caller->deadline_ns = deadline_ns;
    if (!thread_find(caller) || !thread_may_call(caller) || !thread_make_frame(caller))
        return false;
    caller->call = (struct hs_copy_call){.tid = caller->thread->tid,
                                         .base = caller->thread->regs,
                                         .code = plan->code.call,
                                         .stack = caller->frame.place.frame,
                                         .deadline_ns = deadline_ns};
    caller->is_written = true;
    if (!thread_write(caller, caller->area))
        return thread_refuses(caller, "its stack cannot be written");
    if (!thread_set_options(caller))
        return false;
    hs_copy_pass(HS_COPY_AT_FRAME);
    return thread_arm(caller);
}

enum hs_copy_called hs_copy_caller_call(struct hs_copy_caller *caller, uint64_t number,
                                        const uint64_t arguments[5])
{
    assert(caller->is_masked);
    return hs_copy_call(&caller->call, number, arguments);
}

bool hs_copy_caller_failed(struct hs_copy_caller *caller, enum hs_copy_called called,
                           const char *what)
{
    caller->is_lost |= called == HS_CALLED_LATE || called == HS_CALLED_GONE;
    if (called == HS_CALLED_FAULT)
        return thread_refuses(caller, "its code cannot be executed");
    snprintf(caller->why, sizeof caller->why, "%s: its main thread %s", what,
             called == HS_CALLED_GONE ? "ended" : "does not come back");
    return false;
}

/* Through a stop of its own: on that way the kernel sets a broken-off call to start again. */
static bool thread_stop_again(struct hs_copy_caller *caller, bool *ret_has_run)
{
    pid_t tid = caller->thread->tid;
    uint64_t deadline_ns = caller->deadline_ns + THREAD_RESTORE_NS;
    long signal = 0;
    int report;

    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
        return false;
    for (;;) {
        if (ptrace(PTRACE_CONT, tid, NULL, (void *)signal) != 0 ||
            !hs_copy_wait(tid, deadline_ns, &report) || WIFEXITED(report) || WIFSIGNALED(report))
            return false;
        if (report >> 16 == PTRACE_EVENT_STOP)
            return true;
        signal = report >> 16 == 0 ? WSTOPSIG(report) : 0;
        *ret_has_run |= signal != 0;
    }
}

/* The mask before the registers: without the frame nothing would bring it back. */
static bool thread_restore(struct hs_copy_caller *caller)
{
    pid_t tid = caller->thread->tid;
    uint64_t mask = caller->frame.signal_mask;
    bool has_run = false;

    if (caller->is_masked && ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof mask, &mask) != 0)
        return false;
    hs_copy_pass(HS_COPY_AT_UNMASKED);
    if (ptrace(PTRACE_SETREGS, tid, NULL, &caller->again) != 0)
        return false;
    caller->is_armed = caller->is_masked = false;
    hs_copy_pass(HS_COPY_AT_RESTORED);
    if (!thread_stop_again(caller, &has_run))
        return false;
    caller->is_written &= !has_run; /* a handler may be on its way over it */
    return true;
}

bool hs_copy_caller_close(struct hs_copy_caller *caller)
{
    if (caller->is_lost)
        return false;
    if (caller->is_armed && !thread_restore(caller)) {
        caller->is_lost = true;
        return false;
    }
    if (caller->thread != NULL)
        (void)ptrace(PTRACE_SETOPTIONS, caller->thread->tid, NULL, (void *)PTRACE_O_TRACEEXEC);
    if (caller->is_written)
        (void)thread_write(caller, caller->before); /* dead memory: only tidy */
    hs_copy_pass(HS_COPY_AT_WHOLE);
    return true;
}
