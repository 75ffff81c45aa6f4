/* Rows of analysis/rows.h in SQL. */
#include "rows.h"

#include "kept.h"
#include "value.h"

static hs_status make(struct hs_sql_source *source, const void *noun, void *rows,
                      struct hs_error *err)
{
    return hs_rows_find(&source->view, noun, rows, err);
}

static void fini(void *rows)
{
    hs_rows_fini(rows);
}

static enum hs_sql_kept_name kept_name(const struct hs_noun *noun)
{
    static const struct hs_noun *const nouns[HS_SQL_KEPT_NOUNS] = {
#define HS_SQL_NOUN_LISTED(noun_, NOUN) [HS_SQL_KEPT_##NOUN] = &hs_noun_##noun_,
        HS_ROWS_NOUNS(HS_SQL_NOUN_LISTED)};
    unsigned at = 0;
    while (nouns[at] != noun)
        at++;
    return (enum hs_sql_kept_name)at;
}

hs_status hs_sql_rows_of(struct hs_sql_source *source, const struct hs_noun *noun,
                         struct hs_rows **ret, struct hs_error *err)
{
    const struct hs_sql_kept_kind kind = {kept_name(noun), sizeof(struct hs_rows), make, fini,
                                          noun};
    void *rows;
    HS_TRY(hs_sql_keep(source, &kind, &rows, err));
    *ret = rows;
    return HS_OK;
}

hs_status hs_sql_put_value(const struct hs_sql_source *source, struct hs_rows *rows, uint64_t at,
                           unsigned column, sqlite3_context *ret, struct hs_error *err)
{
    struct hs_row_value value;
    enum hs_row_kind kind = rows->noun->columns[column].kind;
    hs_rows_begin(rows);
    HS_TRY(hs_rows_get(rows, at, column, &value, err));
    if (!value.is_known)
        sqlite3_result_null(ret);
    else if (kind == HS_ROW_TEXT && (source->hub->is_clean || hs_rows_is_made(rows, value.text)))
        hs_sql_put_safe(source, ret, value.text);
    else if (kind == HS_ROW_TEXT)
        hs_sql_put_name(ret, value.text);
    else if (kind == HS_ROW_ADDRESS)
        sqlite3_result_int64(ret, (sqlite3_int64)value.number);
    else
        hs_sql_put(ret, kind == HS_ROW_TIME ? value.number / 1000000000 : value.number);
    return HS_OK;
}

hs_status hs_sql_rows_count(struct hs_sql_cursor *cursor, uint64_t *ret, struct hs_error *err)
{
    struct hs_rows *rows;
    HS_TRY(hs_sql_rows_of(cursor->source, cursor->table->noun, &rows, err));
    *ret = rows->n;
    return HS_OK;
}

hs_status hs_sql_rows_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                             struct hs_error *err)
{
    struct hs_rows *rows;
    HS_TRY(hs_sql_rows_of(cursor->source, cursor->table->noun, &rows, err));
    return hs_sql_put_value(cursor->source, rows, cursor->row, (unsigned)column, ret, err);
}
