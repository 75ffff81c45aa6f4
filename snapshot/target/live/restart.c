/* Calls that the stop broke off start again, for the rest of their time. docs/processes.md has them
 * all.
 */
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#include "arch/calls.h"
#include "arch/sigframe.h"
#include "base/alloc.h"
#include "base/progress.h"
#include "target/procfs.h"
#include "target_private.h"

#define RESTART_SECONDS_MAX ((uint64_t)1 << 32) /* over a century: left as it is */
#define RESTART_NS_PER_MS 1000000
#define RESTART_NS_PER_S 1000000000
/* The deadlines of waits that do not end, and of those whose end is not known. */
#define RESTART_NEVER UINT64_MAX
#define RESTART_UNKNOWN ((uint64_t)0)
/* The kernel may be so much late with a limit: fs/select.c, select_estimate_accuracy, and a
 * millisecond of rounding; with others the thread's timer slack, 50 us, and what our look errs. */
#define RESTART_SLACK_OF_FILES(limit_ns) ((limit_ns) / 200 + RESTART_NS_PER_MS)
#define RESTART_SLACK_NS ((uint64_t)200000)
#define RESTART_STACK_BYTES 384
#define RESTART_FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define RESTART_FNV_PRIME UINT64_C(0x100000001b3)
#define RESTART_DETOURS 4
#define RESTART_DETOUR_NS ((uint64_t)20000000)

static bool restart_read(const struct hs_target *target, hs_addr at, void *bytes, size_t n)
{
    struct hs_memory memory = target->live;
    return hs_memory_read(&memory, at, bytes, n) == (ssize_t)n;
}

