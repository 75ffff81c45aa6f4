/* watch: a series of snapshots of one process, until it ends. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "after.h"
#include "base/alloc.h"
#include "base/progress.h"
#include "commands.h"
#include "dump_run.h"
#include "own_directory.h"
#include "run.h"
#include "stop_options.h"
#include "target/procfs.h"
#include "target/target.h"

#define DEFAULT_EVERY_NS ((uint64_t)600 * 1000000000)
enum { DEFAULT_KEEP = 24 };

/* ---- what is asked for ---- */

static hs_status parse_every(const struct hs_invocation *inv, uint64_t *ret, struct hs_error *err)
{
    uint64_t every_ns = hs_given(inv, HS_OPT_EVERY) ? inv->number[HS_OPT_EVERY] : DEFAULT_EVERY_NS;
    if (every_ns < HS_WATCH_MIN_EVERY_NS || every_ns > HS_WATCH_MAX_EVERY_NS) {
        (void)hs_fail(err, HS_USAGE, "--every: '%s' is not from 1ms to 366 days",
                      inv->text[HS_OPT_EVERY]);
        return hs_hint(err, "write for example 10m or 1h");
    }
    *ret = every_ns;
    return HS_OK;
}

static hs_status check_keys(const struct hs_invocation *inv, const struct hs_watch *watch,
                            struct hs_error *err)
{
    if (!hs_given(inv, HS_OPT_NO_KEYS))
        return HS_OK;
    if (hs_given(inv, HS_OPT_WATCH_DIFF))
        return hs_fail(err, HS_USAGE, "--diff compares the keys that --no-keys does without");
    if (hs_watch_when_needs_keys(&watch->when))
        return hs_fail(err, HS_USAGE,
                       "--when 'growing>...' asks the keys that --no-keys does "
                       "without");
    return HS_OK;
}

/* Tells whether an option also names a profile that is pushed. */
static bool is_name(enum hs_option_id id)
{
    return id == HS_OPT_HOST || id == HS_OPT_SERVICE;
}

/* The names in the layout are looked at when it is first written, which is late. */
static hs_status check_tables(const struct hs_invocation *inv, struct hs_error *err)
{
    static const enum hs_option_id of_tables[] = {HS_OPT_TABLES, HS_OPT_HOST, HS_OPT_SERVICE,
                                                  HS_OPT_NO_ADDRESSES};
    bool has_export = hs_given(inv, HS_OPT_WATCH_EXPORT);
    if (has_export && inv->number[HS_OPT_WATCH_EXPORT] == HS_WATCH_PARQUET)
        return HS_OK;
    for (size_t i = 0; i < sizeof of_tables / sizeof *of_tables; i++)
        if (hs_given(inv, of_tables[i]) &&
            !(is_name(of_tables[i]) && (has_export || hs_given(inv, HS_OPT_PUSH))))
            return hs_fail(err, HS_USAGE, "--%s says something of the tables of --export parquet",
                           hs_options[of_tables[i]].name);
    return HS_OK;
}

/* Parses all options, also those that only the dumps use: a slip is told before anything is begun.
 */
static hs_status parse_options(const struct hs_invocation *inv, struct hs_watch *watch,
                               struct hs_error *err)
{
    const char *when[HS_MAX_REPEATED];
    size_t n_when = hs_repeated(inv, HS_OPT_WHEN, when);
    struct hs_dump_options ignored = {0};

