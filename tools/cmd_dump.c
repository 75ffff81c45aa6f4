/* dump: from a process to a snapshot on standard output or in a file. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/units.h"
#include "commands.h"
#include "dump/dump.h"
#include "dump_run.h"
#include "look/suspect_text.h"
#include "rules/rules.h"
#include "stop_options.h"
#include "symbol_server.h"
#include "target/deadman.h"
#include "target/freeze.h"
#include "tool.h"

hs_status hs_pid_parse(const char *text, pid_t *ret, struct hs_error *err)
{
    uint64_t pid;
    if (hs_parse_count(text, &pid, err) != HS_OK || pid == 0 || pid > INT_MAX) {
        (void)hs_fail(err, HS_USAGE, "'%s' is not a process id", text);
        return hs_hint(err, "a process id is a number: 'pidof PROGRAM' tells it");
    }
    *ret = hs_process_of_thread((pid_t)pid);
    if (*ret != (pid_t)pid)
        hs_talk("%d is a thread: its process is %d", (int)pid, *ret);
    return HS_OK;
}

/* Returns the target of the dump, as the user wrote it. */
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
        (void)snprintf(text, n_bytes,
                       report->pause_ns == 0 ? "it was stopped already"
                                             : "it was stopped already, and held "
                                               "for %s after its SIGCONT",
                       pause);
    else
        (void)snprintf(text, n_bytes, "paused for %s%s", pause, ways[report->stop.way]);
}

/* Prints the parts of the pause, for -v. */
static void talk_stop(const struct hs_stop_report *stop)
{
    char foreseen[HS_FORESEEN_TEXT_BYTES], stopping[HS_UNIT_TEXT_BYTES],
        copying[HS_UNIT_TEXT_BYTES], growth[HS_UNIT_TEXT_BYTES], reading[HS_UNIT_TEXT_BYTES];

    hs_foreseen_text(stop->predicted_ns, stop->busy_ns, foreseen, sizeof foreseen);
    hs_format_duration(stop->reading_ns, reading);
    hs_format_duration(stop->stopping_ns, stopping);
    hs_format_duration(stop->copying_ns, copying);
    hs_format_bytes(stop->growth_bytes, growth);
    hs_talk("pause: foreseen %s; stopping all threads %s, making the copy %s; it was read for %s, "
            "and the process grew by %s; %lu system calls were set to start again, %lu waits for "
            "the rest of their time",
            foreseen, stopping, copying, reading, growth, (unsigned long)stop->n_restarted,
            (unsigned long)stop->n_shortened);
    if (stop->n_late != 0)
        hs_talk("%lu waits at sockets begin anew: their limits could not be changed for a moment",
                (unsigned long)stop->n_late);
    if (stop->n_anew != 0)
        hs_talk("%lu reads of terminals begin anew, with all of their time (VTIME)",
                (unsigned long)stop->n_anew);
    if (stop->n_broken_off != 0)
        hs_talk("%lu system calls return EINTR, as under a debugger: how long they have waited is "
                "not known",
                (unsigned long)stop->n_broken_off);
}

static void talk_memory(const struct hs_dump_report *report)
{
    char copy[HS_UNIT_TEXT_BYTES], foreseen[HS_UNIT_TEXT_BYTES];

    hs_format_bytes(report->copy_bytes, copy);
    hs_format_bytes(report->foreseen_bytes, foreseen);
    hs_talk("memory: foreseen %s %s for a copy of %s%s", report->has_spilled ? "at least" : "about",
            foreseen, copy, report->has_spilled ? " in a temporary file" : " and its tables");
}

/* Says where names are to be had to who asks in one step, and has not asked for them. */
static void talk_names(const struct hs_tool *tool, const struct hs_dump_report *report)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    char path[PATH_MAX];
    if (tool->is_below && report->is_stripped && (urls == NULL || *urls == '\0') &&
        hs_tool_helper("heapsnap-debuginfod", path) != NULL)
        hs_talk("the program is stripped; names of a distribution's are fetched with "
                "DEBUGINFOD_URLS=https://debuginfod.debian.net");
}

