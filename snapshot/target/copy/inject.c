/* The copy is made.
 *
 *   T  clone(VM|FS|FILES) -> M     M shares all with T, and T is back at once
 *   M  clone(FILES) -> C           here the page tables are copied
 *   M is killed, T waits for it    C goes to init; nothing is left at T
 *
 * Direct: T makes C itself, and waits for it in a stop of its own when it has been read
 * (direct.c): where an orphan would come back to the target.
 *
 * Exit signal 0: no SIGCHLD, and wait() of the target does not see them. FILES for C: the table of
 * files is shared, not each file held open a second time. */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "copy_private.h"

#define INJECT_DEADLINE_NS ((uint64_t)3000000000) /* and four times what was foreseen */
#define INJECT_DEADMAN_NS ((uint64_t)2000000000)  /* on top of that */
#define INJECT_END_NS ((uint64_t)1000000000)

struct injection {
    struct hs_copy_caller *caller;
    struct hs_copy *copy;
    uint64_t deadline_ns;
};

static bool inject_fails(struct injection *in, const char *why)
{
    snprintf(in->caller->why, sizeof in->caller->why, "%s", why);
    return false;
}

/* Says why a clone failed; always false. */
static bool inject_refused(struct injection *in, int64_t result)
{
    switch (-result) {
    case EAGAIN:
        return inject_fails(in, "it may have no more processes (RLIMIT_NPROC, pids.max)");
    case ENOMEM:
        return inject_fails(in, "there is no memory for the page tables of a copy");
    case EPERM:
    case ENOSYS:
        return inject_fails(in, "it may not make processes");
    default:
        snprintf(in->caller->why, sizeof in->caller->why, "clone fails with error %lld",
                 (long long)-result);
        return false;
    }
}

/* An orphan goes to the nearest subreaper above it. */
static bool inject_ask(struct injection *in, bool *ret_is_subreaper)
{
    struct hs_copy_caller *caller = in->caller;
    struct hs_memory memory = caller->target->live;
    hs_addr scratch = caller->frame.place.scratch;
    uint64_t arguments[5] = {PR_GET_CHILD_SUBREAPER, scratch};
    uint32_t is_subreaper = 0;

    enum hs_copy_called called = hs_copy_caller_call(caller, SYS_prctl, arguments);
    if (called != HS_CALLED)
        return hs_copy_caller_failed(caller, called, "it was asked whether it adopts orphans");
    if (hs_memory_read(&memory, scratch, &is_subreaper, sizeof is_subreaper) != sizeof is_subreaper)
        return inject_fails(in, "its stack cannot be read");
    *ret_is_subreaper = is_subreaper != 0;
    hs_copy_pass(HS_COPY_AT_ASKED);
    return true;
}

/* T makes a child, which ends with us from then on. *ret_inner: its number as T knows it. */
static bool inject_clone(struct injection *in, uint64_t flags, pid_t *ret_child, int64_t *ret_inner)
{
    struct hs_copy_caller *caller = in->caller;
    uint64_t arguments[5] = {flags, caller->frame.place.child_stack};

    enum hs_copy_called called = hs_copy_caller_call(caller, SYS_clone, arguments);
    if (called == HS_CALLED)
        return inject_refused(in, caller->call.result);
    if (called != HS_CALLED_BORN)
        return hs_copy_caller_failed(caller, called, "a copy was to be made");
    *ret_child = caller->call.child;
    hs_copy_pass(HS_COPY_AT_BORN);
    bool is_bound = hs_copy_wait_born(*ret_child, in->deadline_ns) &&
                    ptrace(PTRACE_SETOPTIONS, *ret_child, NULL,
                           (void *)(caller->options | PTRACE_O_EXITKILL)) == 0;
    hs_copy_pass(HS_COPY_AT_BOUND);
    called = hs_copy_call_finish(&caller->call);
    if (called != HS_CALLED)
        return hs_copy_caller_failed(caller, called, "a copy was made");
    *ret_inner = caller->call.result;
    hs_copy_pass(HS_COPY_AT_RETURNED);
    return is_bound || inject_fails(in, "its child did not stop");
}

