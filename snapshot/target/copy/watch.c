/* While a copy is read, its process runs: it may end, become another program, or grow, because
 * every page that it writes for the first time is there twice from then on.
 *
 * What is looked at often is cheap: how many page faults it has had (every page that comes to be
 * there twice is one), and what is available at least. Only where these do not suffice the true
 * figures are asked for, which walk page tables and count a group's pages: a share of the time. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/budget.h"
#include "base/progress.h"
#include "base/units.h"
#include "copy_private.h"
#include "live/witness.h"
#include "target/procfs.h"

#define WATCH_END_NS ((uint64_t)2000000000)
#define WATCH_EVERY_NS ((uint64_t)5000000)
#define WATCH_IDENTITY_NS ((uint64_t)100000000)
/* Cheap looks take at most a twentieth of the time, and dear ones at most a fifth; a half where the
 * cheap ones say that it grows too much. */
#define WATCH_CHEAP_SHARE 20
#define WATCH_DEAR_SHARE 5
#define WATCH_URGENT_SHARE 2
#define WATCH_PAGE 4096
/* The memory that must be left to the process and the machine: one part in so many of what there
 * was, within these bounds. The lower one is what a process may write between two looks. */
#define WATCH_RESERVE_SHARE 16
#define WATCH_RESERVE_MIN ((uint64_t)16 << 20)
#define WATCH_RESERVE_MAX ((uint64_t)1 << 30)

/* Returns the processor time of this thread, in ns: what a busy machine keeps us waiting for is no
 * reason to look less often. */
static uint64_t watch_spent_ns(void)
{
    struct timespec spent = {0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return (uint64_t)spent.tv_sec * 1000000000 + (uint64_t)spent.tv_nsec;
}

static hs_status watch_failed(struct hs_copy *copy, struct hs_error *err)
{
    *err = copy->failure;
    return err->status;
}

void hs_copy_give_up(struct hs_copy *copy)
{
    if (copy->is_ended)
        return;
    hs_copy_readers_end(copy);
    hs_witness_guard_room(0);
    hs_memory_close(&copy->memory);
    (void)hs_copy_kill(copy->memory.pid, hs_now_ns() + WATCH_END_NS); /* late: it ends with us */
    copy->is_ended = true;
}

static bool watch_has_ended(const struct hs_target *target)
{
    struct pollfd ended = {.fd = target->pidfd, .events = POLLIN};

    return target->pidfd >= 0 && poll(&ended, 1, 0) == 1;
}

/* Is the process still the program that was copied? It is waited for as long as that is unknown. */
static hs_status watch_identity(const struct hs_target *target, struct hs_error *err)
{
    struct hs_identity now;

    hs_status status = hs_target_identify(target->pid, &now, err);
    if (status == HS_LIMIT)
        return status;
    if (status != HS_OK || now.start_time != target->identity.start_time || watch_has_ended(target))
        return hs_fail(err, HS_TARGET, "it ended during the dump");
    if (hs_identity_equal(&now, &target->identity))
        return HS_OK;
    (void)hs_fail(err, HS_TARGET, "it executed another program during the dump");
    return hs_hint(err, "try again");
}

/* One number of a file of /proc in KiB; 0 when it is not there: of a process that ends. */
static bool watch_numbers(pid_t pid, const char *name, const char *const keys[2], uint64_t *ret)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t sum = 0;

    if (hs_proc_read_of(pid, name, &text, &n, &ignored) != HS_OK)
        return false;
    for (int i = 0; i < 2; i++) {
        uint64_t kilobytes = 0;
        if (keys[i] != NULL && hs_proc_number(text, keys[i], 10, &kilobytes))
            sum += kilobytes;
    }
    *ret = sum * 1024;
    return true;
}

/* Measures the growth in bytes: memory that only the copy still has was written to by the process
 * since, or given back, and the latter is no growth. The copy's resident size is what both had when
 * it was made. False when the system does not tell. */
