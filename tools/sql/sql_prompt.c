/* Statements from standard input: at a terminal with a prompt, line editing and a history. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "sql_session.h"

#if HS_HAVE_EDIT
#include <editline/readline.h>
#endif

/* The limits of statement, history and paths; the reader of lines itself bounds nothing. */
enum { TEXT_MOST = 1 << 20, HISTORY_LINES = 1000, PATH_BYTES = 4096 };

struct lines {
    bool is_edited;
    char history[PATH_BYTES]; /* empty: none is kept */
    char *line;               /* owned: the last, as getline or libedit made it */
    size_t capacity;
};

/* Finds the history: $XDG_STATE_HOME/heapsnap/sql_history (XDG base directories). */
static void find_history(struct lines *lines)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char directory[PATH_BYTES - 32] = "";
    int n = 0;
    if (state != NULL && state[0] == '/')
        n = snprintf(directory, sizeof directory, "%s/heapsnap", state);
    else if (home != NULL && home[0] == '/')
        n = snprintf(directory, sizeof directory, "%s/.local/state/heapsnap", home);
    if (n <= 0 || (size_t)n >= sizeof directory)
        return;
    (void)mkdir(directory, 0700); /* where its parent is missing there is no history */
    if (access(directory, W_OK) == 0)
        (void)snprintf(lines->history, sizeof lines->history, "%s/sql_history", directory);
}

static void lines_open(struct lines *lines, bool is_prompt)
{
    lines->is_edited = is_prompt && HS_HAVE_EDIT;
#if HS_HAVE_EDIT
    if (!lines->is_edited)
        return;
    find_history(lines);
    using_history();
    stifle_history(HISTORY_LINES);
    if (lines->history[0] != 0)
        (void)read_history(lines->history);
#else
    (void)find_history;
#endif
}

static void lines_close(struct lines *lines)
{
#if HS_HAVE_EDIT
    if (lines->history[0] != 0) {
        mode_t mask = umask(077);
        (void)write_history(lines->history);
        (void)umask(mask);
    }
#endif
    free(lines->line);
}

/* Reads the next line; NULL at the end. */
static const char *lines_next(struct lines *lines, const char *prompt)
{
#if HS_HAVE_EDIT
    if (lines->is_edited) {
        free(lines->line);
        lines->line = readline(prompt);
        if (lines->line != NULL && lines->line[0] != 0)
            (void)add_history(lines->line);
        return lines->line;
    }
#endif
    if (prompt[0] != 0) {
        (void)fputs(prompt, stdout);
        (void)fflush(stdout);
    }
    ssize_t n = getline(&lines->line, &lines->capacity, stdin);
    return n < 0 ? NULL : lines->line;
}

hs_status hs_sql_session_flush(struct hs_sql_session *session, struct hs_error *err)
{
    struct hs_tool *tool = session->tool;
    if (hs_given(session->inv, HS_OPT_OUTPUT))
        return HS_OK;
    HS_TRY(hs_out_commit(&tool->out, err));
    hs_out_close(&tool->out);
    tool->out = (struct hs_out){0};
    return hs_out_open_fd(STDOUT_FILENO, "standard output", &tool->out, err);
}

static hs_status append(struct hs_buffer *text, const char *line, struct hs_error *err)
{
    size_t n = strlen(line);
    if (text->n_bytes + n > TEXT_MOST)
        return hs_fail(err, HS_USAGE, "the statement is longer than %d bytes", TEXT_MOST);
    HS_TRY(hs_buffer_reserve(text, n + 2, err));
    hs_buffer_put_bytes(text, line, n);
    if (n == 0 || line[n - 1] != '\n')
        hs_buffer_put_u8(text, '\n');
    text->bytes[text->n_bytes] = 0;
    return HS_OK;
}

/* A failure ends a script; who sits at a prompt is told and goes on. */
static hs_status settle(struct hs_sql_session *session, hs_status status, struct hs_error *err)
{
    if (status == HS_OK)
        return hs_sql_session_flush(session, err);
    if (!session->is_prompt || err->status == HS_FORMAT || err->status == HS_IO ||
        hs_tool_interrupted() != 0)
        return status;
    hs_talk_error(err);
    *err = (struct hs_error)HS_ERROR_INIT;
    return HS_OK;
}

static hs_status take_line(struct hs_sql_session *session, struct hs_buffer *text, const char *line,
                           bool *ret_ends, struct hs_error *err)
{
    hs_status status;
    if (text->n_bytes == 0 && line[strspn(line, " \t\r\n")] == 0)
        return HS_OK;
    if (text->n_bytes == 0 && hs_sql_session_command(session, line, ret_ends, &status, err))
        return settle(session, status, err);
    HS_TRY(append(text, line, err));
    if (!hs_sql_is_complete((const char *)text->bytes))
        return HS_OK;
    status = hs_sql_session_run(session, (const char *)text->bytes, err);
    text->n_bytes = 0;
    return settle(session, status, err);
}

static hs_status read_all(struct hs_sql_session *session, struct lines *lines,
                          struct hs_buffer *text, struct hs_error *err)
{
    bool ends = false;
    const char *line;
    while (!ends) {
        const char *prompt = text->n_bytes == 0 ? "sql> " : "...> ";
        line = lines_next(lines, session->is_prompt ? prompt : "");
        if (hs_tool_interrupted() != 0)
            return hs_fail(err, HS_LIMIT, "interrupted");
        if (line == NULL)
            break;
        HS_TRY(take_line(session, text, line, &ends, err));
    }
    if (text->n_bytes == 0)
        return HS_OK;
    return settle(session, hs_sql_session_run(session, (const char *)text->bytes, err), err);
}

hs_status hs_sql_session_read(struct hs_sql_session *session, struct hs_error *err)
{
    struct lines lines = {0};
    struct hs_buffer text = {0};
    session->is_prompt = isatty(STDIN_FILENO) && session->tool->terminal.is_terminal;
    if (session->is_prompt)
        hs_talk(".questions lists stored questions, .tables the tables, .quit ends");
    lines_open(&lines, session->is_prompt);
    hs_status status = read_all(session, &lines, &text, err);
    lines_close(&lines);
    hs_buffer_fini(&text);
    return status;
}
