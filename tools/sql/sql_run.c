/* Statements, one after the other, each with its answer. */
#include <string.h>

#include "base/alloc.h"
#include "sql_session.h"

static hs_status write_result(struct hs_sql_session *session, const char *text, size_t n_bytes,
                              struct hs_sql_result *result, struct hs_error *err)
{
    const char *paths[HS_SQL_SNAPSHOTS], *name;
    hs_auto_free char *query = NULL;
    unsigned n = 0;
    while (n < HS_SQL_SNAPSHOTS && hs_sql_attached(session->sql, n, &name, &paths[n]))
        n++;
    HS_TRY(HS_ALLOC(&query, n_bytes + 1, err));
    memcpy(query, text, n_bytes);
    const struct hs_sql_source_names names = {query, paths, n};
    return hs_sql_result_write(result, &names, &session->options, &session->tool->out, err);
}

static hs_status run_statements(struct hs_sql_session *session, const char *text,
                                struct hs_error *err)
{
    for (const char *rest = text; *rest != 0;) {
        struct hs_sql_result result = {0};
        const char *begin = rest;
        HS_TRY(hs_sql_run(session->sql, begin, &rest, &result, err));
        hs_status status = HS_OK;
        if (result.n_columns != 0)
            status = write_result(session, begin, (size_t)(rest - begin), &result, err);
        hs_sql_result_fini(&result);
        HS_TRY(status);
    }
    return HS_OK;
}

struct asked {
    struct hs_sql_session *session;
    const char *text;
};

static hs_status run_asked(struct hs_tool *tool, void *context, struct hs_error *err)
{
    const struct asked *asked = context;
    (void)tool; /* the session's own */
    return run_statements(asked->session, asked->text, err);
}

hs_status hs_sql_session_run(struct hs_sql_session *session, const char *text, struct hs_error *err)
{
    hs_status status;
    bool ends;
    if (hs_sql_session_command(session, text, &ends, &status, err))
        return status;
    if (session->apart.timeout_ns == 0)
        return run_statements(session, text, err);
    struct asked asked = {session, text};
    session->apart.work = run_asked;
    session->apart.context = &asked;
    return hs_apart_run(session->tool, &session->apart, err);
}