    HS_TRY(hs_pid_parse(inv->arguments[0], &watch->pid, err));
    HS_TRY(hs_stop_options_parse(inv, &ignored, err));
    HS_TRY(parse_every(inv, &watch->every_ns, err));
    for (size_t i = 0; i < n_when; i++)
        HS_TRY(hs_watch_when_add(&watch->when, when[i], err));
    HS_TRY(check_keys(inv, watch, err));
    HS_TRY(check_tables(inv, err));
    watch->keep = hs_given(inv, HS_OPT_KEEP) ? inv->number[HS_OPT_KEEP] : DEFAULT_KEEP;
    watch->keep_bytes = hs_given(inv, HS_OPT_KEEP_BYTES) ? inv->number[HS_OPT_KEEP_BYTES] : 0;
    if (hs_given(inv, HS_OPT_SERIES_DIR))
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "watch needs a directory for its snapshots");
    return hs_hint(err, "heapsnap watch %s -o DIR", inv->arguments[0]);
}

/* ---- whom ---- */

/* Refusals that do not pass are told now, not when a condition first holds in a week. */
static hs_status check_target(pid_t pid, struct hs_error *err)
{
    struct hs_target target;
    hs_status status = hs_target_open(pid, &target, err);
    if (status == HS_OK)
        hs_target_close(&target);
    if (status != HS_TARGET)
        return status;
    return hs_watch_is_traced(pid) ? HS_OK : hs_context(err, "cannot dump process '%d'", pid);
}

/* The start time is of the process behind the descriptor when that still runs afterwards. */
static hs_status open_target(struct hs_watch *watch, struct hs_error *err)
{
    struct hs_proc_stat stat;
    hs_auto_free char *boot_id = NULL;
    size_t n;

    HS_TRY(check_target(watch->pid, err));
    watch->target_fd = (int)syscall(SYS_pidfd_open, watch->pid, 0);
    if (watch->target_fd < 0)
        return hs_fail_errno(err, HS_TARGET, "cannot watch process '%d'", watch->pid);
    HS_TRY(hs_proc_stat_of(watch->pid, 0, &stat, err));
    HS_TRY(hs_proc_read("/proc/sys/kernel/random/boot_id", &boot_id, &n, err));
    if (hs_watch_is_gone(watch->target_fd))
        return hs_fail(err, HS_TARGET, "cannot watch process '%d': it has ended", watch->pid);
    boot_id[strcspn(boot_id, "\n")] = '\0';
    watch->state.pid = (uint64_t)watch->pid;
    watch->state.start_time = stat.start_time;
    (void)snprintf(watch->state.boot_id, sizeof watch->state.boot_id, "%s", boot_id);
    return HS_OK;
}

/* ---- where ---- */

static void talk_start(struct hs_watch *watch, const char *why, size_t n_swept)
{
    struct hs_watch_line line;
    hs_watch_line_begin(&line, (int64_t)(hs_watch_wall_ms() / 1000), "start");
    hs_watch_line_u64(&line, "pid", watch->state.pid);
    hs_watch_line_u64(&line, "start_time", watch->state.start_time);
    hs_watch_line_text(&line, "series", why == NULL ? "continued" : "new");
    hs_watch_line_u64(&line, "next_number", watch->state.next_number);
    hs_watch_line_u64(&line, "rss_bytes", watch->base_rss_bytes);
    if (n_swept != 0)
        hs_watch_line_u64(&line, "swept", n_swept);
    if (why != NULL)
        hs_watch_line_text(&line, "why", why);
    hs_watch_log_put(&watch->log, &line);
}

static const char *why_new(const struct hs_watch_state *old, const struct hs_watch_state *now)
{
    if (strcmp(old->boot_id, now->boot_id) != 0)
        return "the machine was started anew";
    return old->pid == now->pid ? "the pid is used again by another process"
                                : "the files before are of another process";
}

