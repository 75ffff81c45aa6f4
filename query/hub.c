/* The snapshots of one connection, their tables and their clock. */
#include "hub.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "functions.h"
#include "kept.h"
#include "tables.h"

static const struct hs_sql_table *const all_tables[] = {
#define HS_SQL_TABLE_LISTED(name) &hs_sql_table_##name,
    HS_SQL_TABLES(HS_SQL_TABLE_LISTED)
#undef HS_SQL_TABLE_LISTED
};
enum { N_TABLES = sizeof all_tables / sizeof *all_tables };

size_t hs_sql_n_tables(void)
{
    return N_TABLES;
}

struct hs_sql_table_facts hs_sql_table_at(size_t at)
{
    const struct hs_sql_table *table = all_tables[at];
    return (struct hs_sql_table_facts){table->name, table->columns, table->argument != 0};
}

/* ---- the clock */

/* Tells the progress of long work inside of a row, and asks it to end when the time is over. */
static bool tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct hs_sql_hub *hub = context;
    const struct hs_progress *outer = hub->session.progress;
    if (hub->deadline_ns != 0 && hs_now_ns() >= hub->deadline_ns) {
        hub->is_late = true;
        return false;
    }
    return outer == NULL || outer->tell == NULL || outer->tell(outer->context, phase, done, total);
}

/* ---- life */

static void source_free(struct hs_sql_source *source)
{
    if (source == NULL)
        return;
    hs_sql_kept_free(source->kept);
    if (source->view.snap != NULL)
        hs_view_close(&source->view);
    hs_free(source->name);
    hs_free(source->path);
    hs_free(source);
}

void hs_sql_hub_release(struct hs_sql_hub *hub)
{
    if (hub == NULL || --hub->n_refs != 0)
        return;
    for (unsigned i = 0; i < hub->n_sources; i++)
        source_free(hub->sources[i]);
    hs_free(hub->entries);
    hs_free(hub);
}

static void release(void *entry)
{
    hs_sql_hub_release(((struct hs_sql_entry *)entry)->hub);
}

static hs_status fail_code(sqlite3 *db, int code, struct hs_error *err)
{
    hs_status status = code == SQLITE_NOMEM ? HS_LIMIT : HS_BUG;
    return hs_fail(err, status, "cannot set up SQL: %s", sqlite3_errmsg(db));
}

static hs_status register_all(struct hs_sql_hub *hub, struct hs_error *err)
{
    for (unsigned i = 0; i < N_TABLES; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "heapsnap_%s", all_tables[i]->name);
        hub->entries[i] = (struct hs_sql_entry){hub, all_tables[i]};
        hub->n_refs++; /* which SQLite releases, also when this fails */
        int code =
            sqlite3_create_module_v2(hub->db, name, &hs_sql_module, &hub->entries[i], release);
        if (code != SQLITE_OK)
            return fail_code(hub->db, code, err);
    }
    int code = hs_sql_functions_register(hub);
    return code == SQLITE_OK ? HS_OK : fail_code(hub->db, code, err);
}

hs_status hs_sql_hub_new(sqlite3 *db, const struct hs_session *session, struct hs_sql_hub **ret,
                         struct hs_error *err)
{
    struct hs_sql_hub *hub;
    HS_TRY(HS_ALLOC(&hub, 1, err));
    hub->db = db;
    hub->n_refs = 1;
    hub->error = (struct hs_error)HS_ERROR_INIT;
    hub->session = *session;
    hub->progress = (struct hs_progress){tell, hub};
    hs_status status = HS_ALLOC(&hub->entries, N_TABLES, err);
    if (status == HS_OK)
        status = register_all(hub, err);
    if (status != HS_OK) {
        hs_sql_hub_release(hub);
        return status;
    }
    *ret = hub;
    return HS_OK;
}

/* ---- snapshots */

static hs_status check_name(const struct hs_sql_hub *hub, const char *name, struct hs_error *err)
{
    static const char *const taken[] = {"main", "temp"};
    bool is_word = isalpha((unsigned char)name[0]) || name[0] == '_';
    for (const char *at = name; *at != 0 && is_word; at++)
        is_word = isalnum((unsigned char)*at) || *at == '_';
    if (!is_word || strlen(name) > 60)
        return hs_fail(err, HS_USAGE, "'%.60s' is no name for a snapshot: letters, digits and _",
                       name);
    bool is_taken = hs_sql_hub_find(hub, name) != NULL;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        is_taken |= sqlite3_stricmp(taken[i], name) == 0;
    return is_taken ? hs_fail(err, HS_USAGE, "the name '%s' is taken", name) : HS_OK;
}

