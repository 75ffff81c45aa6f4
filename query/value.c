/* Values between SQLite and the tables. */
#include "value.h"

#include <stdio.h>
#include <string.h>

#include "analysis/object_lookup.h"
#include "report/text.h"

void hs_sql_put(sqlite3_context *ret, uint64_t value)
{
    char text[24];
    if (value <= INT64_MAX) {
        sqlite3_result_int64(ret, (sqlite3_int64)value);
        return;
    }
    int n = snprintf(text, sizeof text, "%lu", (unsigned long)value);
    sqlite3_result_text(ret, text, n, SQLITE_TRANSIENT);
}

void hs_sql_put_or(sqlite3_context *ret, uint64_t value, uint64_t none)
{
    if (value == none)
        sqlite3_result_null(ret);
    else
        hs_sql_put(ret, value);
}

void hs_sql_put_name(sqlite3_context *ret, const char *name)
{
    if (name == NULL || name[0] == 0)
        sqlite3_result_null(ret);
    else
        sqlite3_result_text(ret, name, -1, SQLITE_STATIC);
}

void hs_sql_put_text(sqlite3_context *ret, const char *text)
{
    if (text == NULL || text[0] == 0)
        sqlite3_result_null(ret);
    else
        sqlite3_result_text(ret, text, -1, SQLITE_TRANSIENT);
}

void hs_sql_put_safe(const struct hs_sql_source *source, sqlite3_context *ret, const char *text)
{
    struct hs_buffer safe = {0};
    struct hs_error err;
    if (!source->hub->is_clean || text == NULL) {
        hs_sql_put_text(ret, text);
        return;
    }
    if (hs_text_sanitise(text, strlen(text), HS_TEXT_TERMINAL, &safe, &err) == HS_OK)
        sqlite3_result_text64(ret, safe.n_bytes != 0 ? (const char *)safe.bytes : "", safe.n_bytes,
                              SQLITE_TRANSIENT, SQLITE_UTF8);
    else
        sqlite3_result_error_nomem(ret);
    hs_buffer_fini(&safe);
}

bool hs_sql_whole(sqlite3_value *value, uint64_t *ret)
{
    int type = sqlite3_value_numeric_type(value);
    if (type == SQLITE_INTEGER) {
        sqlite3_int64 whole = sqlite3_value_int64(value);
        *ret = (uint64_t)whole;
        return whole >= 0;
    }
    if (type != SQLITE_FLOAT)
        return false;
    double real = sqlite3_value_double(value);
    if (!(real >= 0 && real < 9.2e18)) /* no number of ours is above */
        return false;
    *ret = (uint64_t)real;
    return (double)*ret == real;
}

/* The least whole number that is not below the value; 0 where it says nothing. */
static uint64_t first_from(sqlite3_value *value, uint64_t none)
{
    int type = sqlite3_value_numeric_type(value);
    if (type == SQLITE_NULL)
        return none;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return 0; /* text is above all numbers, which SQLite sees when it looks again */
    double real = sqlite3_value_double(value);
    sqlite3_int64 whole = sqlite3_value_int64(value);
    if (type == SQLITE_INTEGER)
        return whole > 0 ? (uint64_t)whole : 0;
    if (!(real > 0))
        return 0;
    return real < 9.2e18 ? (uint64_t)real : none;
}

/* Returns one beyond the greatest that is not above it. */
static uint64_t end_of(sqlite3_value *value, uint64_t end)
{
    int type = sqlite3_value_numeric_type(value);
    if (type == SQLITE_NULL)
        return 0;
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
        return end;
    double real = sqlite3_value_double(value);
    sqlite3_int64 whole = sqlite3_value_int64(value);
    if (type == SQLITE_INTEGER)
        return whole >= 0 ? (uint64_t)whole + 1 : 0;
    if (!(real >= 0))
        return 0;
    return real < 9.2e18 ? (uint64_t)real + 1 : end;
}

void hs_sql_range(const struct hs_sql_plan *plan, uint64_t *ret_first, uint64_t *ret_end)
{
    uint64_t first = *ret_first, end = *ret_end, bound;
    if (plan->equal != NULL) {
        bool is_whole = hs_sql_whole(plan->equal, &bound);
        bool is_there = is_whole && bound >= first && bound < end;
        *ret_first = is_there ? bound : end;
        *ret_end = is_there ? bound + 1 : end;
        return;
    }
    if (plan->above != NULL && (bound = first_from(plan->above, end)) > first)
        first = bound;
    if (plan->below != NULL && (bound = end_of(plan->below, end)) < end)
        end = bound;
    *ret_first = first < end ? first : end;
    *ret_end = end;
}

hs_status hs_sql_node(struct hs_sql_source *source, sqlite3_value *value, hs_node *ret,
                      struct hs_error *err)
{
    struct hs_object_spec what;
    uint64_t node;
    *ret = HS_NO_NODE;
    if (sqlite3_value_type(value) == SQLITE_TEXT) {
        const char *text = (const char *)sqlite3_value_text(value);
        if (text == NULL)
            return hs_fail(err, HS_LIMIT, "out of memory for a text");
        HS_TRY(hs_object_lookup(&source->view, text, &what, err));
        *ret = what.nodes[0];
        return HS_OK;
    }
    bool is_number = sqlite3_value_type(value) != SQLITE_BLOB && hs_sql_whole(value, &node);
    if (is_number && node < source->view.n_nodes)
        *ret = node;
    return HS_OK;
}
