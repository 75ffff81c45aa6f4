#include "run.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "base/units.h"
#include "growth.h"
#include "kept_keys.h"
#include "target/procfs.h"
#include "tool.h"

/* A dump that was asked to end gets so long to let go and to clean up. */
enum { PATIENCE_MS = 20000 };
/* And a profile, at the end of the process, to arrive. */
enum { PUSH_PATIENCE_MS = 5000 };
#define NS_PER_S ((uint64_t)1000000000)

/* ---- looking ---- */

uint64_t hs_watch_wall_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int64_t wall_s(void)
{
    return (int64_t)(hs_watch_wall_ms() / 1000);
}

bool hs_watch_is_gone(int target_fd)
{
    struct pollfd ended = {.fd = target_fd, .events = POLLIN};
    return poll(&ended, 1, 0) == 1;
}

bool hs_watch_is_traced(pid_t pid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t tracer = 0;
    return hs_proc_read_of(pid, "status", &text, &n, &ignored) == HS_OK &&
           hs_proc_number(text, "TracerPid", 10, &tracer) && tracer != 0;
}

/* The second number of statm, in pages. */
uint64_t hs_watch_rss_bytes(pid_t pid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t n_pages;

    if (hs_proc_read_of(pid, "statm", &text, &n, &ignored) != HS_OK)
        return 0;
    char *second = text + strcspn(text, " ");
    second += *second == ' ';
    second[strcspn(second, " \n")] = '\0';
    if (hs_parse_count(second, &n_pages, &ignored) != HS_OK)
        return 0;
    return n_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- talking ---- */

static void talk_skip(struct hs_watch *watch, const char *why, uint64_t n_ticks)
{
    struct hs_watch_line line;
    hs_watch_line_begin(&line, wall_s(), "skip");
    hs_watch_line_u64(&line, "ticks", n_ticks);
    hs_watch_line_text(&line, "why", why);
    hs_watch_log_put(&watch->log, &line);
}

void hs_watch_talk_end(struct hs_watch *watch, const char *why)
{
    struct hs_watch_line line;
    hs_watch_line_begin(&line, wall_s(), "end");
    hs_watch_line_u64(&line, "pid", (uint64_t)watch->pid);
    hs_watch_line_text(&line, "why", why);
    hs_watch_log_put(&watch->log, &line);
}

/* The outcome of a dump. */
struct found {
    bool stays;
    size_t n_removed;
    const struct hs_watch_condition *why; /* of a rate; NULL: none holds */
    struct hs_watch_rate rate;
};

static void talk_rate(struct hs_watch_line *line, const struct found *found)
{
    char text[HS_WATCH_CONDITION_BYTES];
    if (found->why != NULL) {
        hs_watch_condition_describe(found->why, text);
        hs_watch_line_text(line, "when", text);
    }
    if (found->rate.bytes_per_hour <= 0)
        return;
    hs_watch_line_u64(line, "bytes_per_hour",
                      (uint64_t)fmin(found->rate.bytes_per_hour, (double)INT64_MAX));
    hs_watch_line_text(line, "key", found->rate.key);
}

/* Logs a dump that stays, or one of which only the keys do. */
static void talk_dump(struct hs_watch *watch, const struct hs_watch_outcome *outcome,
                      const struct found *found)
{
    static const char *const ways[] = {[HS_WAY_READ] = "read",
                                       [HS_WAY_COPY] = "copy",
                                       [HS_WAY_CORE] = "core",
                                       [HS_WAY_STOPPED] = "stopped"};
    const struct hs_watch_dump *dump = &watch->dump;
    const struct hs_dump_report *report = &outcome->report;
    struct hs_watch_line line;

    hs_watch_line_begin(&line, wall_s(), found->stays ? "dump" : "look");
    hs_watch_line_text(&line, "file", dump->name);
    hs_watch_line_u64(&line, "pause_ns", report->pause_ns);
    hs_watch_line_u64(&line, "blocks", report->totals.n_blocks - report->totals.n_static_blocks);
    hs_watch_line_u64(&line, "words", report->totals.heap_words);
    hs_watch_line_u64(&line, "rss_bytes", dump->rss_bytes);
    hs_watch_line_u64(&line, "file_bytes", report->totals.file_bytes);
    hs_watch_line_u64(&line, "duration_ns", outcome->ended_ns - dump->began_ns);
    if (report->stop.way <= HS_WAY_STOPPED && ways[report->stop.way] != NULL)
        hs_watch_line_text(&line, "stop", ways[report->stop.way]);
    if (watch->n_missed != 0)
        hs_watch_line_u64(&line, "missed", watch->n_missed);
    hs_watch_line_u64(&line, "removed", found->n_removed);
    if (!report->is_exact)
        hs_watch_line_text(&line, "not_exact", report->note);
    talk_rate(&line, found);
    hs_watch_log_put(&watch->log, &line);
}

static void talk_fail(struct hs_watch *watch, const struct hs_error *error, uint64_t retry_ns)
{
    struct hs_watch_line line;
    hs_watch_line_begin(&line, wall_s(), "fail");
    hs_watch_line_text(&line, "file", watch->dump.name);
    hs_watch_line_u64(&line, "rss_bytes", watch->dump.rss_bytes);
    hs_watch_line_u64(&line, "duration_ns", hs_now_ns() - watch->dump.began_ns);
    if (retry_ns != 0)
        hs_watch_line_u64(&line, "retry_ns", retry_ns);
    hs_watch_line_u64(&line, "exit", (uint64_t)hs_exit_code(error->status));
    hs_watch_line_text(&line, "why", error->message);
    if (error->hint[0] != '\0')
        hs_watch_line_text(&line, "hint", error->hint);
    hs_watch_log_put(&watch->log, &line);
}

/* ---- a dump ---- */

/* Logs what is no failure of a dump, and yet worth a line. */
static void warn(struct hs_watch *watch, const struct hs_error *error)
{
    struct hs_watch_line line;
    hs_watch_line_begin(&line, wall_s(), "warn");
    hs_watch_line_text(&line, "why", error->message);
    hs_watch_log_put(&watch->log, &line);
}

/* Numbers of files that are there are never used again, whoever made them. */
static bool list_series(struct hs_watch *watch)
{
    struct hs_error err = HS_ERROR_INIT;
    if (hs_watch_series_scan(watch->dir_fd, watch->state.first_number, &watch->series, &err) !=
        HS_OK) {
        warn(watch, &err);
        return false;
    }
    if (watch->state.next_number <= watch->series.max_number)
        watch->state.next_number = watch->series.max_number + 1;
    return true;
}

/* Logs what could not be made of the dump; and what grew, when that is asked for. */
static void tell_after(struct hs_watch *watch, const char *warning)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_status status = HS_OK;
    if (warning[0] != '\0')
        status = hs_fail(&err, HS_LIMIT, "%s", warning);
    else if (hs_given(watch->inv, HS_OPT_WATCH_DIFF))
        status = hs_watch_growth_tell(watch->dir_fd, watch->state.first_number, &watch->log, &err);
    if (status != HS_OK)
        warn(watch, &err);
}

