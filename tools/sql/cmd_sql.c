/* sql: questions in SQL. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "look/open_view.h"
#include "sql_session.h"

/* Tells whether an argument is a query, and no file: it has a blank, or is a dot command or a
 * single word. */
static bool is_query(const char *text)
{
    if (access(text, F_OK) == 0)
        return false;
    bool is_word = true;
    for (const char *at = text + (text[0] == '.'); *at != 0; at++) {
        if (isspace((unsigned char)*at) || *at == ';')
            return true;
        is_word &= isalnum((unsigned char)*at) || *at == '_';
    }
    return is_word && text[0] != 0;
}

static const struct hs_sql_question *find_question(const char *name)
{
    for (size_t i = 0; i < hs_sql_n_questions; i++)
        if (strcmp(hs_sql_questions[i].name, name) == 0)
            return &hs_sql_questions[i];
    return NULL;
}

/* Finds the query: a single word is a stored question. */
static hs_status query_of(const char *text, char *statement, size_t n, const char **ret,
                          struct hs_error *err)
{
    *ret = text;
    if (text[0] == '.' || strpbrk(text, " \t\r\n;") != NULL)
        return HS_OK;
    if (find_question(text) == NULL) {
        (void)hs_fail(err, HS_USAGE, "'%s' is neither a file nor a stored question", text);
        return hs_hint(err, "'heapsnap sql SNAP .questions' lists them");
    }
    (void)snprintf(statement, n, "SELECT * FROM %s", text);
    *ret = statement;
    return HS_OK;
}

static hs_status run(struct hs_sql_session *session, struct hs_error *err)
{
    const struct hs_invocation *inv = session->inv;
    unsigned n = inv->n_arguments;
    char statement[128];
    const char *query = NULL;
    if (n > 1 && is_query(inv->arguments[n - 1]))
        HS_TRY(query_of(inv->arguments[--n], statement, sizeof statement, &query, err));
    for (unsigned i = 0; i < n; i++)
        HS_TRY(hs_sql_attach(session->sql, inv->arguments[i], NULL, err));
    session->options.word_bytes = hs_sql_word_bytes(session->sql);
    return query != NULL ? hs_sql_session_run(session, query, err)
                         : hs_sql_session_read(session, err);
}

hs_status hs_cmd_sql(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_sql_session session = {
        .tool = tool, .inv = inv, .options = hs_tool_sheet(tool, inv, 0)};
    const struct hs_session lent = hs_tool_session(tool, inv->arguments[0]);
    struct hs_sql_limits limits = {0};
    if (hs_given(inv, HS_OPT_TIMEOUT)) {
        limits = (struct hs_sql_limits){.timeout_ns = inv->number[HS_OPT_TIMEOUT],
                                        .clock = hs_apart_clock,
                                        .context = &session.apart};
        session.apart.timeout_ns = limits.timeout_ns;
    }
    hs_timings_enter(&tool->timings, "opening");
    HS_TRY(hs_sql_open(&lent, &limits, &session.sql, err));
    hs_timings_enter(&tool->timings, "answering");
    hs_status status = run(&session, err);
    hs_sql_close(session.sql);
    return status;
}