static void talk_report(const struct hs_tool *tool, const struct hs_dump_report *report)
{
    char pause[2 * HS_UNIT_TEXT_BYTES], bytes[HS_UNIT_TEXT_BYTES], statics[64] = "";
    char size[HS_SIZE_TEXT_BYTES];
    const struct hs_snap_totals *totals = &report->totals;
    describe_pause(report, pause, sizeof pause);
    hs_format_bytes(report->totals.file_bytes, bytes);
    if (!report->is_exact) /* what is missing stands before all that is counted */
        hs_talk("not exact: %s", report->note);
    if (totals->n_static_blocks != 0)
        (void)snprintf(statics, sizeof statics, " and %lu static ones",
                       (unsigned long)totals->n_static_blocks);
    hs_talk("%lu objects of %s%s, %lu edges; %s; snapshot of %s",
            (unsigned long)(totals->n_blocks - totals->n_static_blocks),
            hs_size_text(tool->talk_is_terminal, totals->heap_words, sizeof(hs_addr), size),
            statics, (unsigned long)totals->n_edges, pause, bytes);
    if (report->remark[0] != '\0')
        hs_talk("%s", report->remark);
    if (report->n_served != 0) {
        hs_format_bytes(report->served_bytes, bytes);
        hs_talk("%lu file%s of %s from the symbol server", (unsigned long)report->n_served,
                report->n_served == 1 ? "" : "s", bytes);
    }
    talk_names(tool, report);
    if (report->stop.n_cut != 0)
        hs_talk("%lu system calls returned with part of their work done, as when a signal comes",
                (unsigned long)report->stop.n_cut);
    if (report->stop.n_unsent != 0)
        hs_talk("%lu socket%s closed without waiting until the data was sent (SO_LINGER), as when "
                "a signal comes",
                (unsigned long)report->stop.n_unsent,
                report->stop.n_unsent == 1 ? " was" : "s were");
    if (report->stop.why_no_copy[0] != '\0')
        hs_talk("no frozen copy was made: %s", report->stop.why_no_copy);
    if (tool->is_verbose && report->stop.way != HS_WAY_CORE)
        talk_stop(&report->stop);
    if (tool->is_verbose)
        talk_memory(report);
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

/* Leaves no core: while we hold a copy of another program's memory, a crash of ours must not put it
 * on a disk. One byte is too small for a file and tells the kernel to ask no core handler either;
 * core(5). */
static void leave_no_core(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max < 1 ? 0 : 1;
    (void)setrlimit(RLIMIT_CORE, &limit);
}

/* Prints why we are ended: we hold a process for too long. By system calls alone, as it may be
 * called in a signal handler, or in a process beside us. */
static void say_last(const char *text, size_t n_bytes)
{
    static const char begin[] = "heapsnap: ", between[] = "\nhint: ", end[] = "\n";
    const char *newline = memchr(text, '\n', n_bytes);
    size_t n_message = newline == NULL ? n_bytes : (size_t)(newline - text);
    bool has_hint = newline != NULL && n_message + 1 < n_bytes;
    struct iovec parts[] = {
        {(void *)(uintptr_t)begin, sizeof begin - 1},
        {(void *)(uintptr_t)text, n_message},
        {(void *)(uintptr_t)between, has_hint ? sizeof between - 1 : 0},
        {(void *)(uintptr_t)(text + n_message + 1), has_hint ? n_bytes - n_message - 1 : 0},
        {(void *)(uintptr_t)end, sizeof end - 1},
    };
    (void)!writev(STDERR_FILENO, parts, sizeof parts / sizeof *parts);
}

static hs_status parse_names_timeout(const struct hs_invocation *inv, uint64_t *ret_ns,
                                     struct hs_error *err)
{
    *ret_ns = hs_given(inv, HS_OPT_NAMES_TIMEOUT) ? inv->number[HS_OPT_NAMES_TIMEOUT] : 0;
    if (*ret_ns != 0 || !hs_given(inv, HS_OPT_NAMES_TIMEOUT))
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "--names-timeout: there is no search in no time");
    return hs_hint(err, "--no-names leaves the search out");
}

/* Takes out what names a rule of snapshot/reasons.def ("-qt-parent"); the rest are sets of rules,
 * and files. Returns how many are left. */
static size_t take_reasons(const char **given, size_t n_given, uint64_t *ret_off)
{
    size_t n = 0;

    for (size_t i = 0; i < n_given; i++) {
        bool is_off = given[i][0] == '-', is_on = given[i][0] == '+';
        unsigned reason = is_off || is_on ? hs_reason_by_name(given[i] + 1) : HS_REASON_NONE;
        uint64_t bit = reason < 64 ? UINT64_C(1) << reason : 0;
        if (reason == HS_REASON_NONE)
            given[n++] = given[i];
        else
            *ret_off = is_off ? *ret_off | bit : *ret_off & ~bit;
    }
    return n;
}

