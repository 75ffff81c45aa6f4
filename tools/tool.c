/* Output, progress and talk of the command line. */
#include "tool.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "base/alloc.h"
#include "base/plain.h"
#include "base/table.h"
#include "base/units.h"
#include "look/memory_report.h"
#include "report/text.h"

/* Progress shows only what takes longer than this. */
#define PROGRESS_AFTER_NS 300000000u
#define PROGRESS_TERMINAL_NS 100000000u
#define PROGRESS_LINES_NS 1000000000u

static volatile sig_atomic_t was_interrupted;

static void on_interrupt(int signal)
{
    was_interrupted = signal;
}

int hs_tool_interrupted(void)
{
    return was_interrupted;
}

static void progress_print(struct hs_tool *tool, const char *phase, uint64_t done, uint64_t total)
{
    bool in_place = tool->talk_is_terminal && tool->progress_when == HS_PROGRESS_AUTO;
    const char *begin = in_place ? "\r" : "";
    const char *end = in_place ? "\033[K" : "\n";
    if (total != 0)
        (void)fprintf(stderr, "%sheapsnap: %s, %.0f %%%s", begin, phase,
                      100.0 * (double)done / (double)total, end);
    else
        (void)fprintf(stderr, "%sheapsnap: %s%s", begin, phase, end);
    tool->progress_is_shown = in_place;
}

static bool progress_tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct hs_tool *tool = context;
    hs_timings_enter(&tool->timings, phase);
    uint64_t now = hs_now_ns();
    bool always = tool->progress_when == HS_PROGRESS_ALWAYS;
    uint64_t pause = always ? PROGRESS_LINES_NS : PROGRESS_TERMINAL_NS;
    bool wanted = always || (tool->progress_when == HS_PROGRESS_AUTO && tool->talk_is_terminal);
    bool is_due = now - tool->progress_told_ns >= pause &&
                  (always || now - tool->progress_began_ns >= PROGRESS_AFTER_NS);
    if (wanted && (is_due || tool->progress_told_ns == 0)) {
        if (always || is_due)
            progress_print(tool, phase, done, total);
        tool->progress_told_ns = now;
    }
    return !was_interrupted;
}

static void progress_erase(struct hs_tool *tool)
{
    if (tool->progress_is_shown)
        (void)fputs("\r\033[K", stderr);
    tool->progress_is_shown = false;
}

/* The directory of a file; "." when it has none. */
static hs_status directory_of(const char *path, char **ret, struct hs_error *err)
{
    const char *slash = strrchr(path, '/');
    HS_TRY(hs_strdup(slash == NULL ? "." : path, ret, err));
    if (slash != NULL)
        (*ret)[slash == path ? 1 : slash - path] = 0;
    return HS_OK;
}

void hs_tool_spill_beside(struct hs_tool *tool, const char *path)
{
    struct hs_error ignored = HS_ERROR_INIT; /* the default place is as good */
    char *directory = NULL;
    if (hs_tool_budget(tool) == NULL || tool->has_spill_dir || strcmp(path, "-") == 0 ||
        directory_of(path, &directory, &ignored) != HS_OK)
        return;
    if (access(directory, W_OK | X_OK) != 0) {
        hs_free(directory);
        return;
    }
    hs_free(tool->spill_dir);
    tool->spill_dir = directory;
    tool->budget.spill_dir = directory;
}

/* Opens the budget; too little is refused here, before any work: our own code and buffers need as
 * much. */
static hs_status open_budget(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_error *err)
{
    enum { MAX_THREADS = 256 };
    uint64_t limit = hs_given(inv, HS_OPT_MEMORY) ? inv->number[HS_OPT_MEMORY] : 0;
    uint64_t n_threads = hs_given(inv, HS_OPT_THREADS) ? inv->number[HS_OPT_THREADS] : 0;
    const char *spill_dir = hs_given(inv, HS_OPT_SPILL_DIR) ? inv->text[HS_OPT_SPILL_DIR] : NULL;
    if (n_threads > MAX_THREADS || (hs_given(inv, HS_OPT_THREADS) && n_threads == 0))
        return hs_fail(err, HS_USAGE, "--threads: '%s' is not from 1 to %d",
                       inv->text[HS_OPT_THREADS], MAX_THREADS);
    if (hs_given(inv, HS_OPT_MEMORY) && limit < HS_TOOL_MIN_BYTES) {
        (void)hs_fail(err, HS_LIMIT,
                      "--memory %s is too little: nothing can be done with less "
                      "than %luM",
                      inv->text[HS_OPT_MEMORY], (unsigned long)(HS_TOOL_MIN_BYTES / 1000000));
        return hs_hint(err, "without --memory a quarter of what is available is the limit");
    }
    if (spill_dir != NULL && access(spill_dir, W_OK | X_OK) != 0)
        return hs_fail_errno(err, HS_IO, "cannot write temporary files to '%s'", spill_dir);
    tool->is_verbose = hs_given(inv, HS_OPT_VERBOSE);
    tool->has_spill_dir = spill_dir != NULL;
    hs_budget_init(limit, spill_dir, (unsigned)n_threads, &tool->budget);
    return HS_OK;
}

