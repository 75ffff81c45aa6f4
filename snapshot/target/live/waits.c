/* Since when do threads wait?
 *
 * The kernel tells when a thread last left its processor (se.exec_start of its sched file), and how
 * often it has gone to sleep: one that sleeps in a call went to sleep when that call began. The
 * time is that of the processor's own clock, which stands still while the processor serves
 * interrupts or belongs to another machine (kernel/sched/core.c, update_rq_clock_task): each
 * processor's is compared with ours by running on it for a moment. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arch/calls.h"
#include "base/progress.h"
#include "base/table.h"
#include "target/procfs.h"
#include "target_private.h"

#define WAITS_FILE_BYTES 4096
#define WAITS_STACK_WORDS 64
#define WAITS_TRIES 3
#define WAITS_TRACED 't'                  /* proc(5) */
#define WAITS_QUICK_NS ((uint64_t)500000) /* to compare a clock: as a rule 30 us */

/* Without memory of its own: between the first look and the first interrupt time counts. */
static bool waits_read(const char *path, char text[WAITS_FILE_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, WAITS_FILE_BYTES - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* "KEY   :   number" of a sched file. */
static const char *waits_value(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    at = at != NULL ? strchr(at, ':') : NULL;
    return at != NULL ? at + 1 : NULL;
}

/* "milliseconds.nanoseconds" in nanoseconds; 0 when it is not known, as after a move. */
static bool waits_sched(const char *path, uint64_t *ret_left_ns, uint64_t *ret_n_sleeps)
{
    char text[WAITS_FILE_BYTES], *point;

    if (!waits_read(path, text))
        return false;
    const char *left = waits_value(text, "se.exec_start");
    const char *sleeps = waits_value(text, "nr_voluntary_switches");
    if (left == NULL || sleeps == NULL)
        return false;
    uint64_t ms = strtoull(left, &point, 10);
    if (*point != '.')
        return false;
    *ret_left_ns = ms * 1000000 + strtoull(point + 1, NULL, 10);
    *ret_n_sleeps = strtoull(sleeps, NULL, 10);
    return true;
}

static void waits_path(const struct hs_target *target, const struct hs_thread *thread,
                       const char *name, char path[HS_PROC_PATH_BYTES])
{
    snprintf(path, HS_PROC_PATH_BYTES, "/proc/%d/task/%d/%s", target->pid, thread->tid, name);
}

/* The file is of one moment, or says "running". */
bool hs_wait_call(const struct hs_target *target, const struct hs_thread *thread,
                  uint64_t *ret_number, uint64_t arguments[6], hs_addr *ret_sp)
{
    char path[HS_PROC_PATH_BYTES], text[WAITS_FILE_BYTES], *at = text;

    waits_path(target, thread, "syscall", path);
    if (!waits_read(path, text) || *at < '0' || *at > '9')
        return false;
    *ret_number = strtoull(at, &at, 10);
    for (size_t i = 0; i < 6; i++)
        arguments[i] = strtoull(at, &at, 16);
    *ret_sp = strtoull(at, &at, 16);
    return true;
}

/* Hashes the words below a stack pointer, left by calls that returned: other threads do not write
 * there, as they may to variables of the functions that still run. 0 when nothing can be read
 * there. */
static uint64_t waits_stack(const struct hs_target *target, hs_addr sp)
{
    uint64_t words[WAITS_STACK_WORDS];
    struct hs_memory memory = target->live;
    ssize_t n = hs_memory_read(&memory, sp - sizeof words, words, sizeof words);

    return n <= 0 ? 0 : hs_hash_bytes(words, (size_t)n);
}

bool hs_wait_has_moved(const struct hs_target *target, const struct hs_thread *thread)
{
    hs_addr sp = hs_regs_sp(&thread->regs);

    return thread->asleep_sp != 0 &&
           (sp != thread->asleep_sp || waits_stack(target, sp) != thread->asleep_stack);
}

static bool waits_is_limited(const struct hs_target *target, const struct hs_thread *thread,
                             uint64_t number, const uint64_t arguments[6])
{
    return hs_wait_of(number, arguments).form != HS_WAIT_UNTIMED ||
           (thread->tid == target->pid && hs_call_is_kept(number));
}

bool hs_wait_is_in_call(const struct hs_target *target, const struct hs_thread *thread)
{
    uint64_t number, arguments[6];
    hs_addr sp;

    return hs_wait_call(target, thread, &number, arguments, &sp) &&
           waits_is_limited(target, thread, number, arguments);
}

/* Reads its state, and the processor that it last ran on: fields 3 and 39 of its stat file. */
static bool waits_processor(const struct hs_target *target, const struct hs_thread *thread,
                            unsigned *ret, char *ret_state)
{
    char path[HS_PROC_PATH_BYTES], text[WAITS_FILE_BYTES];

    waits_path(target, thread, "stat", path);
    if (!waits_read(path, text))
        return false;
    const char *at = strrchr(text, ')');
    *ret_state = at != NULL && at[1] == ' ' ? at[2] : '\0';
    for (int field = 2; at != NULL && field < 39; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return false;
    *ret = (unsigned)strtoul(at, NULL, 10);
    return true;
}

char hs_wait_state(const struct hs_target *target, const struct hs_thread *thread)
{
    unsigned processor;
    char state;

    return waits_processor(target, thread, &processor, &state) ? state : '\0';
}

/* We have just slept there, so that its clock has just been read for us. Where the processor was
 * taken from us meanwhile, our clock is ahead by that, and a wait seems to have begun later: the
 * least of some tries is the best, and better than none, by which it would begin anew. */
static bool waits_compare(struct hs_waits_look *look, unsigned processor, int64_t *ret)
{
    struct timespec nap = {.tv_nsec = 1};
    uint64_t left_ns, ignored;
    cpu_set_t only;

    if (!look->has_own || processor >= CPU_SETSIZE)
        return false;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    if (sched_setaffinity(0, sizeof only, &only) != 0)
        return false;
    look->has_moved = true;
    bool is_known = false;
    uint64_t began_ns = 0;
    for (int i = 0; i < WAITS_TRIES && (i == 0 || hs_now_ns() - began_ns >= WAITS_QUICK_NS); i++) {
        began_ns = hs_now_ns();
        nanosleep(&nap, NULL);
        uint64_t now_ns = hs_now_ns();
        if (!waits_sched("/proc/thread-self/sched", &left_ns, &ignored) || left_ns == 0)
            continue;
        int64_t behind_ns = (int64_t)(now_ns - left_ns);
        *ret = !is_known || behind_ns < *ret ? behind_ns : *ret;
        is_known = true;
    }
    return is_known;
}

static bool waits_clock(struct hs_waits_look *look, unsigned processor, int64_t *ret)
{
    struct hs_wait_clock found = {.processor = processor};

    for (size_t i = 0; i < look->n_clocks; i++)
        if (look->clocks[i].processor == processor) {
            *ret = look->clocks[i].behind_ns;
            return look->clocks[i].is_known;
        }
    found.is_known = waits_compare(look, processor, &found.behind_ns);
    if (look->n_clocks < HS_WAIT_CLOCKS)
        look->clocks[look->n_clocks++] = found;
    *ret = found.behind_ns;
    return found.is_known;
}

/* False when it has run on another processor meanwhile: their clocks may be seconds apart. */
static bool waits_look_once(struct hs_waits_look *look, struct hs_thread *thread)
{
    char path[HS_PROC_PATH_BYTES], state;
    uint64_t left_ns, n_sleeps;
    unsigned processor, again;
    int64_t behind_ns;

    if (!waits_processor(look->target, thread, &processor, &state) ||
        !waits_clock(look, processor, &behind_ns))
        return true;
    waits_path(look->target, thread, "sched", path);
    if (!waits_sched(path, &left_ns, &n_sleeps) || left_ns == 0 ||
        !hs_wait_is_in_call(look->target, thread))
        return true;
    if (!waits_processor(look->target, thread, &again, &state) || processor != again)
        return false;
    if (state == WAITS_TRACED) /* it last left its processor for a signal */
        return true;
    thread->asleep_since_ns = left_ns + (uint64_t)behind_ns;
    thread->left_ns = left_ns;
    thread->n_sleeps = n_sleeps;
    return true;
}

/* The clock is compared first: what then changes while we look, the number of sleeps tells. */
void hs_waits_look_at(struct hs_waits_look *look, struct hs_thread *thread)
{
    uint64_t number, arguments[6];
    hs_addr sp;

    thread->asleep_sp = thread->asleep_since_ns = 0;
    thread->may_break_off = false;
    if (!look->is_on)
        return;
    bool is_in_call = hs_wait_call(look->target, thread, &number, arguments, &sp);
    thread->may_break_off = is_in_call && hs_call_may_break_off(number);
    if (thread->may_break_off) { /* before its sleeps are counted */
        thread->asleep_sp = sp;
        thread->asleep_stack = waits_stack(look->target, sp);
    }
    is_in_call = is_in_call && waits_is_limited(look->target, thread, number, arguments);
    for (int i = 0; i < WAITS_TRIES && is_in_call; i++) {
        if (waits_look_once(look, thread))
            return;
        is_in_call = hs_wait_is_in_call(look->target, thread);
    }
}

void hs_waits_begin(struct hs_waits_look *look, const struct hs_target *target)
{
    look->target = target;
    look->is_on = !target->options.leaves_interrupted;
    look->has_own = sched_getaffinity(0, sizeof look->own, &look->own) == 0;
    look->has_moved = false;
    look->n_clocks = 0;
}

void hs_waits_end(struct hs_waits_look *look)
{
    if (look->has_moved)
        (void)sched_setaffinity(0, sizeof look->own, &look->own);
    look->is_on = look->has_moved = false;
}

/* Tells whether the thread is still in the sleep that it was seen in, or was woken from it only by
 * the signal it stands for. */
bool hs_wait_goes_on(const struct hs_target *target, const struct hs_thread *thread)
{
    char path[HS_PROC_PATH_BYTES];
    uint64_t left_ns, n_sleeps;

    waits_path(target, thread, "sched", path);
    if (thread->asleep_since_ns == 0 || !waits_sched(path, &left_ns, &n_sleeps))
        return false;
    if (n_sleeps == thread->n_sleeps)
        return left_ns == thread->left_ns;
    return n_sleeps == thread->n_sleeps + 1 && hs_wait_state(target, thread) == WAITS_TRACED;
}

void hs_waits_look_again(struct hs_waits_look *look, struct hs_target *target)
{
    for (size_t i = 0; i < target->n_threads; i++)
        if (!hs_wait_goes_on(target, &target->threads[i]))
            hs_waits_look_at(look, &target->threads[i]);
}

bool hs_wait_count(const struct hs_target *target, const struct hs_thread *thread, uint64_t *ret)
{
    char path[HS_PROC_PATH_BYTES];
    uint64_t ignored;

    waits_path(target, thread, "sched", path);
    return waits_sched(path, &ignored, ret);
}

/* One that was not seen asleep began between the look and the interrupt. The stop is its next
 * sleep, and each signal that it stood for before: one more than that, and it has been elsewhere.
 */
uint64_t hs_wait_began(const struct hs_thread *thread, uint64_t n_sleeps)
{
    bool is_same =
        thread->asleep_since_ns != 0 && n_sleeps == thread->n_sleeps + thread->n_passed + 1;

    return is_same && thread->asleep_since_ns < thread->interrupted_ns ? thread->asleep_since_ns
                                                                       : thread->interrupted_ns;
}