/* M makes C, which is born with the options of M: there is no moment at which it could run on. */
static bool inject_fork(struct injection *in, pid_t middle)
{
    struct hs_copy_caller *caller = in->caller;
    struct hs_copy_call call = caller->call;
    uint64_t arguments[5] = {CLONE_FILES, caller->frame.place.child_stack};

    hs_priority_lend(middle); /* on a busy machine it would wait in the middle of the pause */
    /* Nothing of it outlives M; T itself must never be found changed. Refused: only slower. */
    (void)sched_setscheduler(middle, SCHED_FIFO | SCHED_RESET_ON_FORK,
                             &(struct sched_param){.sched_priority = 1});
    call.tid = middle;
    call.stack = caller->frame.place.child_stack;
    if (ptrace(PTRACE_GETREGS, middle, NULL, &call.base) != 0)
        return inject_fails(in, "its child ended");
    enum hs_copy_called called = hs_copy_call(&call, SYS_clone, arguments);
    if (called == HS_CALLED)
        return inject_refused(in, call.result);
    if (called != HS_CALLED_BORN)
        return inject_fails(in, called == HS_CALLED_LATE ? "making a copy took too long"
                                                         : "its child ended");
    in->copy->memory.pid = call.child;
    bool is_born = hs_copy_wait_born(call.child, in->deadline_ns);
    hs_copy_pass(HS_COPY_AT_COPIED);
    return is_born || inject_fails(in, "the copy did not stop");
}

/* T waits for an ended child as it knows it: no zombie is left. */
static bool inject_reap(struct injection *in, int64_t inner)
{
    struct hs_copy_caller *caller = in->caller;
    uint64_t arguments[5] = {(uint64_t)inner, 0, __WALL | WNOHANG};

    do {
        enum hs_copy_called called = hs_copy_caller_call(caller, SYS_wait4, arguments);
        if (called != HS_CALLED)
            return hs_copy_caller_failed(caller, called, "its child was to be collected");
    } while (caller->call.result == 0 && hs_now_ns() < in->deadline_ns);
    return true;
}

/* Kills a child, and lets T wait for it. False when T is lost. */
static bool inject_end(struct injection *in, pid_t child, int64_t inner)
{
    in->deadline_ns = hs_now_ns() + INJECT_END_NS;
    in->caller->call.deadline_ns = in->deadline_ns;
    (void)hs_copy_kill(child, in->deadline_ns); /* late: it ends with us */
    hs_copy_pass(HS_COPY_AT_ENDED);
    if (in->caller->is_lost || !inject_reap(in, inner))
        return false;
    hs_copy_pass(HS_COPY_AT_REAPED);
    return true;
}

/* Has T reap the ended children that killed dumps left, whatever wait4 says of each: nobody else
 * will. False when T is lost. */
static bool inject_reap_left(struct injection *in)
{
    const struct hs_copy_plan *plan = in->caller->plan;

    for (size_t i = 0; i < plan->n_left; i++) {
        uint64_t arguments[5] = {(uint64_t)plan->left[i], 0, __WALL | WNOHANG};
        enum hs_copy_called called = hs_copy_caller_call(in->caller, SYS_wait4, arguments);
        if (called != HS_CALLED)
            return hs_copy_caller_failed(in->caller, called,
                                         "what a killed dump left was to be collected");
    }
    return true;
}

static bool inject_middle(struct injection *in)
{
    pid_t middle = 0;
    int64_t inner = 0;
    bool is_made = inject_clone(in, CLONE_VM | CLONE_FS | CLONE_FILES, &middle, &inner) &&
                   inject_fork(in, middle);

    return middle != 0 && inject_end(in, middle, inner) && is_made;
}

static bool inject_direct(struct injection *in)
{
    struct hs_copy *copy = in->copy;
    int64_t inner = 0;
    bool is_made = inject_clone(in, CLONE_FILES, &copy->memory.pid, &inner);

    copy->inner_pid = (pid_t)inner;
    if (!is_made && copy->memory.pid != 0) {
        (void)inject_end(in, copy->memory.pid, inner);
        copy->memory.pid = 0;
    }
    return is_made;
}

static bool inject_any(struct injection *in)
{
    struct hs_copy *copy = in->copy;
    bool is_subreaper = false;

    if (!inject_ask(in, &is_subreaper) || !inject_reap_left(in))
        return false;
    copy->variant = in->caller->plan->outlook.variant;
    if (is_subreaper)
        copy->variant = HS_COPY_DIRECT;
    if (hs_copy_force != HS_COPY_NONE)
        copy->variant = hs_copy_force;
    uint64_t begun_ns = hs_now_ns();
    bool is_made = copy->variant == HS_COPY_DIRECT ? inject_direct(in) : inject_middle(in);
    copy->copying_ns = hs_now_ns() - begun_ns;
    return is_made;
}