/* Opens the policy that says how doubtful words count in the index that is asked. */
static hs_status open_policy(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_error *err)
{
    if (hs_given(inv, HS_OPT_TIER_POLICY))
        tool->policy.kind = (enum hs_policy_kind)inv->number[HS_OPT_TIER_POLICY];
    if (!hs_given(inv, HS_OPT_POINTERS_IN))
        return HS_OK;
    tool->policy.pointers_in = tool->pointers_in;
    tool->policy.n_pointers_in = hs_repeated(inv, HS_OPT_POINTERS_IN, tool->pointers_in);
    if (tool->policy.kind == HS_POLICY_FIRM)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "--pointers-in says which words --policy firm may trust");
    return hs_hint(err, "--policy conservative trusts all words: leave one of the two out");
}

static void take_signal(struct hs_tool *tool, int number, const struct sigaction *action)
{
    struct sigaction old;
    if (sigaction(number, action, &old) == 0 && old.sa_handler == SIG_IGN)
        (void)sigaddset(&tool->ignored, number);
}

hs_status hs_tool_init(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    *tool = (struct hs_tool){0};
    struct hs_terminal talk;
    hs_terminal_ask(STDERR_FILENO, &talk);
    const char *term = getenv("TERM");
    tool->talk_is_terminal = talk.is_terminal && term != NULL && strcmp(term, "dumb") != 0;
    if (hs_given(inv, HS_OPT_PROGRESS))
        tool->progress_when = (enum hs_progress_when)inv->number[HS_OPT_PROGRESS];
    tool->progress_began_ns = hs_now_ns();
    if (hs_given(inv, HS_OPT_TIMINGS) || hs_given(inv, HS_OPT_TIMINGS_FILE))
        hs_timings_begin(&tool->timings);
    tool->progress = (struct hs_progress){progress_tell, tool};
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    take_signal(tool, SIGINT, &action);
    take_signal(tool, SIGTERM, &action);
    action.sa_handler = SIG_IGN;
    take_signal(tool, SIGPIPE, &action);
    take_signal(tool, SIGXFSZ, &action); /* ulimit -f: a failed write, as of a full disk */
    HS_TRY(open_budget(tool, inv, err));
    HS_TRY(hs_access_parse(inv, &tool->access, err));
    HS_TRY(open_policy(tool, inv, err));
    const char *path = hs_given(inv, HS_OPT_OUTPUT) ? inv->text[HS_OPT_OUTPUT] : "-";
    bool is_file = inv->command != NULL && hs_takes(inv->command, HS_OPT_OUTPUT);
    hs_tool_spill_beside(tool, path);
    if (is_file && strcmp(path, "-") != 0)
        return hs_out_open_path_as(path, &tool->access, &tool->out, err);
    hs_terminal_ask(STDOUT_FILENO, &tool->terminal);
    HS_TRY(hs_out_open_fd(STDOUT_FILENO, "standard output", &tool->out, err));
    tool->out.is_plain = tool->terminal.is_plain && hs_tool_format(inv) == HS_FORMAT_TABLE;
    return HS_OK;
}

/* Prints one line of talk. Names in messages come from the target: a terminal must never see them
 * raw. */