/* Judges a dump that was made to know what grows. */
static void judge_look(struct hs_watch *watch, struct found *found)
{
    struct hs_error err = HS_ERROR_INIT;
    if (hs_watch_growth_rate(watch->dir_fd, watch->state.first_number, &found->rate, &err) != HS_OK)
        warn(watch, &err);
    found->why = hs_watch_when_grows(&watch->when, found->rate.bytes_per_hour);
    found->stays = found->why != NULL;
    if (!found->stays)
        hs_watch_series_remove_one(watch->dir_fd, watch->dump.name);
}

/* Removes what is too old. */
static size_t prune(struct hs_watch *watch)
{
    struct hs_error err = HS_ERROR_INIT;
    size_t n_keys, n = 0;
    if (list_series(watch))
        n = hs_watch_series_remove(
            watch->dir_fd, &watch->series,
            hs_watch_series_excess(&watch->series, watch->keep, watch->keep_bytes));
    if (hs_watch_keys_thin(watch->dir_fd, watch->state.first_number, &n_keys, &err) != HS_OK)
        warn(watch, &err);
    return n;
}

static void dump_succeeded(struct hs_watch *watch, const struct hs_watch_outcome *outcome)
{
    struct hs_error err = HS_ERROR_INIT;
    struct found found = {.stays = true};

    watch->has_dumped = true;
    hs_watch_plan_succeeded(&watch->plan);
    if (outcome->is_cut)
        hs_watch_series_remove_index(watch->dir_fd, watch->dump.name);
    if (watch->dump.is_look)
        judge_look(watch, &found);
    watch->state.next_number++;
    watch->state.last_file_bytes = outcome->report.totals.file_bytes;
    if (found.stays)
        watch->state.last_rss_bytes = watch->base_rss_bytes = watch->dump.rss_bytes;
    found.n_removed = prune(watch);
    talk_dump(watch, outcome, &found);
    if (hs_watch_state_write(watch->dir_fd, &watch->state, &err) != HS_OK)
        warn(watch, &err);
    tell_after(watch, outcome->warning);
}

/* Tells whether a failure is final: it will not go away by itself, and nothing was dumped yet. */
static bool is_final(const struct hs_watch *watch, hs_status status)
{
    bool is_first = watch->state.last_file_bytes == 0 && watch->plan.n_failures == 0;
    if (!is_first || (status != HS_TARGET && status != HS_USAGE))
        return false;
    return status == HS_USAGE ||
           (!hs_watch_is_gone(watch->target_fd) && !hs_watch_is_traced(watch->pid));
}

