/* A connection of our own: what it refuses, how long and how much it may, and its statements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "connection.h"

enum { STEPS_PER_LOOK = 20000, SQL_BYTES_MOST = 1 << 20, VALUE_BYTES_MOST = 16 << 20 };
/* ---- what is refused */

static bool is_allowed(int action, const char *second)
{
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return true;
    case SQLITE_FUNCTION:
        return second == NULL || (sqlite3_stricmp(second, "load_extension") != 0 &&
                                  sqlite3_stricmp(second, "fts3_tokenizer") != 0);
    default:
        return false;
    }
}

static const char *action_name(int action)
{
    switch (action) {
    case SQLITE_ATTACH:
        return "ATTACH";
    case SQLITE_DETACH:
        return "DETACH";
    case SQLITE_PRAGMA:
        return "PRAGMA";
    case SQLITE_FUNCTION:
        return "the function";
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
        return "a transaction";
    default:
        return "writing";
    }
}

static int authorise(void *context, int action, const char *first, const char *second,
                     const char *schema, const char *trigger)
{
    struct hs_sql_hub *hub = context;
    (void)first;
    (void)schema;
    (void)trigger;
    if (hub->is_setting_up || is_allowed(action, second))
        return SQLITE_OK;
    if (hub->denied[0] == 0)
        (void)snprintf(hub->denied, sizeof hub->denied, "%s%s%.40s", action_name(action),
                       action == SQLITE_FUNCTION ? " " : "",
                       action == SQLITE_FUNCTION ? second : "");
    return SQLITE_DENY;
}

/* ---- limits */

static int look_at_clock(void *context)
{
    struct hs_sql_hub *hub = context;
    struct hs_error err;
    return hs_progress_tell(&hub->progress, "running the query", 0, 0, &err) != HS_OK;
}

static void set_limits(sqlite3 *db)
{
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES_MOST);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MOST);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 200);
    sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 100);
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000);
    sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
}

/* Sets SQLite's memory, which is taken from the budget as a whole; what sorts more than a part of
 * it goes to files beside our other temporary ones. */
static hs_status set_memory(struct hs_sql *sql, const struct hs_sql_place *place,
                            struct hs_budget *budget, struct hs_error *err)
{
    char pragmas[160];
    uint64_t left = hs_budget_left_bytes(budget);
    uint64_t bytes = left == UINT64_MAX ? UINT64_MAX : left / place->part_of_memory;
    bytes = bytes > place->most_bytes ? place->most_bytes : bytes;
    bytes = bytes < place->least_bytes ? place->least_bytes : bytes;
    HS_TRY(hs_budget_reserve(budget, bytes, "SQLite", err));
    sql->reserved_bytes = bytes;
    if (place->is_hard)
        (void)sqlite3_hard_heap_limit64((sqlite3_int64)bytes);
    uint64_t cache_kib = bytes * place->cache_percent / 100 >> 10;
    (void)snprintf(
        pragmas, sizeof pragmas,
        "PRAGMA temp.cache_size=-%lu; PRAGMA temp_store=FILE; PRAGMA main.cache_size=-%lu",
        (unsigned long)cache_kib, (unsigned long)cache_kib); /* main's: of sorters */
    sql->hub->is_setting_up = true;
    (void)sqlite3_exec(sql->db, pragmas, NULL, NULL, NULL);
    sql->hub->is_setting_up = false;
    return HS_OK;
}

static hs_status set_directory(struct hs_sql *sql, const struct hs_budget *budget,
                               struct hs_error *err)
{
    sql->saved_directory = sqlite3_temp_directory;
    sqlite3_temp_directory = sqlite3_mprintf("%s", hs_spill_directory(budget));
    if (sqlite3_temp_directory == NULL) {
        sqlite3_temp_directory = sql->saved_directory;
        return hs_fail(err, HS_LIMIT, "out of memory for SQLite");
    }
    return HS_OK;
}

/* ---- life */

static hs_status open_db(const struct hs_session *session, const struct hs_sql_place *place,
                         struct hs_sql *sql, struct hs_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(place->path, &sql->db, flags, NULL);
    if (code != SQLITE_OK)
        return hs_fail(err, HS_LIMIT, "cannot begin SQLite: %s", sqlite3_errstr(code));
    set_limits(sql->db);
    HS_TRY(hs_sql_hub_new(sql->db, session, &sql->hub, err));
    HS_TRY(set_directory(sql, session->budget, err));
    HS_TRY(set_memory(sql, place, session->budget, err));
    (void)sqlite3_set_authorizer(sql->db, authorise, sql->hub);
    sqlite3_progress_handler(sql->db, STEPS_PER_LOOK, look_at_clock, sql->hub);
    return HS_OK;
}