static void talk_line(const char *prefix, const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_terminal talk;
    struct hs_buffer line = {0}, filled = {0};
    hs_terminal_ask(STDERR_FILENO, &talk);
    hs_status status = hs_buffer_reserve(&line, strlen(prefix) + 2, &err);
    if (status == HS_OK) {
        hs_buffer_put_bytes(&line, prefix, strlen(prefix));
        hs_buffer_put_bytes(&line, ": ", 2);
        status = hs_text_sanitise(text, strlen(text), HS_TEXT_TERMINAL, &line, &err);
    }
    if (status == HS_OK)
        status = hs_text_fill((const char *)line.bytes, line.n_bytes, 2, talk.width, &filled, &err);
    if (status == HS_OK && talk.is_plain)
        filled.n_bytes = hs_plain((const char *)filled.bytes, filled.n_bytes, (char *)filled.bytes);
    if (status == HS_OK)
        (void)fwrite(filled.bytes, 1, filled.n_bytes, stderr);
    else
        (void)fprintf(stderr, "%s: out of memory\n", prefix);
    hs_buffer_fini(&line);
    hs_buffer_fini(&filled);
}

hs_status hs_tool_commit(struct hs_tool *tool, struct hs_error *err)
{
    progress_erase(tool);
    HS_TRY(hs_out_commit(&tool->out, err));
    if (tool->hint[0] != 0)
        talk_line("hint", tool->hint);
    return HS_OK;
}

void hs_tool_fini(struct hs_tool *tool)
{
    progress_erase(tool);
    hs_out_close(&tool->out);
    hs_free(tool->spill_dir);
    tool->spill_dir = NULL;
}

hs_status hs_tool_tell_timings(struct hs_tool *tool, const struct hs_invocation *inv,
                               struct hs_error *err)
{
    const char *path = hs_given(inv, HS_OPT_TIMINGS_FILE) ? inv->text[HS_OPT_TIMINGS_FILE] : NULL;
    const struct hs_timings_output output = {
        .form = hs_given(inv, HS_OPT_TIMINGS) ? (enum hs_timings_form)inv->number[HS_OPT_TIMINGS]
                                              : HS_TIMINGS_JSON,
        .path = path,
        .command = inv->command == NULL ? "heapsnap" : inv->command->name};
    return hs_timings_end(&tool->timings, &output, err);
}

enum hs_format hs_tool_format(const struct hs_invocation *inv)
{
    if (hs_given(inv, HS_OPT_JSON))
        return HS_FORMAT_JSON;
    if (hs_given(inv, HS_OPT_FORMAT))
        return (enum hs_format)inv->number[HS_OPT_FORMAT];
    return HS_FORMAT_TABLE;
}

uint64_t hs_tool_rows(const struct hs_invocation *inv)
{
    if (hs_given(inv, HS_OPT_ROWS))
        return inv->number[HS_OPT_ROWS] == 0 ? UINT64_MAX : inv->number[HS_OPT_ROWS];
    return hs_tool_format(inv) == HS_FORMAT_TABLE ? 40 : UINT64_MAX;
}

uint64_t hs_tool_words(const struct hs_invocation *inv, enum hs_option_id id, uint64_t word_bytes)
{
    bool in_bytes = inv->in_bytes[id] && word_bytes != 0;
    return in_bytes ? inv->number[id] / word_bytes : inv->number[id];
}

uint64_t hs_tool_min_words(const struct hs_invocation *inv, uint64_t word_bytes)
{
    uint64_t words = hs_tool_words(inv, HS_OPT_MIN_WORDS, word_bytes);
    bool in_bytes = inv->in_bytes[HS_OPT_MIN_WORDS] && word_bytes != 0;
    return words + (in_bytes && words * word_bytes < inv->number[HS_OPT_MIN_WORDS]);
}

hs_status hs_tool_print_clean(struct hs_tool *tool, const char *text, struct hs_error *err)
{
    struct hs_buffer clean = {0};
    hs_status status = hs_text_sanitise(text, strlen(text), HS_TEXT_TERMINAL, &clean, err);
    if (status == HS_OK)
        status = hs_out_write(&tool->out, clean.bytes, clean.n_bytes, err);
    hs_buffer_fini(&clean);
    return status;
}

hs_status hs_tool_say(struct hs_tool *tool, struct hs_error *err, const char *format, ...)
{
    char text[8192];
    struct hs_buffer clean = {0}, filled = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    hs_status status = hs_text_sanitise(text, strlen(text), HS_TEXT_TERMINAL, &clean, err);
    if (status == HS_OK)
        status = hs_text_fill((const char *)clean.bytes, clean.n_bytes, 2, tool->terminal.width,
                              &filled, err);
    if (status == HS_OK)
        status = hs_out_write(&tool->out, filled.bytes, filled.n_bytes, err);
    hs_buffer_fini(&clean);
    hs_buffer_fini(&filled);
    return status;
}