static bool restart_write(const struct hs_target *target, hs_addr at, const void *bytes, size_t n)
{
    struct iovec local = {(void *)(uintptr_t)bytes, n}, remote = {(void *)(uintptr_t)at, n};
    return process_vm_writev(target->pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

/* The two words of a limit in memory. */
struct restart_time {
    uint64_t seconds, parts;
};

static uint64_t restart_part_ns(const struct hs_wait *wait)
{
    return wait->form == HS_WAIT_TIMEVAL ? 1000 : 1;
}

static struct restart_time restart_time_of(const struct hs_wait *wait, uint64_t ns)
{
    return (struct restart_time){ns / RESTART_NS_PER_S,
                                 ns % RESTART_NS_PER_S / restart_part_ns(wait)};
}

/* The limit with which the call was made; false when it has none. `nested` are the arguments that
 * lead to it, if that is its form. */
static bool restart_limit(const struct hs_target *target, const struct hs_wait *wait,
                          uint64_t nested[3], uint64_t *ret_ns)
{
    struct restart_time limit;
    hs_addr at = wait->at;

    if (wait->form == HS_WAIT_UNTIMED || wait->form == HS_WAIT_SOCKET)
        return false;
    *ret_ns = wait->ms * RESTART_NS_PER_MS;
    if (wait->form == HS_WAIT_MS)
        return true;
    if (wait->form == HS_WAIT_NESTED) {
        if (!restart_read(target, at, nested, HS_WAIT_NESTED_BYTES) || nested[2] == 0)
            return false;
        at = nested[2];
    }
    if (!restart_read(target, at, &limit, sizeof limit) || limit.seconds > RESTART_SECONDS_MAX ||
        limit.parts >= RESTART_NS_PER_S / restart_part_ns(wait))
        return false;
    *ret_ns = limit.seconds * RESTART_NS_PER_S + limit.parts * restart_part_ns(wait);
    return true;
}

static uint64_t restart_rest_ns(const struct hs_thread *thread)
{
    uint64_t now_ns = hs_now_ns();
    return thread->deadline_ns > now_ns ? thread->deadline_ns - now_ns : 0;
}

static uint64_t restart_rest_ms(const struct hs_thread *thread)
{
    return (restart_rest_ns(thread) + RESTART_NS_PER_MS / 2) / RESTART_NS_PER_MS;
}

/* The words that are put below all that the thread uses of its stack, where the kernel would write
 * if a signal came now. A limit in memory is not ours to change, so the call is pointed at another,
 * here, which it reads as it begins, and never after. They also say when the wait ends: for the
 * next stop, by whomever, which believes it if the thread has slept but once since. */
struct restart_scratch {
    uint64_t nested[3];
    struct restart_time time;
    uint64_t mark, n_sleeps, deadline_ns;
    uint64_t number; /* of a call that the kernel restarts, and forgets which it was */
    uint64_t ms;     /* the limit that a register was given */
    uint64_t noted_ns, stack;
};
#define RESTART_MARK UINT64_C(0x74696177706e6168)

static hs_addr restart_scratch_at(const struct hs_thread *thread)
{
    return (hs_regs_sp(&thread->regs) - HS_RED_ZONE_BYTES - sizeof(struct restart_scratch)) &
           ~(hs_addr)15;
}

static void restart_mark(const struct hs_thread *thread, struct restart_scratch *ret)
{
    ret->mark = RESTART_MARK;
    ret->n_sleeps = thread->n_sleeps;
    ret->deadline_ns = thread->deadline_ns;
}

/* Hashes the dead stack around the note, to which any call that the thread makes would write; the
 * hash is the same in every process of ours. 0 when it cannot be read. */
static uint64_t restart_stack(const struct hs_target *target, const struct hs_thread *thread)
{
    uint8_t bytes[HS_RED_ZONE_BYTES + RESTART_STACK_BYTES];
    uint64_t hash = RESTART_FNV_BASIS;
    const hs_addr sp = hs_regs_sp(&thread->regs), note = restart_scratch_at(thread);

    if (!restart_read(target, sp - HS_RED_ZONE_BYTES, bytes, HS_RED_ZONE_BYTES) ||
        !restart_read(target, note - RESTART_STACK_BYTES, bytes + HS_RED_ZONE_BYTES,
                      RESTART_STACK_BYTES))
        return 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        hash = (hash ^ bytes[i]) * RESTART_FNV_PRIME;
    return hash | 1;
}

/* The limit before it stays: the call may be one that was pointed at it. */
static void restart_note(const struct hs_target *target, const struct hs_thread *thread,
                         uint64_t number, uint64_t ms)
{
    const size_t at = offsetof(struct restart_scratch, mark);
    struct restart_scratch scratch = {.number = number, .ms = ms};

    restart_mark(thread, &scratch);
    scratch.noted_ns = hs_now_ns();
    scratch.stack = restart_stack(target, thread);
    (void)restart_write(target, restart_scratch_at(thread) + at, &scratch.mark,
                        sizeof scratch - at);
}

/* Tells whether the thread only slept on its way back into the call, as for the memory map while
 * another thread forks: n_more times, shortly after the note. True of waits at sockets alone, whose
 * limit is the whole again; others tell by theirs how long they wait. */
static bool restart_is_detour(const struct hs_target *target, const struct hs_thread *thread,
                              const struct restart_scratch *found, uint64_t n_more)
{
    return n_more <= RESTART_DETOURS && thread->asleep_since_ns >= found->noted_ns &&
           thread->asleep_since_ns - found->noted_ns <= RESTART_DETOUR_NS && found->stack != 0 &&
           hs_regs_wait(&thread->regs).form == HS_WAIT_SOCKET &&
           found->stack == restart_stack(target, thread);
}

static bool restart_noted(const struct hs_target *target, const struct hs_thread *thread,
                          uint64_t n_sleeps, struct restart_scratch *ret)
{
    struct restart_scratch found;

    if (!restart_read(target, restart_scratch_at(thread), &found, sizeof found) ||
        found.mark != RESTART_MARK || n_sleeps < found.n_sleeps + 2 + thread->n_passed)
        return false;
    uint64_t n_more = n_sleeps - (found.n_sleeps + 2 + thread->n_passed);
    if (n_more != 0 && !restart_is_detour(target, thread, &found, n_more))
        return false;
    *ret = found;
    return true;
}

/* Tells whether the call waits as it was told to. A dump that died before it let the thread go has
 * left EINTR with it, and a note: what the program then calls has a limit of its own. */
static bool restart_is_obeyed(const struct hs_thread *thread, const struct hs_wait *wait,
                              const struct restart_scratch *noted)
{
    const hs_addr at = restart_scratch_at(thread);

    if (thread->kept_number != 0 || wait->has_rest || wait->form == HS_WAIT_SOCKET)
        return true;
    if (wait->form == HS_WAIT_MS)
        return wait->ms == noted->ms;
    return wait->at ==
           (wait->form == HS_WAIT_NESTED ? at : at + offsetof(struct restart_scratch, time));
}

static bool restart_point(const struct hs_target *target, const struct hs_thread *thread,
                          const struct hs_wait *wait, const uint64_t nested[3],
                          struct hs_regs *regs)
{
    const hs_addr at = restart_scratch_at(thread);
    const hs_addr time = at + offsetof(struct restart_scratch, time);
    struct restart_scratch scratch = {.time = restart_time_of(wait, restart_rest_ns(thread))};

    if (wait->form == HS_WAIT_NESTED)
        memcpy(scratch.nested, nested, sizeof scratch.nested);
    scratch.nested[2] = time;
    hs_regs_wait_at(regs, wait, wait->form == HS_WAIT_NESTED ? at : time);
    restart_mark(thread, &scratch);
    return restart_write(target, at, &scratch, sizeof scratch);
}

/* One whose time was over before it was interrupted, and which still slept, is a new one: woken
 * between our look and the interrupt, and called again. Whoever is taken for a new one in error is
 * late, as any wait may be; in the other error a wait would end before its time. */
static uint64_t restart_deadline(const struct hs_thread *thread, const struct hs_wait *wait,
                                 uint64_t began_ns, uint64_t limit_ns)
{
    bool is_of_files = wait->form == HS_WAIT_MS || wait->form == HS_WAIT_SOCKET || wait->has_rest;
    uint64_t slack_ns = is_of_files ? RESTART_SLACK_OF_FILES(limit_ns) : RESTART_SLACK_NS;

    if (began_ns + limit_ns + slack_ns < thread->interrupted_ns)
        began_ns = thread->interrupted_ns;
    return began_ns + limit_ns;
}

struct hs_regs hs_restart_framed(const struct hs_target *target, const struct hs_thread *thread,
                                 const struct hs_regs *regs)
{
    uint8_t code[HS_CODE_RESTARTED_BYTES];
    hs_addr pc = hs_regs_pc(regs);
    bool has_code = pc > sizeof code && restart_read(target, pc - sizeof code, code, sizeof code);

    return hs_sigframe_regs(regs, has_code ? code : NULL, thread->kept_number);
}

/* The main thread alone is ever put back by a frame. */
static void restart_find_kept(const struct hs_target *target, struct hs_thread *thread)
{
    struct restart_scratch noted = {.mark = 0};
    uint64_t n_sleeps;

    if (thread->tid != target->pid || thread->kept_number != 0 ||
        hs_regs_wait(&thread->regs).form != HS_WAIT_UNTIMED)
        return;
    if (hs_wait_count(target, thread, &n_sleeps) && restart_noted(target, thread, n_sleeps, &noted))
        thread->kept_number = noted.number;
    struct hs_regs framed = hs_restart_framed(target, thread, &thread->regs);
    bool is_kept = hs_regs_pc(&framed) != hs_regs_pc(&thread->regs) &&
                   hs_call_is_kept(hs_regs_call_number(&framed));
    thread->kept_number = is_kept ? hs_regs_call_number(&framed) : 0;
}

static struct hs_wait restart_wait(const struct hs_target *target, const struct hs_thread *thread)
{
    if (thread->kept_number == 0)
        return hs_regs_wait(&thread->regs);
    struct hs_regs framed = hs_restart_framed(target, thread, &thread->regs);
    return hs_regs_wait_kept(&framed);
}

static uint64_t restart_find_deadline(const struct hs_target *target,
                                      const struct hs_thread *thread)
{
    struct hs_wait wait = restart_wait(target, thread);
    uint64_t limit_ns, n_sleeps, nested[3];
    struct restart_scratch noted;

    bool is_limited = wait.form == HS_WAIT_SOCKET ? hs_socket_limit(target, &wait, &limit_ns)
                                                  : restart_limit(target, &wait, nested, &limit_ns);
    if (!is_limited || limit_ns == 0)
        return RESTART_NEVER;
    /* The kernel writes the rest to the stack of some, and keeps that of others. */
    if (!wait.has_rest && thread->kept_number == 0 && hs_wait_has_moved(target, thread))
        return thread->interrupted_ns + limit_ns;
    bool is_counted = hs_wait_count(target, thread, &n_sleeps);
    if (is_counted && restart_noted(target, thread, n_sleeps, &noted) &&
        restart_is_obeyed(thread, &wait, &noted))
        return restart_deadline(thread, &wait, noted.deadline_ns - limit_ns, limit_ns);
    if (wait.has_rest)
        return thread->reported_ns + limit_ns;
    if (!is_counted)
        return RESTART_UNKNOWN;
    return restart_deadline(thread, &wait, hs_wait_began(thread, n_sleeps), limit_ns);
}

void hs_restart_confirm(struct hs_target *target)
{
    for (size_t i = 0; i < target->n_threads; i++) {
        struct hs_thread *thread = &target->threads[i];
        if (thread->deadline_ns != RESTART_UNKNOWN)
            continue;
        restart_find_kept(target, thread);
        thread->deadline_ns = restart_find_deadline(target, thread);
    }
}

bool hs_restart_is_at_socket(const struct hs_thread *thread)
{
    return hs_regs_wait(&thread->regs).form == HS_WAIT_SOCKET && !thread->has_signal &&
           thread->deadline_ns != RESTART_NEVER && thread->deadline_ns != RESTART_UNKNOWN;
}

void hs_restart_prepare(const struct hs_target *target, struct hs_thread *thread)
{
    thread->has_signal = hs_regs_wait(&thread->regs).form == HS_WAIT_SOCKET &&
                         hs_signals_is_own(target->pid, thread->tid);
    if (thread->kept_number == 0 &&
        (thread->deadline_ns == RESTART_NEVER || thread->deadline_ns == RESTART_UNKNOWN))
        return;
    (void)hs_wait_count(target, thread, &thread->n_sleeps);
}

static enum hs_restart restart_again(const struct hs_target *target, const struct hs_thread *thread,
                                     struct hs_regs *regs)
{
    struct hs_wait wait = hs_regs_wait(regs);
    struct hs_regs again = *regs;
    uint64_t nested[3];

    if (!hs_regs_call_restart(&again))
        return HS_RESTART_NOT;
    if (thread->deadline_ns == RESTART_NEVER || wait.form == HS_WAIT_SOCKET) {
        *regs = again;
        if (thread->has_socket)
            restart_note(target, thread, 0, 0);
        return thread->deadline_ns == RESTART_NEVER ? HS_RESTART_WHOLE
               : thread->has_socket                 ? HS_RESTART_REST
                                                    : HS_RESTART_LATE;
    }
    if (thread->deadline_ns == RESTART_UNKNOWN ||
        (wait.form == HS_WAIT_NESTED &&
         !restart_read(target, wait.at, nested, HS_WAIT_NESTED_BYTES)))
        return HS_RESTART_LOST;
    if (wait.form == HS_WAIT_MS) {
        const uint64_t ms = restart_rest_ms(thread);
        hs_regs_wait_ms(&again, &wait, ms);
        restart_note(target, thread, 0, ms);
    } else if (!restart_point(target, thread, &wait, nested, &again)) {
        return HS_RESTART_LOST;
    }
    *regs = again;
    return HS_RESTART_REST;
}

/* Restarts the call, unless the thread has a handler to run: then the kernel returns EINTR. */
enum hs_restart hs_restart_call(const struct hs_target *target, const struct hs_thread *thread,
                                struct hs_regs *regs)
{
    enum hs_restart how = restart_again(target, thread, regs);

    return thread->has_signal ? HS_RESTART_NOT : how;
}

void hs_restart_frame(const struct hs_target *target, const struct hs_thread *thread,
                      struct hs_regs *framed)
{
    struct hs_wait wait = hs_regs_wait_kept(framed);
    const uint64_t nested[3] = {0};

    if (thread->kept_number == 0 || wait.form == HS_WAIT_UNTIMED ||
        thread->deadline_ns == RESTART_NEVER || thread->deadline_ns == RESTART_UNKNOWN)
        return;
    if (wait.form == HS_WAIT_MS)
        hs_regs_wait_ms(framed, &wait, restart_rest_ms(thread));
    else
        (void)restart_point(target, thread, &wait, nested, framed);
}

bool hs_restart_rest(const struct hs_target *target, const struct hs_thread *thread)
{
    struct hs_wait wait = hs_regs_wait(&thread->regs);

    if (thread->kept_number != 0)
        restart_note(target, thread, thread->kept_number, 0);
    if (!wait.has_rest || thread->deadline_ns == RESTART_NEVER)
        return false;
    struct restart_time rest = restart_time_of(&wait, restart_rest_ns(thread));
    restart_note(target, thread, 0, 0);
    return restart_write(target, wait.at, &rest, sizeof rest);
}