static hs_status dump_failed(struct hs_watch *watch, const struct hs_error *error,
                             struct hs_error *err)
{
    (void)hs_watch_neighbours_remove(watch->dir_fd);
    (void)list_series(watch); /* one that was killed behind its rename left a whole file */
    if (is_final(watch, error->status)) {
        talk_fail(watch, error, 0);
        hs_watch_talk_end(watch, "the first dump was refused");
        *err = *error;
        return error->status;
    }
    uint64_t n_ticks = hs_watch_plan_failed(&watch->plan);
    bool is_over = hs_watch_is_gone(watch->target_fd);
    talk_fail(watch, error, is_over ? 0 : n_ticks * watch->plan.every_ns);
    return HS_OK;
}

static void close_profile(struct hs_watch *watch)
{
    if (watch->dump.profile_fd >= 0)
        (void)close(watch->dump.profile_fd);
    watch->dump.profile_fd = -1;
}

static hs_status collect(struct hs_watch *watch, struct hs_error *err)
{
    struct hs_watch_outcome outcome;
    hs_watch_dump_collect(&watch->dump, &outcome);
    if (outcome.status != HS_OK) {
        close_profile(watch);
        return dump_failed(watch, &outcome.error, err);
    }
    dump_succeeded(watch, &outcome);
    if (!outcome.is_cut)
        hs_watch_push_start(&watch->push, watch->dump.profile_fd, (uint64_t)wall_s());
    close_profile(watch);
    return HS_OK;
}

static hs_status begin_dump(struct hs_watch *watch, uint64_t rss_bytes, bool is_look,
                            struct hs_error *err)
{
    struct hs_error error = HS_ERROR_INIT;
    uint64_t now_ms = hs_watch_wall_ms();

    hs_watch_name_format((int64_t)(now_ms / 1000), watch->state.next_number, watch->dump.name);
    watch->dump.rss_bytes = rss_bytes;
    watch->dump.is_look = is_look;
    watch->dump.began_ns = hs_now_ns();
    watch->n_missed = 0;
    watch->state.last_ms = now_ms;
    if (watch->state.next_number > HS_WATCH_MAX_NUMBER)
        return hs_fail(err, HS_IO, "cannot number another snapshot: %llu was the last",
                       (unsigned long long)HS_WATCH_MAX_NUMBER);
    watch->dump.profile_fd = hs_watch_push_file(&watch->push);
    if (hs_watch_dump_start(watch->inv, watch->dir_fd, watch->target_fd, &watch->dump, &error) !=
        HS_OK) {
        close_profile(watch);
        return dump_failed(watch, &error, err);
    }
    return HS_OK;
}

/* ---- ticks ---- */

static bool has_room(struct hs_watch *watch)
{
    char text[160], free_text[HS_UNIT_TEXT_BYTES], last_text[HS_UNIT_TEXT_BYTES];
    uint64_t free_bytes = hs_watch_free_bytes(watch->dir_fd);
    uint64_t last_bytes = watch->state.last_file_bytes;

    if (hs_watch_has_room(free_bytes, last_bytes))
        return true;
    hs_format_bytes(free_bytes, free_text);
    hs_format_bytes(last_bytes, last_text);
    (void)snprintf(text, sizeof text, "the disk has %s free, and the last snapshot took %s",
                   free_text, last_text);
    talk_skip(watch, text, 1);
    return false;
}

/* Counts missed ticks, and tells once for each dump that it takes longer; how many there were
 * stands with what it gives. */
static void miss_ticks(struct hs_watch *watch, uint64_t n_ticks)
{
    if (watch->n_missed == 0)
        talk_skip(watch,
                  "the dump before is still at work: it takes longer than --every, and the next "
                  "begins when it is done",
                  n_ticks);
    watch->n_missed += n_ticks;
}

static hs_status on_ticks(struct hs_watch *watch, uint64_t n_ticks, struct hs_error *err)
{
    bool is_busy = watch->dump.pid != 0;

    if (is_busy)
        miss_ticks(watch, n_ticks);
    else if (n_ticks > 1)
        talk_skip(watch, "woken too late", n_ticks - 1);
    if (is_busy || !hs_watch_plan_may_try(&watch->plan, n_ticks))
        return HS_OK;
    uint64_t rss_bytes = hs_watch_rss_bytes(watch->pid);
    bool is_look = watch->when.n != 0 &&
                   hs_watch_when_holds(&watch->when, rss_bytes, watch->base_rss_bytes) == NULL;
    if (is_look && !hs_watch_when_needs_keys(&watch->when))
        return HS_OK;
    return has_room(watch) ? begin_dump(watch, rss_bytes, is_look, err) : HS_OK;
}