hs_status hs_sql_open_at(const struct hs_session *session, const struct hs_sql_place *place,
                         const struct hs_sql_limits *limits, struct hs_sql **ret,
                         struct hs_error *err)
{
    struct hs_sql *sql;
    HS_TRY(HS_ALLOC(&sql, 1, err));
    sql->limits = *limits;
    hs_status status = open_db(session, place, sql, err);
    if (status != HS_OK) {
        hs_sql_close(sql);
        return status;
    }
    *ret = sql;
    return HS_OK;
}

hs_status hs_sql_open(const struct hs_session *session, const struct hs_sql_limits *limits,
                      struct hs_sql **ret, struct hs_error *err)
{
    static const struct hs_sql_place place = {.path = ":memory:",
                                              .least_bytes = 16 << 20,
                                              .most_bytes = 1 << 30,
                                              .part_of_memory = 8,
                                              .cache_percent = 25,
                                              .is_hard = true};
    return hs_sql_open_at(session, &place, limits, ret, err);
}

void hs_sql_close(struct hs_sql *sql)
{
    if (sql == NULL)
        return;
    struct hs_budget *budget = sql->hub != NULL ? sql->hub->session.budget : NULL;
    (void)sqlite3_close_v2(sql->db);
    hs_sql_hub_release(sql->hub);
    if (sqlite3_temp_directory != sql->saved_directory)
        sqlite3_free(sqlite3_temp_directory);
    sqlite3_temp_directory = sql->saved_directory;
    if (sql->reserved_bytes != 0)
        (void)sqlite3_hard_heap_limit64(0);
    hs_budget_release(budget, sql->reserved_bytes);
    hs_free(sql);
}

hs_status hs_sql_attach(struct hs_sql *sql, const char *path, const char *name,
                        struct hs_error *err)
{
    char numbered[16];
    (void)snprintf(numbered, sizeof numbered, "s%u", sql->hub->n_sources + 1);
    hs_sql_hub_begin(sql->hub, 0);
    return hs_sql_hub_attach(sql->hub, path, name != NULL ? name : numbered, err);
}

bool hs_sql_attached(const struct hs_sql *sql, unsigned at, const char **ret_name,
                     const char **ret_path)
{
    if (at >= sql->hub->n_sources)
        return false;
    *ret_name = sql->hub->sources[at]->name;
    *ret_path = sql->hub->sources[at]->path;
    return true;
}

unsigned hs_sql_word_bytes(const struct hs_sql *sql)
{
    const struct hs_sql_source *first = hs_sql_hub_find(sql->hub, NULL);
    return first != NULL ? first->view.facts->word_bytes : 8;
}

bool hs_sql_is_complete(const char *text)
{
    return sqlite3_complete(text) != 0;
}

/* ---- statements */

static hs_status status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
    case SQLITE_TOOBIG:
        return HS_LIMIT;
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return HS_IO;
    default:
        return HS_USAGE;
    }
}

/* Reports a failure, from the nearest cause to it: a table, the clock, the authorizer, SQLite. */
hs_status hs_sql_fail(const struct hs_sql *sql, int code, struct hs_error *err)
{
    const struct hs_sql_hub *hub = sql->hub;
    if (hub->is_late) {
        (void)hs_fail(err, HS_LIMIT, "the query takes longer than %.3g s",
                      (double)sql->limits.timeout_ns / 1e9);
        return hs_hint(err, "%s",
                       sql->limits.late_hint != NULL
                           ? sql->limits.late_hint
                           : "allow more with --timeout, or ask for less");
    }
    if (hub->has_failed) {
        *err = hub->error;
        return err->status;
    }
    if (hub->denied[0] != 0) {
        (void)hs_fail(err, HS_USAGE, "cannot run this: %s is refused", hub->denied);
        return hs_hint(err, "queries only read; .attach FILE NAME takes one more snapshot");
    }
    if ((code & 0xff) == SQLITE_INTERRUPT)
        return hs_fail(err, HS_LIMIT, "interrupted");
    if ((code & 0xff) == SQLITE_NOMEM) {
        (void)hs_fail(err, HS_LIMIT, "the query needs more memory than SQLite may take here");
        return hs_hint(err, "allow more with --memory, or ask for less");
    }
    hs_status status = status_of(code);
    int number = sqlite3_system_errno(sql->db);
    if (status == HS_IO && number != 0) {
        (void)hs_fail(err, status, "cannot run this: %s: %s", sqlite3_errmsg(sql->db),
                      strerror(number));
        return hs_hint(err, "what is sorted beyond --memory goes to files in --spill-dir");
    }
    (void)hs_fail(err, status, "cannot run this: %s", sqlite3_errmsg(sql->db));
    return status == HS_USAGE ? hs_hint(err, ".tables, .schema and .questions tell what there is")
                              : status;
}

