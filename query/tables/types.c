/* types: what `heapsnap types` lists, a row for each name. Made by one pass over the heap and one
 * walk of the dominator tree, when it is first asked for. */
#include "analysis/type_rows.h"
#include "kept.h"
#include "tables.h"
#include "value.h"

enum {
    TYPES_ID,
    TYPES_NAME,
    TYPES_FORM,
    TYPES_KNOWN,
    TYPES_COUNT,
    TYPES_WORDS,
    TYPES_STATIC_COUNT,
    TYPES_STATIC_WORDS,
    TYPES_RETAINED
};

static hs_status make(struct hs_sql_source *source, void *value, struct hs_error *err)
{
    const struct hs_type_query query = {.level = HS_TYPE_CONSTRUCTOR, .max_rows = UINT64_MAX};
    return hs_type_rows_select(&source->view, &query, value, err);
}

static void fini(void *value)
{
    hs_type_rows_fini(value);
}

static const struct hs_sql_kept_kind kind = {HS_SQL_KEPT_TYPES, sizeof(struct hs_type_rows), make,
                                             fini};

static hs_status types_count(struct hs_sql_source *source, uint64_t *ret, struct hs_error *err)
{
    const void *rows;
    HS_TRY(hs_sql_keep(source, &kind, &rows, err));
    *ret = ((const struct hs_type_rows *)rows)->n_rows;
    return HS_OK;
}

static double types_estimate(const struct hs_sql_source *source)
{
    return (double)source->view.totals->n_types;
}

static hs_status types_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                              struct hs_error *err)
{
    const struct hs_view *view = &cursor->source->view;
    const void *rows;
    HS_TRY(hs_sql_keep(cursor->source, &kind, &rows, err));
    const struct hs_type_row *row = &((const struct hs_type_rows *)rows)->rows[cursor->row];
    const struct hs_type *type = hs_snap_type(view->snap, row->type);
    const uint64_t numbers[] = {
        [TYPES_ID] = row->type,
        [TYPES_KNOWN] = hs_type_is_known(view, row->type),
        [TYPES_COUNT] = row->shallow.objects,
        [TYPES_WORDS] = row->shallow.words,
        [TYPES_STATIC_COUNT] = row->shallow.static_objects,
        [TYPES_STATIC_WORDS] = row->shallow.static_words,
        [TYPES_RETAINED] = row->retained_words,
    };
    if (column == TYPES_NAME)
        hs_sql_put_name(ret, hs_view_string(view, type->name));
    else if (column == TYPES_FORM)
        hs_sql_put_name(ret, hs_type_form_name(type->form));
    else
        hs_sql_put(ret, numbers[column]);
    return HS_OK;
}

const struct hs_sql_table hs_sql_table_types = {
    .name = "types",
    .columns = "id INTEGER, name TEXT, form TEXT, known INTEGER, count INTEGER, words WORDS, "
               "static_count INTEGER, static_words WORDS, retained_words WORDS",
    .estimate = types_estimate,
    .count = types_count,
    .column = types_column,
};
