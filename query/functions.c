/* The scalar functions. What is NULL, or no number where one is wanted, gives NULL. */
#include "functions.h"

#include <stdio.h>

#include "base/units.h"
#include "value.h"

static struct hs_sql_hub *hub_of(sqlite3_context *context)
{
    return sqlite3_user_data(context);
}

/* human(words): as tables show them, by the words of the first snapshot. */
static void human(sqlite3_context *context, int n, sqlite3_value **values)
{
    const struct hs_sql_source *source = hs_sql_hub_find(hub_of(context), NULL);
    char text[HS_UNIT_TEXT_BYTES + 1] = "-";
    int type = sqlite3_value_numeric_type(values[0]);
    double words = sqlite3_value_double(values[0]);
    (void)n;
    if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || source == NULL)
        return; /* NULL */
    double bytes = (words < 0 ? -words : words) * source->view.facts->word_bytes;
    hs_format_bytes(bytes < 1.8e19 ? (uint64_t)bytes : UINT64_MAX, text + 1);
    sqlite3_result_text(context, words < 0 ? text : text + 1, -1, SQLITE_TRANSIENT);
}

/* addr(number): "0x7f3a5c001230", as every command prints and takes it. */
static void addr(sqlite3_context *context, int n, sqlite3_value **values)
{
    char text[24];
    (void)n;
    if (sqlite3_value_type(values[0]) != SQLITE_INTEGER)
        return;
    (void)snprintf(text, sizeof text, "0x%lx", (unsigned long)sqlite3_value_int64(values[0]));
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

/* what(text [, snapshot]): the id of the node that WHAT means. */
static void what(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct hs_sql_hub *hub = hub_of(context);
    const char *name = n > 1 ? (const char *)sqlite3_value_text(values[1]) : NULL;
    struct hs_sql_source *source = n > 1 && name == NULL ? NULL : hs_sql_hub_find(hub, name);
    hs_node node;
    if (source == NULL) {
        sqlite3_result_error(context, "what(): no such snapshot is attached", -1);
        return;
    }
    if (hs_sql_node(source, values[0], &node, &hub->error) == HS_OK) {
        hs_sql_put_or(context, node, HS_NO_NODE);
        return;
    }
    hub->has_failed = true;
    sqlite3_result_error(context, hub->error.message, -1);
}

/* type_name(type_id): of the first snapshot. */
static void type_name(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct hs_sql_source *source = hs_sql_hub_find(hub_of(context), NULL);
    uint64_t type;
    (void)n;
    if (source == NULL || !hs_sql_whole(values[0], &type) || type >= source->view.totals->n_types)
        return;
    const struct hs_type *found = hs_snap_type(source->view.snap, (uint32_t)type);
    hs_sql_put_safe(source, context, hs_view_string(&source->view, found->name));
}

int hs_sql_functions_register(struct hs_sql_hub *hub)
{
    static const struct {
        const char *name;
        int n, flags;
        void (*run)(sqlite3_context *, int, sqlite3_value **);
    } all[] = {
        {"human", 1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, human},
        {"addr", 1, SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, addr},
        {"type_name", 1, SQLITE_INNOCUOUS, type_name},
        {"what", 1, SQLITE_INNOCUOUS, what},
        {"what", 2, SQLITE_INNOCUOUS, what},
    };
    int code = SQLITE_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && code == SQLITE_OK; i++)
        code =
            sqlite3_create_function_v2(hub->db, all[i].name, all[i].n, SQLITE_UTF8 | all[i].flags,
                                       hub, all[i].run, NULL, NULL, NULL);
    return code;
}
