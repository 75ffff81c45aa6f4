/* libheapsnap_sqlite.so: the tables for anybody's SQLite.
 *
 *     .load ./libheapsnap_sqlite
 *     select heapsnap_attach('heap.snap');       its tables are s1.blocks, ...; or blocks
 */
#include <stdio.h>

#include "hub.h"

SQLITE_EXTENSION_INIT1

enum { OLDEST_VERSION = 3038000 }; /* sqlite3_vtab_distinct, sqlite3_vtab_rhs_value */

/* heapsnap_attach(file [, name]): the name. */
static void attach(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct hs_sql_hub *hub = sqlite3_user_data(context);
    const char *path = (const char *)sqlite3_value_text(values[0]);
    const char *name = n > 1 ? (const char *)sqlite3_value_text(values[1]) : NULL;
    char numbered[16];
    (void)snprintf(numbered, sizeof numbered, "s%u", hub->n_sources + 1);
    if (path == NULL || (n > 1 && name == NULL)) {
        sqlite3_result_error(context, "heapsnap_attach wants the name of a snapshot's file", -1);
        return;
    }
    name = name != NULL ? name : numbered;
    hs_sql_hub_begin(hub, 0);
    if (hs_sql_hub_attach(hub, path, name, &hub->error) == HS_OK)
        sqlite3_result_text(context, name, -1, SQLITE_TRANSIENT);
    else
        sqlite3_result_error(context, hub->error.message, -1);
}

static void release(void *hub)
{
    hs_sql_hub_release(hub);
}

/* Found by its name, which SQLite makes of the library's. */
__attribute__((visibility("default"))) int sqlite3_heapsnapsqlite_init(
    sqlite3 *db, char **message, const sqlite3_api_routines *api);

int sqlite3_heapsnapsqlite_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    const struct hs_session session = {0};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sql_hub *hub;
    SQLITE_EXTENSION_INIT2(api);
    if (sqlite3_libversion_number() < OLDEST_VERSION) {
        *message = sqlite3_mprintf("this is SQLite %s: 3.38 is wanted", sqlite3_libversion());
        return SQLITE_ERROR;
    }
    if (hs_sql_hub_new(db, &session, &hub, &err) != HS_OK) {
        *message = sqlite3_mprintf("%s", err.message);
        return SQLITE_ERROR;
    }
    int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    int code =
        sqlite3_create_function_v2(db, "heapsnap_attach", 1, flags, hub, attach, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_create_function_v2(db, "heapsnap_attach", 2, flags, hub, attach, NULL, NULL,
                                          release);
    else
        release(hub);
    return code;
}