static bool watch_growth_bytes(const struct hs_target *target, uint64_t *ret)
{
    static const char *const own[2] = {"Private_Dirty", "Private_Clean"};
    static const char *const resident[2] = {"RssAnon", NULL};
    pid_t copy = target->copy->memory.pid;
    uint64_t of_copy, then, now = 0;

    if (!watch_numbers(copy, "smaps_rollup", own, &of_copy) ||
        !watch_numbers(copy, "status", resident, &then))
        return false;
    (void)watch_numbers(target->pid, "status", resident, &now);
    uint64_t given_back = then > now ? then - now : 0;
    *ret = of_copy > given_back ? of_copy - given_back : 0;
    return true;
}

static hs_status watch_too_much(const struct hs_target *target, struct hs_error *err)
{
    const struct hs_copy_watch *watch = &target->copy->watch;
    char grown[HS_UNIT_TEXT_BYTES], limit[HS_UNIT_TEXT_BYTES], within[HS_UNIT_TEXT_BYTES];

    hs_format_bytes(watch->growth_bytes, grown);
    hs_format_bytes(target->options.max_growth_bytes, limit);
    hs_format_duration(watch->growth_at_ns - watch->began_ns, within);
    snprintf(target->copy->why_given_up, sizeof target->copy->why_given_up,
             "a copy made it grow by %s in %s, %s are allowed", grown, within, limit);
    (void)hs_fail(err, HS_LIMIT,
                  "gave up the copy of process '%d': it had made it grow by %s in %s, %s are "
                  "allowed",
                  target->pid, grown, within, limit);
    return hs_hint(err, "allow more with --max-growth, or use --stop read");
}

void hs_copy_measure(struct hs_target *target)
{
    struct hs_copy_watch *watch = &target->copy->watch;
    uint64_t spent_ns = watch_spent_ns(), then_ns = watch->growth_at_ns, growth;

    watch->faults_then = watch->faults_now;
    watch->growth_at_ns = hs_now_ns();
    if (watch_growth_bytes(target, &growth)) {
        uint64_t more = growth > watch->growth_bytes ? growth - watch->growth_bytes : 0;
        watch->growth_pace = (double)more / (double)(watch->growth_at_ns - then_ns + 1);
        watch->growth_bytes = growth;
        if (growth > target->report.growth_bytes)
            target->report.growth_bytes = growth;
    }
    watch->growth_cost_ns = watch_spent_ns() - spent_ns;
    watch->dear_ns += watch->growth_cost_ns;
}

/* Reads how many page faults all its threads have had since the process began; *faults is unchanged
 * when it has ended. */
static void watch_faults(const struct hs_target *target, uint64_t *faults)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_proc_stat stat;

    if (hs_proc_stat_of(target->pid, 0, &stat, &ignored) == HS_OK)
        *faults = stat.n_faults;
}

/* Is a dear look due, whose last one ended at and took so long? */
static bool watch_is_due(uint64_t at_ns, uint64_t cost_ns, unsigned share)
{
    return hs_now_ns() - at_ns >= share * cost_ns;
}

/* A limit that is noticed when it is passed is passed by what is written between two looks: it is
 * kept by who reckons that the time to the next look is like that since the last. */
static hs_status watch_growth(struct hs_target *target, struct hs_error *err)
{
    struct hs_copy_watch *watch = &target->copy->watch;
    uint64_t limit = target->options.max_growth_bytes, faults_last = watch->faults_now;

    if (limit == 0)
        return HS_OK;
    watch_faults(target, &watch->faults_now);
    uint64_t n_faults = watch->faults_now - watch->faults_then;
    uint64_t n_ahead = watch->faults_now - faults_last;
    bool is_small = watch->growth_bytes <= limit &&
                    n_faults + n_ahead <= (limit - watch->growth_bytes) / WATCH_PAGE;
    /* A fault may be of a huge page: what looks small is measured now and then all the same. */
    if (is_small && hs_now_ns() - watch->growth_at_ns < WATCH_IDENTITY_NS)
        return HS_OK;
    if (!watch_is_due(watch->growth_at_ns, watch->growth_cost_ns,
                      is_small ? WATCH_DEAR_SHARE : WATCH_URGENT_SHARE))
        return HS_OK;
    hs_copy_measure(target);
    uint64_t ahead_ns = hs_now_ns() - watch->watched_ns;
    return (double)watch->growth_bytes + watch->growth_pace * (double)ahead_ns <= (double)limit
               ? HS_OK
               : watch_too_much(target, err);
}