/* Waits until something happens; true when a signal asks for the end, whose number is
 * *ret_signal. */
static bool wait_for_event(struct hs_watch *watch, int *ret_signal)
{
    uint64_t wait_ns = hs_watch_plan_wait_ns(&watch->plan, hs_now_ns());
    struct timespec timeout = {(time_t)(wait_ns / NS_PER_S), (long)(wait_ns % NS_PER_S)};
    bool is_busy = watch->dump.pid != 0;
    struct pollfd events[] = {
        {.fd = watch->signal_fd, .events = POLLIN},
        /* A dump may still be made of a process that has just ended. */
        {.fd = is_busy ? watch->dump.pidfd : watch->target_fd, .events = POLLIN},
        {.fd = hs_watch_push_fd(&watch->push), .events = POLLIN},
    };
    struct signalfd_siginfo signal;

    if (ppoll(events, sizeof events / sizeof *events, &timeout, NULL) <= 0 ||
        events[0].revents == 0)
        return false;
    if (read(watch->signal_fd, &signal, sizeof signal) != (ssize_t)sizeof signal)
        return false;
    *ret_signal = (int)signal.ssi_signo;
    return true;
}

static bool dump_has_ended(const struct hs_watch *watch)
{
    struct pollfd ended = {.fd = watch->dump.pidfd, .events = POLLIN};
    return watch->dump.pid != 0 && poll(&ended, 1, 0) == 1;
}

/* Waits until the dump has ended, its time is over, or another signal comes; true when it has. */
static bool await_dump(struct hs_watch *watch)
{
    struct pollfd events[] = {{.fd = watch->dump.pidfd, .events = POLLIN},
                              {.fd = watch->signal_fd, .events = POLLIN}};
    struct signalfd_siginfo signal;

    while (poll(events, 2, PATIENCE_MS) < 0 && errno == EINTR)
        ;
    if (events[1].revents != 0)
        (void)!read(watch->signal_fd, &signal, sizeof signal);
    return events[0].revents != 0;
}

/* The first one is waited for: without it the watch was for nothing. Else a dump that is at work
 * lets go of its target and removes what it wrote; one that does not within its time, or after
 * another signal, is killed. */
static void end_dump(struct hs_watch *watch)
{
    struct hs_watch_outcome outcome;
    bool has_ended = false;

    if (!watch->has_dumped) {
        talk_skip(watch,
                  "the end was asked for; the first dump is finished, or ended by another "
                  "signal",
                  0);
        has_ended = await_dump(watch);
    }
    if (!has_ended) {
        hs_watch_dump_signal(&watch->dump, SIGTERM);
        if (!await_dump(watch))
            hs_watch_dump_signal(&watch->dump, SIGKILL);
    }
    hs_watch_dump_collect(&watch->dump, &outcome);
    if (outcome.status == HS_OK) {
        dump_succeeded(watch, &outcome);
        return;
    }
    (void)hs_watch_neighbours_remove(watch->dir_fd);
    talk_skip(watch, "the end was asked for while it was dumped", 1);
}

static void end_by_signal(struct hs_watch *watch, int signal)
{
    char why[32];
    if (watch->dump.pid != 0)
        end_dump(watch);
    close_profile(watch);
    hs_watch_push_end(&watch->push, 0, -1);
    (void)snprintf(why, sizeof why, "SIG%s", sigabbrev_np(signal));
    hs_watch_talk_end(watch, why);
}

hs_status hs_watch_run(struct hs_watch *watch, struct hs_error *err)
{
    int signal = 0;
    for (;;) {
        if (dump_has_ended(watch))
            HS_TRY(collect(watch, err));
        hs_watch_push_collect(&watch->push);
        if (watch->dump.pid == 0 && hs_watch_is_gone(watch->target_fd)) {
            hs_watch_push_end(&watch->push, PUSH_PATIENCE_MS, watch->signal_fd);
            hs_watch_talk_end(watch, "the process has ended");
            return HS_OK;
        }
        uint64_t n_ticks = hs_watch_plan_take(&watch->plan, hs_now_ns());
        if (n_ticks != 0)
            HS_TRY(on_ticks(watch, n_ticks, err));
        if (wait_for_event(watch, &signal)) {
            end_by_signal(watch, signal);
            return HS_OK;
        }
    }
}

void hs_watch_fini(struct hs_watch *watch)
{
    int *const fds[] = {&watch->dir_fd, &watch->target_fd, &watch->signal_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            (void)close(*fds[i]);
        *fds[i] = -1;
    }
    hs_watch_series_fini(&watch->series);
}