static hs_status run_by_rules(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_dump_options *options, struct hs_dump_report *ret,
                              struct hs_error *err)
{
    const char *given[HS_MAX_REPEATED];
    struct hs_rules rules = {0};
    size_t n = take_reasons(given, hs_repeated(inv, HS_OPT_RULES, given), &options->reasons_off);

    HS_TRY(hs_rules_load(given, n, &rules, err));
    options->rules = &rules;
    hs_status status = hs_dump_process(options, &tool->out, ret, err);
    options->rules = NULL;
    hs_rules_fini(&rules);
    if (status != HS_OK)
        return hs_context(err, "cannot dump %s '%s'", options->core != NULL ? "core" : "process",
                          subject(inv));
    return HS_OK;
}

hs_status hs_dump_run(struct hs_tool *tool, const struct hs_invocation *inv,
                      struct hs_dump_report *ret, struct hs_error *err)
{
    char helper[PATH_MAX], server[PATH_MAX];
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
        .unless_c_has_most = !hs_given(inv, HS_OPT_HEAPS),
        .names_helper = hs_tool_helper("heapsnap-ocaml-names", helper),
        .debug_server_ns =
            hs_given(inv, HS_OPT_DEBUGINFOD_TIMEOUT) ? inv->number[HS_OPT_DEBUGINFOD_TIMEOUT] : 0,
        .tool_version = HS_VERSION,
        .progress = &tool->progress,
        .budget = hs_tool_budget(tool),
    };
    leave_no_core();
    hs_deadman_speak(&(struct hs_deadman_voice){say_last, hs_exit_code(HS_LIMIT)});
    struct hs_core_options core;
    HS_TRY(hs_core_options_parse(inv, &core, &options, err));
    HS_TRY(hs_stop_options_parse(inv, &options, err));
    if (options.core == NULL)
        HS_TRY(hs_pid_parse(inv->arguments[0], &options.pid, err));
    HS_TRY(parse_names_timeout(inv, &options.names_timeout_ns, err));
    HS_TRY(parse_mask(inv, &options.pointer_mask, err));
    if (tool->terminal.is_terminal) {
        (void)hs_fail(err, HS_USAGE, "cannot write a snapshot to a terminal");
        return hs_hint(err, "heapsnap dump %s%s > heap.snap, or -o heap.snap",
                       options.core != NULL ? "--core " : "", subject(inv));
    }
    HS_TRY(hs_symbol_server(inv, server, &options.debug_server, err));
    struct hs_dump_report report = {0};
    HS_TRY(run_by_rules(tool, inv, &options, &report, err));
    HS_TRY(hs_tool_commit(tool, err));
    *ret = report;
    return HS_OK;
}

/* Finds the name of the file that standard output goes to, as somebody would call it from here.
 * False when it goes to no file that has a name. */
static bool output_name(char *name, size_t n_bytes)
{
    char link[PATH_MAX], here[PATH_MAX];
    struct stat about;
    ssize_t n = readlink("/proc/self/fd/1", link, sizeof link - 1);
    if (n <= 0 || fstat(STDOUT_FILENO, &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_nlink == 0)
        return false;
    link[n] = '\0';
    size_t above = getcwd(here, sizeof here) == NULL ? 0 : strlen(here);
    bool is_below = above > 1 && strncmp(link, here, above) == 0 && link[above] == '/';
    return snprintf(name, n_bytes, "%s", link + (is_below ? above + 1 : 0)) < (int)n_bytes;
}

/* Announces the next command for a snapshot that nobody has looked at yet. */
static void talk_next(const struct hs_invocation *inv)
{
    char name[PATH_MAX], quoted[PATH_MAX] = "";
    bool has_name = hs_given(inv, HS_OPT_OUTPUT)
                        ? snprintf(name, sizeof name, "%s", inv->text[HS_OPT_OUTPUT]) < PATH_MAX &&
                              strcmp(name, "-") != 0
                        : output_name(name, sizeof name);
    if (!has_name)
        return;
    hs_suspect_quote(name, quoted, sizeof quoted);
    hs_talk("who keeps the memory: heapsnap suspects %s", quoted);
}

hs_status hs_cmd_dump(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_dump_report report;
    hs_tool_go_first();
    HS_TRY(hs_dump_run(tool, inv, &report, err));
    talk_report(tool, &report);
    if (!tool->is_below)
        talk_next(inv);
    return HS_OK;
}
