/* System calls made by a thread of the target for us. Every wait is bounded, every return looked
 * at: a failed call is seen at its exit and cannot run on. */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "arch/calls.h"
#include "base/progress.h"
#include "copy_private.h"
#include "target/procfs.h"

#define CALL_NAP_MIN_NS 5000
#define CALL_NAP_MAX_NS 100000
#define CALL_LOOKS 16 /* so many naps lie between two looks at a thread that does not report */
/* include/linux/errno.h, ERESTARTNOINTR: of a clone when a SIGCONT came, which every traced thread
 * stops for. */
#define CALL_BEGINS_ANEW (-513)
#define CALL_STOP (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */

/* The death of a main thread is reported when all others were collected, which stand still for us:
 * who waits for it alone waits in vain. */
static bool call_is_dead(pid_t tid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_proc_stat stat;

    return hs_proc_stat_of(tid, 0, &stat, &ignored) == HS_OK &&
           (stat.state == 'Z' || stat.state == 'X');
}

bool hs_copy_wait(pid_t tid, uint64_t deadline_ns, int *ret_report)
{
    struct timespec nap = {.tv_nsec = CALL_NAP_MIN_NS};

    for (unsigned round = 1;; round++) {
        pid_t found = waitpid(tid, ret_report, __WALL | WNOHANG);
        if (found == tid)
            return true;
        if (found < 0 && errno != EINTR)
            return false;
        if (hs_now_ns() > deadline_ns) {
            errno = ETIMEDOUT;
            return false;
        }
        if (round % CALL_LOOKS == 0 && call_is_dead(tid)) {
            if (waitpid(tid, ret_report, __WALL | WNOHANG) == tid)
                return true;
            errno = ESRCH;
            return false;
        }
        nanosleep(&nap, NULL);
        if (nap.tv_nsec < CALL_NAP_MAX_NS)
            nap.tv_nsec += nap.tv_nsec / 2;
    }
}

static bool call_has_ended(int report)
{
    return WIFEXITED(report) || WIFSIGNALED(report);
}

bool hs_copy_wait_born(pid_t tid, uint64_t deadline_ns)
{
    int report;

    while (hs_copy_wait(tid, deadline_ns, &report)) {
        if (call_has_ended(report))
            return false;
        if (report >> 16 == PTRACE_EVENT_STOP)
            return true;
        if (ptrace(PTRACE_CONT, tid, NULL, NULL) != 0)
            return false;
    }
    return false;
}

/* kill() needs a permission that tracing does not: with CAP_SYS_PTRACE alone and another user it
 * fails. */
bool hs_copy_kill(pid_t tid, uint64_t deadline_ns)
{
    int report;

    if (ptrace(PTRACE_KILL, tid, NULL, NULL) != 0 && kill(tid, SIGKILL) != 0)
        return errno == ESRCH;
    while (hs_copy_wait(tid, deadline_ns, &report)) {
        if (call_has_ended(report))
            return true;
        if (ptrace(PTRACE_KILL, tid, NULL, NULL) != 0 && errno != ESRCH)
            return false;
    }
    return errno == ECHILD;
}

/* Signals that come from what the thread itself does: here that can only be our call. */
static bool call_is_fault(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
           number == SIGTRAP || number == SIGSYS;
}

static enum hs_copy_called call_result(struct hs_copy_call *call)
{
    struct hs_regs regs;

    if (ptrace(PTRACE_GETREGS, call->tid, NULL, &regs) != 0)
        return HS_CALLED_GONE;
    call->result = hs_regs_call_result(&regs);
    return HS_CALLED;
}

static enum hs_copy_called call_born(struct hs_copy_call *call)
{
    unsigned long child = 0;

    if (ptrace(PTRACE_GETEVENTMSG, call->tid, NULL, &child) != 0)
        return HS_CALLED_GONE;
    call->child = (pid_t)child;
    return HS_CALLED_BORN;
}

/* Runs from stop to stop until the `n_stops`th stop at a system call. */
static enum hs_copy_called call_run(struct hs_copy_call *call, int n_stops)
{
    long signal = 0;
    int report;

    for (;;) {
        if (ptrace(PTRACE_SYSCALL, call->tid, NULL, (void *)signal) != 0)
            return HS_CALLED_GONE;
        if (!hs_copy_wait(call->tid, call->deadline_ns, &report))
            return errno == ETIMEDOUT ? HS_CALLED_LATE : HS_CALLED_GONE;
        if (call_has_ended(report))
            return HS_CALLED_GONE;
        int number = WSTOPSIG(report);
        signal = 0;
        if (report >> 16 == PTRACE_EVENT_CLONE)
            return call_born(call);
        if (report >> 16 != 0)
            continue; /* a stop of the whole process comes, or an interrupt of ours */
        if (number == CALL_STOP) {
            enum hs_copy_called called = --n_stops == 0 ? call_result(call) : HS_CALLED;
            if (n_stops == 0 && (called != HS_CALLED || call->result != CALL_BEGINS_ANEW))
                return called;
            n_stops = n_stops == 0 ? 2 : n_stops; /* its entry and its exit once more */
            continue;
        }
        if (call_is_fault(number))
            return HS_CALLED_FAULT;
        signal = number; /* SIGSTOP alone: all others are blocked */
    }
}

enum hs_copy_called hs_copy_call(struct hs_copy_call *call, uint64_t number,
                                 const uint64_t arguments[5])
{
    struct hs_regs regs = call->base;

    hs_regs_call(&regs, call->code, call->stack, number, arguments);
    if (ptrace(PTRACE_SETREGS, call->tid, NULL, &regs) != 0)
        return HS_CALLED_GONE;
    return call_run(call, 2);
}

enum hs_copy_called hs_copy_call_finish(struct hs_copy_call *call)
{
    return call_run(call, 1);
}
