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
#define WAITS_STACK_WORDS 128 /* half of them below the stack pointer, of calls that returned */
#define WAITS_MAX_CLOCKS 64
#define WAITS_TRIES 3
#define WAITS_QUICK_NS ((uint64_t)500000) /* to compare a clock: as a rule 30 us */

struct waits_clock {
    unsigned processor;
    bool is_known;
    int64_t behind_ns; /* our clock less that of the processor */
};

struct waits_look {
    struct hs_target *target;
    cpu_set_t own; /* the processors that we may use */
    bool has_own, has_moved;
    struct waits_clock clocks[WAITS_MAX_CLOCKS];
    size_t n_clocks;
};

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

/* Of what lies around a stack pointer; 0 when nothing can be read there. */
static uint64_t waits_stack(const struct hs_target *target, hs_addr sp)
{
    uint64_t words[WAITS_STACK_WORDS];
    struct hs_memory memory = target->live;
    ssize_t n = hs_memory_read(&memory, sp - sizeof words / 2, words, sizeof words);

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

/* The processor that it last ran on: field 39 of its stat file. */
static bool waits_processor(const struct hs_target *target, const struct hs_thread *thread,
                            unsigned *ret)
{
    char path[HS_PROC_PATH_BYTES], text[WAITS_FILE_BYTES];

    waits_path(target, thread, "stat", path);
    if (!waits_read(path, text))
        return false;
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 39; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return false;
    *ret = (unsigned)strtoul(at, NULL, 10);
    return true;
}

/* We have just slept there, so that its clock has just been read for us; not where the processor
 * was taken from us meanwhile. */
static bool waits_compare(struct waits_look *look, unsigned processor, int64_t *ret)
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
    for (int i = 0; i < WAITS_TRIES; i++) {
        uint64_t began_ns = hs_now_ns();
        nanosleep(&nap, NULL);
        uint64_t now_ns = hs_now_ns();
        if (!waits_sched("/proc/thread-self/sched", &left_ns, &ignored) || left_ns == 0)
            return false;
        *ret = (int64_t)(now_ns - left_ns);
        if (hs_now_ns() - began_ns < WAITS_QUICK_NS)
            return true;
    }
    return false;
}

static bool waits_clock(struct waits_look *look, unsigned processor, int64_t *ret)
{
    struct waits_clock found = {.processor = processor};

    for (size_t i = 0; i < look->n_clocks; i++)
        if (look->clocks[i].processor == processor) {
            *ret = look->clocks[i].behind_ns;
            return look->clocks[i].is_known;
        }
    found.is_known = waits_compare(look, processor, &found.behind_ns);
    if (look->n_clocks < WAITS_MAX_CLOCKS)
        look->clocks[look->n_clocks++] = found;
    *ret = found.behind_ns;
    return found.is_known;
}

/* False when it has run on another processor meanwhile: their clocks may be seconds apart. */
static bool waits_look_once(struct waits_look *look, struct hs_thread *thread)
{
    char path[HS_PROC_PATH_BYTES];
    uint64_t left_ns, n_sleeps;
    unsigned processor, again;
    int64_t behind_ns;

    if (!waits_processor(look->target, thread, &processor) ||
        !waits_clock(look, processor, &behind_ns))
        return true;
    waits_path(look->target, thread, "sched", path);
    if (!waits_sched(path, &left_ns, &n_sleeps) || left_ns == 0 ||
        !hs_wait_is_in_call(look->target, thread))
        return true;
    if (!waits_processor(look->target, thread, &again) || processor != again)
        return false;
    thread->asleep_since_ns = left_ns + (uint64_t)behind_ns;
    thread->n_sleeps = n_sleeps;
    return true;
}

/* The clock is compared first: what then changes while we look, the number of sleeps tells. */
static void waits_look_at(struct waits_look *look, struct hs_thread *thread)
{
    uint64_t number, arguments[6];
    hs_addr sp;

    bool is_in_call = hs_wait_call(look->target, thread, &number, arguments, &sp);
    thread->asleep_sp = 0;
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

void hs_waits_look(struct hs_target *target)
{
    struct waits_look look = {.target = target};

    look.has_own = sched_getaffinity(0, sizeof look.own, &look.own) == 0;
    for (size_t i = 0; i < target->n_threads; i++)
        waits_look_at(&look, &target->threads[i]);
    if (look.has_moved)
        (void)sched_setaffinity(0, sizeof look.own, &look.own);
}

bool hs_wait_count(const struct hs_target *target, const struct hs_thread *thread, uint64_t *ret)
{
    char path[HS_PROC_PATH_BYTES];
    uint64_t ignored;

    waits_path(target, thread, "sched", path);
    return waits_sched(path, &ignored, ret);
}

/* One that was not seen asleep began between the look and the interrupt. The stop is its next
 * sleep: one more than that, and it has been elsewhere. */
uint64_t hs_wait_began(const struct hs_thread *thread, uint64_t n_sleeps)
{
    bool is_same = thread->asleep_since_ns != 0 && n_sleeps == thread->n_sleeps + 1;

    return is_same && thread->asleep_since_ns < thread->interrupted_ns ? thread->asleep_since_ns
                                                                       : thread->interrupted_ns;
}