static void give_back(void *lender, const struct hs_view *view)
{
    struct hs_view *lent = lender;
    void *next_lender = lent->lender;
    void (*next)(void *, const struct hs_view *) = lent->give_back;
    *lent = *view;
    lent->lender = next_lender;
    lent->give_back = next;
}

static hs_status open_source(struct hs_sql_hub *hub, const char *path, const char *name,
                             struct hs_view *lent, struct hs_sql_source *source,
                             struct hs_error *err)
{
    struct hs_session session = hub->session;
    session.progress = &hub->progress;
    source->hub = hub;
    HS_TRY(hs_strdup(name, &source->name, err));
    HS_TRY(hs_strdup(path, &source->path, err));
    HS_TRY(hs_sql_kept_new(&source->kept, err));
    if (lent == NULL)
        return hs_view_open(&session, source->path, HS_VIEW_INDEX, &source->view, err);
    source->view = *lent;
    source->view.lender = lent;
    source->view.give_back = give_back;
    return HS_OK;
}

static hs_status exec(struct hs_sql_hub *hub, char *statement, struct hs_error *err)
{
    int code =
        statement == NULL ? SQLITE_NOMEM : sqlite3_exec(hub->db, statement, NULL, NULL, NULL);
    sqlite3_free(statement);
    if (code == SQLITE_OK)
        return HS_OK;
    if (hub->n_sources == HS_SQL_SNAPSHOTS || code == SQLITE_ERROR)
        return hs_fail(err, HS_USAGE, "cannot attach more: %s", sqlite3_errmsg(hub->db));
    return fail_code(hub->db, code, err);
}

static hs_status make_schema(struct hs_sql_hub *hub, const char *name, struct hs_error *err)
{
    HS_TRY(exec(hub, sqlite3_mprintf("ATTACH ':memory:' AS \"%w\"", name), err));
    for (unsigned i = 0; i < N_TABLES; i++)
        HS_TRY(exec(hub,
                    sqlite3_mprintf("CREATE VIRTUAL TABLE \"%w\".%s USING heapsnap_%s", name,
                                    all_tables[i]->name, all_tables[i]->name),
                    err));
    for (size_t i = 0; i < hs_sql_n_questions; i++)
        HS_TRY(exec(hub,
                    sqlite3_mprintf("CREATE VIEW \"%w\".%s AS %s", name, hs_sql_questions[i].name,
                                    hs_sql_questions[i].sql),
                    err));
    return HS_OK;
}

/* Undoes a snapshot that was attached by half: its name may be used again. */
static void undo(struct hs_sql_hub *hub, struct hs_sql_source *source)
{
    struct hs_error err;
    (void)!exec(hub, sqlite3_mprintf("DETACH \"%w\"", source->name), &err);
    hub->n_sources--;
    source_free(source);
}

/* `lent`: NULL to open the file. */
static hs_status attach(struct hs_sql_hub *hub, const char *path, const char *name,
                        struct hs_view *lent, struct hs_error *err)
{
    struct hs_sql_source *source;
    HS_TRY(check_name(hub, name, err));
    if (hub->n_sources == HS_SQL_SNAPSHOTS)
        return hs_fail(err, HS_USAGE, "cannot attach '%s': %u snapshots are the most", path,
                       hub->n_sources);
    HS_TRY(HS_ALLOC(&source, 1, err));
    hs_status status = open_source(hub, path, name, lent, source, err);
    if (status != HS_OK) {
        source_free(source);
        return status;
    }
    hub->sources[hub->n_sources++] = source;
    hub->is_setting_up = true;
    status = make_schema(hub, name, err);
    if (status != HS_OK)
        undo(hub, source);
    hub->is_setting_up = false;
    return status;
}

hs_status hs_sql_hub_attach(struct hs_sql_hub *hub, const char *path, const char *name,
                            struct hs_error *err)
{
    return attach(hub, path, name, /* lent= */ NULL, err);
}

hs_status hs_sql_hub_lend(struct hs_sql_hub *hub, struct hs_view *view, const char *name,
                          struct hs_error *err)
{
    return attach(hub, view->path, name, view, err);
}