/* Goes on with the series of this process, or begins one behind whatever lies there. */
static hs_status open_series(struct hs_watch *watch, struct hs_error *err)
{
    struct hs_watch_state old;
    const char *why = NULL;
    bool is_known;
    size_t n_swept = hs_watch_neighbours_remove(watch->dir_fd);

    watch->base_rss_bytes = hs_watch_rss_bytes(watch->pid);
    HS_TRY(hs_watch_state_read(watch->dir_fd, &old, &is_known, &why, err));
    HS_TRY(hs_watch_series_scan(watch->dir_fd, 0, &watch->series, err));
    uint64_t next = watch->series.max_number + 1;
    if (is_known && old.next_number > next)
        next = old.next_number;
    if (is_known && hs_watch_state_is_same(&old, &watch->state)) {
        watch->state = old;
        watch->state.next_number = next;
        if (old.last_rss_bytes != 0)
            watch->base_rss_bytes = old.last_rss_bytes;
        talk_start(watch, NULL, n_swept);
        return HS_OK;
    }
    watch->state.first_number = watch->state.next_number = next;
    if (why == NULL)
        why = is_known ? why_new(&old, &watch->state) : "the first watch here";
    HS_TRY(hs_watch_state_write(watch->dir_fd, &watch->state, err));
    talk_start(watch, why, n_swept);
    return HS_OK;
}

/* ---- signals ---- */

/* Takes signals: from here on they are read, not caught; what came before is asked for. */
static hs_status take_signals(struct hs_tool *tool, struct hs_watch *watch, struct hs_error *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return hs_fail_errno(err, HS_IO, "cannot take signals");
    tool->progress_when = HS_PROGRESS_NEVER;
    HS_TRY(hs_progress_tell(&tool->progress, "beginning", 0, 0, err));
    watch->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return watch->signal_fd < 0 ? hs_fail_errno(err, HS_IO, "cannot take signals") : HS_OK;
}

/* Opens the push. Without --service it is called as the process. */
static hs_status open_push(const struct hs_invocation *inv, struct hs_watch *watch,
                           struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *name = NULL;
    char host[HOST_NAME_MAX + 1] = "";
    size_t n;
    if (!hs_given(inv, HS_OPT_PUSH))
        return HS_OK;
    if (hs_proc_read_of(watch->pid, "comm", &name, &n, &ignored) != HS_OK)
        name = NULL;
    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0')
        (void)snprintf(host, sizeof host, "localhost");
    HS_TRY(hs_watch_push_init(inv->text[HS_OPT_PUSH],
                              hs_given(inv, HS_OPT_SERVICE) ? inv->text[HS_OPT_SERVICE]
                              : name != NULL                ? name
                                                            : "unknown",
                              hs_given(inv, HS_OPT_HOST) ? inv->text[HS_OPT_HOST] : host,
                              watch->every_ns, &watch->push, err));
    watch->push.log = &watch->log;
    return hs_watch_push_check(err);
}

static hs_status begin(struct hs_tool *tool, const struct hs_invocation *inv,
                       struct hs_watch *watch, struct hs_error *err)
{
    HS_TRY(parse_options(inv, watch, err));
    HS_TRY(open_push(inv, watch, err));
    HS_TRY(take_signals(tool, watch, err));
    HS_TRY(open_target(watch, err));
    (void)umask(0077);
    HS_TRY(hs_own_directory_open(inv->text[HS_OPT_SERIES_DIR], &watch->dir_fd, err));
    HS_TRY(hs_watch_log_init(watch->dir_fd, hs_given(inv, HS_OPT_QUIET), &watch->log, err));
    HS_TRY(open_series(watch, err));
    hs_watch_plan_init(watch->every_ns,
                       hs_watch_delay_ns(watch->every_ns, watch->state.last_ms, hs_watch_wall_ms()),
                       hs_now_ns(), &watch->plan);
    return HS_OK;
}

hs_status hs_cmd_watch(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_watch watch = {.inv = inv,
                             .dir_fd = -1,
                             .target_fd = -1,
                             .signal_fd = -1,
                             .push = {.pidfd = -1, .answer_fd = -1},
                             .dump.profile_fd = -1};
    hs_tool_go_first();
    hs_status status = begin(tool, inv, &watch, err);
    if (status == HS_OK)
        status = hs_watch_run(&watch, err);
    hs_watch_fini(&watch);
    return status;
}