const char *hs_size_text(bool in_units, uint64_t words, unsigned word_bytes, char *text)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(words, word_bytes, &bytes))
        bytes = UINT64_MAX;
    if (in_units)
        hs_format_bytes(bytes, text);
    else
        (void)snprintf(text, HS_SIZE_TEXT_BYTES, "%" PRIu64 " words", words);
    return text;
}

const char *hs_tool_amount(const struct hs_tool *tool, uint64_t words, unsigned word_bytes,
                           char *text)
{
    if (tool->terminal.is_terminal)
        return hs_size_text(true, words, word_bytes, text);
    (void)snprintf(text, HS_SIZE_TEXT_BYTES, "%" PRIu64, words);
    return text;
}

const char *hs_tool_size(const struct hs_tool *tool, uint64_t words, unsigned word_bytes,
                         char *text)
{
    return hs_size_text(tool->terminal.is_terminal, words, word_bytes, text);
}

void hs_tool_go_first(void)
{
    static const char most[] = "1000"; /* proc(5): to raise it needs no right */
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = write(fd, most, sizeof most - 1);
    (void)n; /* then it is as it was */
    (void)close(fd);
}

/* ---- lines that are said once */

enum { SAID = 256 };
static struct {
    pthread_mutex_t lock;
    bool is_on;
    uint64_t hashes[SAID]; /* under the lock: of the lines that were said last */
    size_t n;
} once = {.lock = PTHREAD_MUTEX_INITIALIZER};

void hs_talk_once(void)
{
    once.is_on = true;
}

static bool was_said(const char *line)
{
    uint64_t hash = hs_hash_bytes(line, strlen(line));
    bool found = false;
    (void)pthread_mutex_lock(&once.lock);
    for (size_t i = 0; i < SAID && i < once.n && !found; i++)
        found = once.hashes[i] == hash;
    if (!found)
        once.hashes[once.n++ % SAID] = hash;
    (void)pthread_mutex_unlock(&once.lock);
    return found;
}

void hs_talk(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (!once.is_on || !was_said(line))
        talk_line("heapsnap", line);
}

void hs_tool_hint(struct hs_tool *tool, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(tool->hint, sizeof tool->hint, format, arguments);
    va_end(arguments);
}

void hs_talk_error(const struct hs_error *err)
{
    talk_line("heapsnap", err->message);
    if (err->hint[0] != 0)
        talk_line("hint", err->hint);
}

struct hs_sheet_options hs_tool_sheet(const struct hs_tool *tool, const struct hs_invocation *inv,
                                      uint64_t whole)
{
    static const enum hs_sheet_format formats[] = {
        [HS_FORMAT_TABLE] = HS_SHEET_TABLE,
        [HS_FORMAT_JSON] = HS_SHEET_JSON,
        [HS_FORMAT_NDJSON] = HS_SHEET_NDJSON,
        [HS_FORMAT_TSV] = HS_SHEET_TSV,
    };
    /* Options that ask for small rows or for another order: rows are not folded then. */
    static const uint8_t unfolded[] = {HS_OPTIONS_OF_LEAST, HS_OPT_KIND,       HS_OPT_ROOT_SORT,
                                       HS_OPT_TYPE_SORT,    HS_OPT_TRACE_SORT, HS_N_OPTIONS};
    uint64_t rows = hs_tool_rows(inv);
    return (struct hs_sheet_options){
        .format = formats[hs_tool_format(inv)],
        .human = tool->terminal.is_terminal,
        .colour = tool->terminal.colour,
        .width = tool->terminal.width,
        .limit = rows == UINT64_MAX ? 0 : rows,
        .folds_small = rows != UINT64_MAX && !hs_given_some(inv, unfolded),
        .whole = whole,
    };
}

hs_status hs_tool_list(struct hs_tool *tool, const struct hs_invocation *inv,
                       const struct hs_listing *listing, struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    options.limit = 0; /* a listing chooses its rows itself */
    return hs_listing_write(listing, options, &tool->out, err);
}

int hs_exit_code(hs_status status)
{
    static const int codes[HS_N_STATUS] = {
        [HS_OK] = 0, [HS_USAGE] = 2, [HS_TARGET] = 3, [HS_FORMAT] = 4,
        [HS_IO] = 5, [HS_LIMIT] = 6, [HS_BUG] = 70,
    };
    return status < HS_N_STATUS ? codes[status] : 70;
}
