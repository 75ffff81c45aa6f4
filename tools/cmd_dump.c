/* dump: from a process to a snapshot on standard output or in a file. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/units.h"
#include "commands.h"
#include "dump/dump.h"
#include "dump_run.h"
#include "stop_options.h"
#include "tool.h"

/* The helper that reads .cmi and .cmt files lies beside our own program. */
static const char *names_helper(char *path, size_t n)
{
    static const char name[] = "heapsnap-ocaml-names";
    ssize_t used = readlink("/proc/self/exe", path, n - 1);
    if (used <= 0)
        return NULL;
    path[used] = 0;
    char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash + 1 - path) + sizeof name > n)
        return NULL;
    memcpy(slash + 1, name, sizeof name);
    return access(path, X_OK) == 0 ? path : NULL;
}

hs_status hs_pid_parse(const char *text, pid_t *ret, struct hs_error *err)
{
    uint64_t pid;
    if (hs_parse_count(text, &pid, err) != HS_OK || pid == 0 || pid > INT_MAX) {
        (void)hs_fail(err, HS_USAGE, "'%s' is not a process id", text);
        return hs_hint(err, "a process id is a number: 'pidof PROGRAM' tells it");
    }
    *ret = (pid_t)pid;
    return HS_OK;
}

/* What is dumped, as the user wrote it. */
static const char *subject(const struct hs_invocation *inv)
{
    return hs_given(inv, HS_OPT_CORE) ? inv->text[HS_OPT_CORE] : inv->arguments[0];
}

/* "paused for 2.1 ms by a frozen copy" */
static void describe_pause(const struct hs_dump_report *report, char *text, size_t n_bytes)
{
    static const char *const ways[] = {
        [HS_WAY_READ] = " (stopped until all was read)", [HS_WAY_COPY] = " by a frozen copy"};
    char pause[HS_UNIT_TEXT_BYTES];

    hs_format_duration(report->pause_ns, pause);
    if (report->stop.way == HS_WAY_CORE)
        (void)snprintf(text, n_bytes, "from a core");
    else if (report->stop.way == HS_WAY_STOPPED)
        (void)snprintf(text, n_bytes, "it was stopped already");
    else
        (void)snprintf(text, n_bytes, "paused for %s%s", pause, ways[report->stop.way]);
}

/* For -v: the parts of the pause. */
static void talk_stop(const struct hs_stop_report *stop)
{
    char foreseen[HS_UNIT_TEXT_BYTES], stopping[HS_UNIT_TEXT_BYTES], copying[HS_UNIT_TEXT_BYTES],
        growth[HS_UNIT_TEXT_BYTES];

    hs_format_duration(stop->predicted_ns, foreseen);
    hs_format_duration(stop->stopping_ns, stopping);
    hs_format_duration(stop->copying_ns, copying);
    hs_format_bytes(stop->growth_bytes, growth);
    hs_talk("pause: foreseen %s; stopping all threads %s, making the copy %s; it grew by %s, %lu "
            "system calls were set to start again",
            foreseen, stopping, copying, growth, (unsigned long)stop->n_restarted);
}

static void talk_report(const struct hs_tool *tool, const struct hs_dump_report *report)
{
    char pause[2 * HS_UNIT_TEXT_BYTES], bytes[HS_UNIT_TEXT_BYTES];
    describe_pause(report, pause, sizeof pause);
    hs_format_bytes(report->totals.file_bytes, bytes);
    hs_talk("%lu blocks, %lu words, %lu edges; %s; snapshot of %s",
            (unsigned long)report->totals.n_blocks, (unsigned long)report->totals.heap_words,
            (unsigned long)report->totals.n_edges, pause, bytes);
    if (report->stop.why_no_copy[0] != '\0')
        hs_talk("no frozen copy was made: %s", report->stop.why_no_copy);
    if (tool->is_verbose && report->stop.way != HS_WAY_CORE)
        talk_stop(&report->stop);
    if (!report->is_exact)
        hs_talk("not exact: %s", report->note);
}

static hs_status parse_mask(const struct hs_invocation *inv, uint64_t *ret, struct hs_error *err)
{
    if (!hs_given(inv, HS_OPT_POINTER_MASK))
        return HS_OK;
    if (hs_parse_address(inv->text[HS_OPT_POINTER_MASK], ret, err) == HS_OK)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "--pointer-mask: '%.80s' is not a mask of bits",
                  inv->text[HS_OPT_POINTER_MASK]);
    return hs_hint(err, "write 0x and hexadecimal digits, for example 0xffff000000000007");
}

/* While we hold a copy of another program's memory, a crash of ours must not put it on a disk. One
 * byte is too small for a file and tells the kernel to ask no core handler either; core(5). */
static void leave_no_core(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max < 1 ? 0 : 1;
    (void)setrlimit(RLIMIT_CORE, &limit);
}

hs_status hs_dump_run(struct hs_tool *tool, const struct hs_invocation *inv,
                      struct hs_dump_report *ret, struct hs_error *err)
{
    char helper[PATH_MAX];
    const char *names_dirs[HS_MAX_REPEATED], *debug_dirs[HS_MAX_REPEATED];
    struct hs_dump_options options = {
        .names_file = hs_given(inv, HS_OPT_NAMES) ? inv->text[HS_OPT_NAMES] : NULL,
        .names_dirs = names_dirs,
        .n_names_dirs = hs_repeated(inv, HS_OPT_NAMES_PATH, names_dirs),
        .debug_dirs = debug_dirs,
        .n_debug_dirs = hs_repeated(inv, HS_OPT_DEBUG_PATH, debug_dirs),
        .no_names = hs_given(inv, HS_OPT_NO_NAMES),
        .own_heap_alone =
            !hs_given(inv, HS_OPT_HEAPS) || strcmp(inv->text[HS_OPT_HEAPS], "all") != 0,
        .names_helper = names_helper(helper, sizeof helper),
        .tool_version = HS_TOOL_VERSION,
        .progress = &tool->progress,
        .budget = hs_tool_budget(tool),
    };
    leave_no_core();
    struct hs_core_options core;
    HS_TRY(hs_core_options_parse(inv, &core, &options, err));
    HS_TRY(hs_stop_options_parse(inv, &options, err));
    if (options.core == NULL)
        HS_TRY(hs_pid_parse(inv->arguments[0], &options.pid, err));
    HS_TRY(parse_mask(inv, &options.pointer_mask, err));
    if (tool->terminal.is_terminal) {
        (void)hs_fail(err, HS_USAGE, "cannot write a snapshot to a terminal");
        return hs_hint(err, "heapsnap dump %s%s > heap.snap, or -o heap.snap",
                       options.core != NULL ? "--core " : "", subject(inv));
    }
    struct hs_dump_report report = {0};
    hs_status status = hs_dump_process(&options, &tool->out, &report, err);
    if (status != HS_OK)
        return hs_context(err, "cannot dump %s '%s'", options.core != NULL ? "core" : "process",
                          subject(inv));
    HS_TRY(hs_tool_commit(tool, err));
    *ret = report;
    return HS_OK;
}

hs_status hs_cmd_dump(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_dump_report report;
    HS_TRY(hs_dump_run(tool, inv, &report, err));
    talk_report(tool, &report);
    return HS_OK;
}