static enum hs_sql_display display_of(const char *type)
{
    if (type != NULL && sqlite3_stricmp(type, "WORDS") == 0)
        return HS_SQL_WORDS;
    return type != NULL && sqlite3_stricmp(type, "ADDRESS") == 0 ? HS_SQL_ADDRESS : HS_SQL_PLAIN;
}

static hs_status name_columns(sqlite3_stmt *statement, struct hs_sql_result *result,
                              struct hs_error *err)
{
    size_t n = (size_t)sqlite3_column_count(statement);
    HS_TRY(HS_ALLOC(&result->columns, n, err));
    result->n_columns = n;
    for (size_t i = 0; i < n; i++) {
        const char *name = sqlite3_column_name(statement, (int)i);
        if (name == NULL)
            return hs_fail(err, HS_LIMIT, "out of memory for a name");
        HS_TRY(hs_strdup(name, &result->columns[i].name, err));
        result->columns[i].display = display_of(sqlite3_column_decltype(statement, (int)i));
    }
    return HS_OK;
}

static void read_row(sqlite3_stmt *statement, size_t n, struct hs_sql_cell *cells)
{
    static const enum hs_sql_kind kinds[] = {[SQLITE_INTEGER] = HS_SQL_INTEGER,
                                             [SQLITE_FLOAT] = HS_SQL_REAL,
                                             [SQLITE_TEXT] = HS_SQL_TEXT,
                                             [SQLITE_BLOB] = HS_SQL_BLOB,
                                             [SQLITE_NULL] = HS_SQL_NULL};
    for (size_t i = 0; i < n; i++) {
        int at = (int)i;
        struct hs_sql_cell cell = {.kind = kinds[sqlite3_column_type(statement, at)]};
        if (cell.kind == HS_SQL_INTEGER)
            cell.integer = sqlite3_column_int64(statement, at);
        else if (cell.kind == HS_SQL_REAL)
            cell.real = sqlite3_column_double(statement, at);
        else if (cell.kind == HS_SQL_TEXT)
            cell.text = (const char *)sqlite3_column_text(statement, at);
        else if (cell.kind == HS_SQL_BLOB)
            cell.text = sqlite3_column_blob(statement, at);
        cell.n_bytes = cell.text != NULL ? (size_t)sqlite3_column_bytes(statement, at) : 0;
        cells[i] = cell;
    }
}

static hs_status collect(struct hs_sql *sql, sqlite3_stmt *statement, struct hs_sql_result *result,
                         struct hs_error *err)
{
    hs_auto_free struct hs_sql_cell *cells = NULL;
    int code;
    HS_TRY(name_columns(statement, result, err));
    HS_TRY(HS_ALLOC(&cells, result->n_columns, err));
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        read_row(statement, result->n_columns, cells);
        HS_TRY(hs_sql_result_add(result, cells, err));
    }
    if (code != SQLITE_DONE)
        return hs_sql_fail(sql, code, err);
    return hs_sql_hub_check(sql->hub, HS_OK, err);
}

static hs_status run(struct hs_sql *sql, const char *text, const char **ret_rest,
                     struct hs_sql_result *result, struct hs_error *err)
{
    sqlite3_stmt *statement = NULL;
    hs_status status = HS_OK;
    const char *rest = text;
    while (statement == NULL && *rest != 0) { /* what is only a comment is skipped */
        int code = sqlite3_prepare_v2(sql->db, rest, -1, &statement, &rest);
        if (code != SQLITE_OK)
            return hs_sql_fail(sql, code, err);
    }
    if (statement != NULL)
        status = collect(sql, statement, result, err);
    (void)sqlite3_finalize(statement);
    if (status == HS_OK)
        *ret_rest = rest;
    return status;
}

hs_status hs_sql_run(struct hs_sql *sql, const char *text, const char **ret_rest,
                     struct hs_sql_result *ret, struct hs_error *err)
{
    struct hs_sql_result result = {.budget = sql->hub->session.budget};
    hs_sql_hub_begin(sql->hub, sql->limits.timeout_ns);
    if (sql->limits.clock != NULL)
        sql->limits.clock(sql->limits.context, true);
    hs_status status = run(sql, text, ret_rest, &result, err);
    if (sql->limits.clock != NULL)
        sql->limits.clock(sql->limits.context, false);
    sql->hub->deadline_ns = 0;
    if (status == HS_OK)
        *ret = result;
    else
        hs_sql_result_fini(&result);
    return status;
}
