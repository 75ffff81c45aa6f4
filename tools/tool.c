/* Output, progress and talk of the command line. */
#include "tool.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/text.h"

/* Progress shows only what takes longer than this. */
#define PROGRESS_AFTER_NS 300000000u
#define PROGRESS_TERMINAL_NS 100000000u
#define PROGRESS_LINES_NS 1000000000u

static volatile sig_atomic_t was_interrupted;

static void on_interrupt(int signal)
{
    (void)signal;
    was_interrupted = 1;
}

static void progress_print(struct hs_tool *tool, const char *phase, uint64_t done, uint64_t total)
{
    bool in_place = tool->talk_is_terminal && tool->progress_when == HS_PROGRESS_AUTO;
    const char *begin = in_place ? "\r" : "";
    const char *end = in_place ? "\033[K" : "\n";
    if (total != 0)
        (void)fprintf(stderr, "%sheapsnap: %s %3.0f %%%s", begin, phase,
                      100.0 * (double)done / (double)total, end);
    else
        (void)fprintf(stderr, "%sheapsnap: %s%s", begin, phase, end);
    tool->progress_is_shown = in_place;
}

static bool progress_tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct hs_tool *tool = context;
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
    tool->progress = (struct hs_progress){progress_tell, tool};
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    const char *path = hs_given(inv, HS_OPT_OUTPUT) ? inv->text[HS_OPT_OUTPUT] : "-";
    bool is_file = inv->command != NULL && (inv->command->options >> HS_OPT_OUTPUT & 1);
    if (is_file && strcmp(path, "-") != 0)
        return hs_out_open_path(path, &tool->out, err);
    hs_terminal_ask(STDOUT_FILENO, &tool->terminal);
    return hs_out_open_fd(STDOUT_FILENO, "standard output", &tool->out, err);
}

hs_status hs_tool_commit(struct hs_tool *tool, struct hs_error *err)
{
    progress_erase(tool);
    return hs_out_commit(&tool->out, err);
}

void hs_tool_fini(struct hs_tool *tool)
{
    progress_erase(tool);
    hs_out_close(&tool->out);
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

hs_status hs_tool_print_clean(struct hs_tool *tool, const char *text, struct hs_error *err)
{
    struct hs_buffer clean = {0};
    hs_status status = hs_text_sanitise(text, strlen(text), HS_TEXT_TERMINAL, &clean, err);
    if (status == HS_OK)
        status = hs_out_write(&tool->out, clean.bytes, clean.n_bytes, err);
    hs_buffer_fini(&clean);
    return status;
}

/* Names in messages come from the target: a terminal must never see them raw. */
static void talk_line(const char *prefix, const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer clean = {0};
    if (hs_text_sanitise(text, strlen(text), HS_TEXT_TERMINAL, &clean, &err) == HS_OK)
        (void)fprintf(stderr, "%s: %.*s\n", prefix, (int)clean.n_bytes,
                      clean.n_bytes == 0 ? "" : (const char *)clean.bytes);
    else
        (void)fprintf(stderr, "%s: out of memory\n", prefix);
    hs_buffer_fini(&clean);
}

void hs_talk(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    talk_line("heapsnap", line);
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
    uint64_t rows = hs_tool_rows(inv);
    return (struct hs_sheet_options){
        .format = formats[hs_tool_format(inv)],
        .human = tool->terminal.is_terminal,
        .colour = tool->terminal.colour,
        .width = tool->terminal.width,
        .limit = rows == UINT64_MAX ? 0 : rows,
        .whole = whole,
    };
}

int hs_exit_code(hs_status status)
{
    static const int codes[HS_N_STATUS] = {
        [HS_OK] = 0, [HS_USAGE] = 2, [HS_TARGET] = 3, [HS_FORMAT] = 4,
        [HS_IO] = 5, [HS_LIMIT] = 6, [HS_BUG] = 70,
    };
    return status < HS_N_STATUS ? codes[status] : 70;
}
