/* Signals that wait while a process stands.
 *
 * A traced thread is sent also what it ignores (kernel/signal.c, sig_ignored), and while threads
 * are traced the kernel chooses none of them for a signal that is sent to the process: whichever
 * goes on first takes it. Without us that is the main thread, where it does not block it
 * (complete_signal), and all others wait on. */
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "target/procfs.h"
#include "target_private.h"

#define SIGNALS_TAKE_NS ((uint64_t)5000000) /* for one that finds no processor; as a rule 50 us */
#define SIGNALS_NAP_NS 10000

bool hs_signals_read(pid_t pid, pid_t tid, struct hs_signals *ret)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    char path[HS_PROC_PATH_BYTES];

    snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, tid);
    return hs_proc_read(path, &text, &n, &ignored) == HS_OK &&
           hs_proc_number(text, "SigPnd", 16, &ret->own) &&
           hs_proc_number(text, "ShdPnd", 16, &ret->shared) &&
           hs_proc_number(text, "SigBlk", 16, &ret->blocked) &&
           hs_proc_number(text, "SigCgt", 16, &ret->caught);
}

bool hs_signals_is_own(pid_t pid, pid_t tid)
{
    struct hs_signals signals;

    return hs_signals_read(pid, tid, &signals) &&
           (signals.own & signals.caught & ~signals.blocked) != 0;
}

bool hs_signals_would_take(pid_t pid, pid_t tid)
{
    struct hs_signals signals;

    return hs_signals_read(pid, tid, &signals) &&
           (signals.shared & signals.caught & ~signals.blocked) != 0;
}

bool hs_signals_wait_for_process(pid_t pid, pid_t tid)
{
    struct hs_signals signals;

    return hs_signals_read(pid, tid, &signals) && (signals.shared & signals.caught) != 0;
}

/* Waits until the thread has taken its signals, as told by what it blocks: in its handler a thread
 * blocks what it handles. */
void hs_signals_wait_taken(pid_t pid, pid_t tid)
{
    const struct timespec nap = {.tv_nsec = SIGNALS_NAP_NS};
    uint64_t until_ns = hs_now_ns() + SIGNALS_TAKE_NS;

    while (hs_signals_would_take(pid, tid) && hs_now_ns() < until_ns)
        nanosleep(&nap, NULL);
}