/* The stack as it was, in the copy, too: nobody shall find the frame there. */
static hs_status inject_hide_frame(const struct injection *in, struct hs_error *err)
{
    const struct hs_copy_caller *caller = in->caller;

    return hs_copy_save_bytes(&in->copy->saved, caller->frame.place.frame, caller->before,
                              caller->area_bytes, err);
}

/* Makes the calls in the opened thread, and closes it. */
static hs_status inject_run(struct injection *in, struct hs_error *err)
{
    struct hs_copy_caller *caller = in->caller;
    bool is_made = inject_any(in);

    bool is_whole = hs_copy_caller_close(caller);
    if ((!is_made || !is_whole) && in->copy->memory.pid != 0)
        (void)hs_copy_kill(in->copy->memory.pid, hs_now_ns() + INJECT_END_NS);
    if (is_whole)
        return is_made ? inject_hide_frame(in, err) : HS_OK;
    (void)hs_fail(err, HS_TARGET, "its main thread ended or hangs");
    return hs_hint(err, "try again");
}

static hs_status inject_save(struct hs_copy *copy, const struct hs_target *target, char *why,
                             size_t why_bytes, bool *ret_is_saved, struct hs_error *err)
{
    const struct hs_copy_plan *plan = target->copy_plan;
    hs_status status = HS_OK;

    for (size_t i = 0; i < plan->n_areas && status == HS_OK; i++)
        status =
            hs_copy_save_area(&copy->saved, target, plan->areas[i].begin, plan->areas[i].end, err);
    *ret_is_saved = status == HS_OK;
    if (status == HS_LIMIT)
        snprintf(why, why_bytes, "what a copy would lack has grown too large");
    status = status == HS_OK      ? hs_copy_save_all(&copy->saved, target, err)
             : status == HS_LIMIT ? HS_OK
                                  : status;
    hs_copy_pass(HS_COPY_AT_SAVED);
    return status;
}

static uint64_t inject_deadline(const struct hs_target *target)
{
    uint64_t patience_ns = INJECT_DEADLINE_NS + 4 * target->copy_plan->outlook.copy_pause_ns;
    uint64_t now_ns = hs_now_ns(), limit_ns = target->options.max_pause_ns;

    hs_deadman_within(patience_ns + INJECT_DEADMAN_NS);
    if (limit_ns != 0 && target->stopped_at_ns + limit_ns < now_ns + patience_ns)
        return target->stopped_at_ns + limit_ns;
    return now_ns + patience_ns;
}

static hs_status inject_into(struct hs_target *target, struct hs_copy *copy,
                             struct hs_copy_caller *caller, char *why, size_t why_bytes,
                             struct hs_error *err)
{
    struct injection in = {.caller = caller, .copy = copy};
    bool is_saved = false;

    hs_copy_pass(HS_COPY_AT_STOPPED);
    HS_TRY(inject_save(copy, target, why, why_bytes, &is_saved, err));
    if (!is_saved)
        return HS_OK;
    in.deadline_ns = inject_deadline(target);
    bool is_open = hs_copy_caller_open(caller, target, target->copy_plan, in.deadline_ns);
    hs_status status = HS_OK;
    if (is_open) {
        status = inject_run(&in, err);
    } else if (!hs_copy_caller_close(caller)) {
        status = hs_fail(err, HS_TARGET, "it ended during the dump");
    }
    snprintf(why, why_bytes, "%s", caller->why);
    return status;
}

hs_status hs_copy_make(struct hs_target *target, struct hs_copy **ret, char *why, size_t why_bytes,
                       struct hs_error *err)
{
    hs_auto_free struct hs_copy_caller *caller = NULL;

    assert(target->is_stopped && target->copy_plan != NULL);
    why[0] = '\0';
    HS_TRY(HS_ALLOC(&caller, 1, err));
    struct hs_copy *copy;
    HS_TRY(HS_ALLOC(&copy, 1, err));
    copy->memory = HS_MEMORY_INIT;
    copy->saved = target->copy_plan->store;
    target->copy_plan->store = (struct hs_copy_saved){0};
    hs_status status =
        copy->saved.store != NULL
            ? HS_OK
            : hs_copy_saved_init(&copy->saved, HS_COPY_STORE_SPARE((size_t)0), 0, err);
    if (status == HS_OK)
        status = inject_into(target, copy, caller, why, why_bytes, err);
    if (status == HS_OK && why[0] == '\0') {
        hs_copy_saved_sort(&copy->saved);
        *ret = copy;
        return HS_OK;
    }
    hs_copy_saved_fini(&copy->saved);
    hs_free(copy);
    if (status == HS_OK)
        *ret = NULL;
    return status;
}