static hs_status watch_no_room(const struct hs_target *target, uint64_t room, struct hs_error *err)
{
    char left[HS_UNIT_TEXT_BYTES];

    hs_format_bytes(room, left);
    snprintf(target->copy->why_given_up, sizeof target->copy->why_given_up,
             "only %s were left to it beside a copy", left);
    (void)hs_fail(err, HS_LIMIT,
                  "gave up the copy of process '%d': only %s of memory are left to it", target->pid,
                  left);
    return hs_hint(err, "try again when it writes less, or use --stop read");
}

static hs_status watch_room(struct hs_target *target, struct hs_error *err)
{
    struct hs_copy_watch *watch = &target->copy->watch;

    if (hs_memory_available_at_least(&watch->groups) >= watch->reserve_bytes ||
        !watch_is_due(watch->room_at_ns, watch->room_cost_ns, WATCH_DEAR_SHARE))
        return HS_OK;
    uint64_t spent_ns = watch_spent_ns(), room = hs_memory_available_to(target->pid);
    watch->room_at_ns = hs_now_ns();
    watch->room_cost_ns = watch_spent_ns() - spent_ns;
    watch->dear_ns += watch->room_cost_ns;
    return room >= watch->reserve_bytes ? HS_OK : watch_no_room(target, room, err);
}

static hs_status watch_all(struct hs_target *target, struct hs_error *err)
{
    struct hs_copy_watch *watch = &target->copy->watch;

    if (watch_has_ended(target) || hs_now_ns() - watch->identity_ns >= WATCH_IDENTITY_NS) {
        HS_TRY(watch_identity(target, err));
        watch->identity_ns = hs_now_ns();
    }
    HS_TRY(watch_growth(target, err));
    return watch_room(target, err);
}

void hs_copy_watch_begin(struct hs_target *target)
{
    struct hs_copy_watch *watch = &target->copy->watch;
    uint64_t room = target->copy_plan->room_bytes, reserve = room / WATCH_RESERVE_SHARE;

    if (reserve > WATCH_RESERVE_MAX)
        reserve = WATCH_RESERVE_MAX;
    if (reserve < WATCH_RESERVE_MIN)
        reserve = WATCH_RESERVE_MIN;
    watch->groups = target->copy_plan->groups;
    watch->reserve_bytes = reserve;
    watch->began_ns = watch->watched_ns = watch->growth_at_ns = watch->identity_ns = hs_now_ns();
    watch_faults(target, &watch->faults_then);
    watch->faults_now = watch->faults_then;
}

hs_status hs_copy_watch(struct hs_target *target, struct hs_error *err)
{
    struct hs_copy *copy = target->copy;
    uint64_t now_ns = hs_now_ns();

    if (copy->failure.status != HS_OK)
        return watch_failed(copy, err);
    uint64_t every_ns = WATCH_CHEAP_SHARE * copy->watch.cost_ns;
    if (every_ns < WATCH_EVERY_NS)
        every_ns = WATCH_EVERY_NS;
    if (!watch_has_ended(target) && now_ns - copy->watch.watched_ns < every_ns)
        return HS_OK;
    uint64_t spent_ns = watch_spent_ns();
    copy->watch.dear_ns = 0;
    hs_status status = watch_all(target, err);
    copy->watch.watched_ns = hs_now_ns();
    copy->watch.cost_ns = watch_spent_ns() - spent_ns - copy->watch.dear_ns;
    if (status == HS_OK)
        return HS_OK;
    copy->failure = *err;
    hs_copy_give_up(copy);
    return status;
}
