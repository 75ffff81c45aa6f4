#include "ask.h"

#include <string.h>

#include "analysis/key_file.h"
#include "base/alloc.h"
#include "base/parts.h"
#include "look/open_view.h"
#include "lost_file.h"
#include "viewer/key_columns.h"
#if HS_WITH_SQL
#include "apart.h"
#include "query/query.h"
#endif

static hs_status ask_command(struct hs_tool *tool, const struct hs_question *question,
                             struct hs_error *err)
{
    char *words[HS_SERVER_WORDS + 2] = {"heapsnap"}; /* the parser changes none of them */
    struct hs_invocation *inv = NULL;
    int n = 1;
    for (size_t i = 0; i < question->n_words; i++)
        words[n++] = (char *)(uintptr_t)question->words[i];
    HS_TRY(HS_ALLOC(&inv, 1, err));
    hs_status status = hs_parse(n, words, inv, err);
    if (status == HS_OK && (inv->wants_help || inv->wants_short_help))
        status = hs_fail(err, HS_USAGE, "'--help' names no object"); /* it counts behind -- too */
    if (status == HS_OK)
        status = inv->command->run(tool, inv, err);
    hs_free(inv);
    return status;
}

static hs_status ask_keys(struct hs_tool *tool, const struct hs_question *question,
                          struct hs_error *err)
{
    const struct hs_keys_query query = {0};
    struct hs_buffer columns = {0};
    struct hs_view view = {0};
    struct hs_keys keys = {0};
    bool is_kept = false;
    HS_TRY(hs_tool_open_view(tool, question->served->path, HS_VIEW_INDEX, &view, err));
    hs_status status = hs_key_file_keys(&view, &keys, &is_kept, err);
    if (status == HS_OK && !is_kept)
        status = hs_keys_find(&view, &query, &keys, err);
    if (status == HS_OK) {
        status = hs_key_columns_write(&keys, &view, question->limit, &columns, err);
        hs_keys_fini(&keys);
    }
    if (status == HS_OK)
        status = hs_out_write(&tool->out, columns.bytes, columns.n_bytes, err);
    hs_buffer_fini(&columns);
    return hs_view_finish(&view, status, err);
}

#if HS_WITH_SQL
#define SQL_TIMEOUT_NS ((uint64_t)5 * 1000000000)
enum { SQL_MOST_ROWS = 100000 };

static hs_status check_result(const struct hs_sql_result *result, const char *rest,
                              struct hs_error *err)
{
    if (rest[strspn(rest, " \t\r\n;")] != '\0')
        return hs_fail(err, HS_USAGE, "one statement at a time");
    if (result->n_columns == 0)
        return hs_fail(err, HS_USAGE, "this statement has no answer");
    if (result->n_rows <= SQL_MOST_ROWS)
        return HS_OK;
    (void)hs_fail(err, HS_LIMIT, "the answer has more than %d rows", SQL_MOST_ROWS);
    return hs_hint(err, "end the query with 'limit %d'", SQL_MOST_ROWS);
}

static hs_status run_sql(struct hs_tool *tool, struct hs_sql *sql,
                         const struct hs_question *question, struct hs_error *err)
{
    const char *path = question->served->path, *rest;
    const struct hs_sql_source_names names = {question->sql, &path, 1};
    struct hs_sheet_options options = {.format = HS_SHEET_JSON, .limit = UINT64_MAX};
    struct hs_sql_result result = {0};
    HS_TRY(hs_sql_attach(sql, path, NULL, err));
    options.word_bytes = hs_sql_word_bytes(sql);
    HS_TRY(hs_sql_run(sql, question->sql, &rest, &result, err));
    hs_status status = check_result(&result, rest, err);
    if (status == HS_OK)
        status = hs_sql_result_write(&result, &names, &options, &tool->out, err);
    hs_sql_result_fini(&result);
    return status;
}

struct sql_asked {
    const struct hs_question *question;
    struct hs_apart *apart;
};

/* Answers in a process of its own, whose budget the server's views do not use up. */
static hs_status open_and_run(struct hs_tool *tool, void *context, struct hs_error *err)
{
    const struct sql_asked *asked = context;
    const struct hs_sql_limits limits = {.timeout_ns = SQL_TIMEOUT_NS,
                                         .clock = hs_apart_clock,
                                         .context = asked->apart,
                                         .late_hint = "ask for less, or use 'heapsnap sql'"};
    struct hs_sql *sql = NULL;
    tool->budget.used_bytes = HS_BUDGET_BASE_BYTES;
    tool->budget.caches = NULL;
    const struct hs_session lent = hs_tool_session(tool, asked->question->served->path);
    HS_TRY(hs_sql_open(&lent, &limits, &sql, err));
    hs_status status = run_sql(tool, sql, asked->question, err);
    hs_sql_close(sql);
    if (hs_lost_file_met())
        status = hs_fail(err, HS_IO, "'%s' was cut short while it was read",
                         asked->question->served->path);
    return status;
}

static hs_status ask_sql(struct hs_tool *tool, const struct hs_question *question,
                         struct hs_error *err)
{
    struct sql_asked asked = {.question = question};
    struct hs_apart apart = {.work = open_and_run,
                             .context = &asked,
                             .timeout_ns = SQL_TIMEOUT_NS,
                             .goes_on = tool->progress};
    asked.apart = &apart;
    return hs_apart_run(tool, &apart, err);
}
#else
static hs_status ask_sql(struct hs_tool *tool, const struct hs_question *question,
                         struct hs_error *err)
{
    (void)tool;
    (void)question;
    return hs_fail(err, HS_USAGE, "this heapsnap was built without SQL");
}
#endif

hs_status hs_ask(struct hs_tool *tool, const struct hs_question *question, struct hs_error *err)
{
    switch (question->kind) {
    case HS_QUESTION_KEYS:
        return ask_keys(tool, question, err);
    case HS_QUESTION_SQL:
        return ask_sql(tool, question, err);
    case HS_QUESTION_COMMAND:
    default:
        return ask_command(tool, question, err);
    }
}
