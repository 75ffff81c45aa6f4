/* SQLite's side of every table: struct hs_sql_table made a module. */
#include <string.h>

#include "base/alloc.h"
#include "hub.h"
#include "value.h"

static struct hs_sql_cursor *cursor_of(sqlite3_vtab_cursor *base)
{
    return (struct hs_sql_cursor *)base;
}

/* Returns the code of a failure for SQLite; who runs the statement finds it whole in the hub. */
static int failed(sqlite3_vtab *vtab, struct hs_sql_hub *hub)
{
    hub->has_failed = true;
    if (vtab != NULL) {
        sqlite3_free(vtab->zErrMsg);
        vtab->zErrMsg = sqlite3_mprintf("%s", hub->error.message);
    }
    return hub->error.status == HS_LIMIT && hub->is_late ? SQLITE_INTERRUPT : SQLITE_ERROR;
}

static int declare(sqlite3 *db, const struct hs_sql_table *table)
{
    char *text = sqlite3_mprintf("CREATE TABLE x(%s)", table->columns);
    if (text == NULL)
        return SQLITE_NOMEM;
    int code = sqlite3_declare_vtab(db, text);
    sqlite3_free(text);
    return code == SQLITE_OK ? sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS) : code;
}

static int table_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **ret, char **message)
{
    const struct hs_sql_entry *entry = aux;
    struct hs_error err;
    struct hs_sql_source *source = argc > 1 ? hs_sql_hub_find(entry->hub, argv[1]) : NULL;
    if (source == NULL) {
        *message = sqlite3_mprintf("no snapshot is attached as '%s'", argc > 1 ? argv[1] : "");
        return SQLITE_ERROR;
    }
    int code = declare(db, entry->table);
    if (code != SQLITE_OK)
        return code;
    struct hs_sql_vtab *vtab;
    if (HS_ALLOC(&vtab, 1, &err) != HS_OK)
        return SQLITE_NOMEM;
    vtab->source = source;
    vtab->table = entry->table;
    *ret = &vtab->base;
    return SQLITE_OK;
}

/* Creates a table: another function than connect, else there would be a table of the module's name
 * without a snapshot. */
static int table_create(sqlite3 *db, void *aux, int argc, const char *const *argv,
                        sqlite3_vtab **ret, char **message)
{
    return table_connect(db, aux, argc, argv, ret, message);
}

static int table_disconnect(sqlite3_vtab *vtab)
{
    hs_free(vtab);
    return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
    const struct hs_sql_vtab *vtab = (const struct hs_sql_vtab *)base;
    size_t n_bytes = vtab->table->cursor_bytes;
    struct hs_error err;
    void *memory;
    if (n_bytes == 0)
        n_bytes = sizeof(struct hs_sql_cursor);
    if (hs_alloc(1, n_bytes, &memory, &err) != HS_OK)
        return SQLITE_NOMEM;
    struct hs_sql_cursor *cursor = memory;
    cursor->source = vtab->source;
    cursor->table = vtab->table;
    *ret = &cursor->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *base)
{
    struct hs_sql_cursor *cursor = cursor_of(base);
    if (cursor->table->fini != NULL)
        cursor->table->fini(cursor);
    hs_free(cursor);
    return SQLITE_OK;
}

/* Returns the code for a row. Damage of an index makes answers empty: rows that end too early must
 * not look like the end. */
static int at_row(struct hs_sql_cursor *cursor, hs_status status)
{
    struct hs_sql_hub *hub = cursor->source->hub;
    if (status == HS_OK && cursor->at_end)
        status = hs_view_check(&cursor->source->view, status, &hub->error);
    return status == HS_OK ? SQLITE_OK : failed(cursor->base.pVtab, hub);
}

static hs_status list_filter(struct hs_sql_cursor *cursor, const struct hs_sql_plan *plan,
                             struct hs_error *err)
{
    uint64_t n = 0;
    HS_TRY(cursor->table->count(cursor, &n, err));
    uint64_t first = (uint64_t)cursor->table->first_id, end = first + n;
    if (plan->key >= 0 && cursor->table->keys[plan->key].column == 0)
        hs_sql_range(plan, &first, &end);
    cursor->row = first - (uint64_t)cursor->table->first_id;
    cursor->end = end - (uint64_t)cursor->table->first_id;
    cursor->at_end = cursor->row >= cursor->end;
    return HS_OK;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int number, const char *text, int n,
                         sqlite3_value **values)
{
    struct hs_sql_cursor *cursor = cursor_of(base);
    struct hs_error *err = &cursor->source->hub->error;
    struct hs_sql_plan plan;
    hs_sql_plan_read(cursor->table, number, text, values, n, &plan);
    cursor->row = 0;
    cursor->at_end = false;
    return at_row(cursor, cursor->table->count != NULL ? list_filter(cursor, &plan, err)
                                                       : cursor->table->filter(cursor, &plan, err));
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
    struct hs_sql_cursor *cursor = cursor_of(base);
    if (cursor->table->count == NULL) {
        hs_status status = cursor->table->next(cursor, &cursor->source->hub->error);
        if (__builtin_expect(status == HS_OK && !cursor->at_end, 1))
            return SQLITE_OK;
        return at_row(cursor, status);
    }
    cursor->at_end = ++cursor->row >= cursor->end;
    return cursor->at_end ? at_row(cursor, HS_OK) : SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
    return cursor_of(base)->at_end;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *ret, int column)
{
    struct hs_sql_cursor *cursor = cursor_of(base);
    struct hs_sql_hub *hub = cursor->source->hub;
    if (cursor->table->column(cursor, ret, column, &hub->error) == HS_OK)
        return SQLITE_OK;
    int code = failed(NULL, hub);
    sqlite3_result_error(ret, hub->error.message, -1);
    return code;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
    const struct hs_sql_cursor *cursor = cursor_of(base);
    *ret =
        (sqlite3_int64)cursor->row + (cursor->table->count != NULL ? cursor->table->first_id : 0);
    return SQLITE_OK;
}

const sqlite3_module hs_sql_module = {
    .xCreate = table_create,
    .xConnect = table_connect,
    .xBestIndex = hs_sql_plan_best,
    .xDisconnect = table_disconnect,
    .xDestroy = table_disconnect,
    .xOpen = cursor_open,
    .xClose = cursor_close,
    .xFilter = cursor_filter,
    .xNext = cursor_next,
    .xEof = cursor_eof,
    .xColumn = cursor_column,
    .xRowid = cursor_rowid,
};
