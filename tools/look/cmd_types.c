/* types: objects, shallow and retained words of each type. */
#include "analysis/type_rows.h"
#include "commands.h"
#include "open_view.h"

static void put_json_row(struct hs_json *json, const struct hs_view *view,
                         const struct hs_type_row *row)
{
    const struct hs_type *type = hs_snap_type(view->snap, row->type);
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    hs_json_string(json, "type", hs_view_string(view, type->name));
    hs_json_string(json, "form", hs_type_form_name(type->form));
    hs_json_u64(json, "tag", type->tag);
    hs_json_u64(json, "objects", row->shallow.objects);
    hs_json_u64(json, "words", row->shallow.words);
    hs_json_u64(json, "static_objects", row->shallow.static_objects);
    hs_json_u64(json, "static_words", row->shallow.static_words);
    hs_json_u64(json, "retained_words", row->retained_words);
    hs_json_end_object(json);
}

static void put_closing(struct hs_json *json, const struct hs_view *view,
                        const struct hs_type_rows *rows)
{
    hs_json_end_array(json);
    hs_json_begin_object(json, "others", HS_JSON_LINE);
    hs_json_u64(json, "count", rows->n_others);
    hs_json_u64(json, "words", rows->others.words);
    hs_json_end_object(json);
    struct hs_sizes unreached = hs_index_unreached_total(view->index);
    hs_json_begin_object(json, "unreached", HS_JSON_LINE);
    hs_json_u64(json, "objects", unreached.objects);
    hs_json_u64(json, "words", unreached.words);
    hs_json_end_object(json);
    hs_json_end_object(json);
}

static hs_status print_json(struct hs_tool *tool, const struct hs_view *view,
                            const struct hs_type_rows *rows, bool is_lines, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, is_lines ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    if (!is_lines) {
        hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
        hs_json_string(&json, "schema", "heapsnap.types/1");
        hs_json_string(&json, "snapshot", view->path);
        hs_json_u64(&json, "word_bytes", view->facts->word_bytes);
        hs_json_begin_array(&json, "types", HS_JSON_BLOCK);
    }
    for (size_t i = 0; i < rows->n_rows; i++)
        put_json_row(&json, view, &rows->rows[i]);
    if (!is_lines)
        put_closing(&json, view, rows);
    return hs_json_finish(&json, err);
}

static const struct hs_column columns[] = {
    {"objects", "OBJECTS", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
    {"words", "WORDS", HS_COLUMN_WORDS, HS_COLUMN_SUMMED},
    {"words_percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY},
    {"static_words", "STATIC", HS_COLUMN_WORDS, HS_COLUMN_SUMMED},
    {"retained_words", "RETAINED", HS_COLUMN_WORDS, 0},
    {"type", "TYPE", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static void put_row(struct hs_sheet *sheet, const char *name, const struct hs_sizes *shallow)
{
    hs_sheet_u64(sheet, shallow->objects);
    hs_sheet_u64(sheet, shallow->words);
    hs_sheet_u64(sheet, shallow->words);
    hs_sheet_u64(sheet, shallow->static_words);
    if (name == NULL) {
        hs_sheet_null(sheet);
        hs_sheet_string(sheet, "[unreached]");
    }
}

static hs_status print_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                             const struct hs_view *view, const struct hs_type_rows *rows,
                             struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, view->totals->heap_words);
    options.word_bytes = view->facts->word_bytes;
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, N_COLUMNS, &options, err));
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct hs_type_row *row = &rows->rows[i];
        const char *name = hs_view_string(view, hs_snap_type(view->snap, row->type)->name);
        put_row(&sheet, name, &row->shallow);
        hs_sheet_u64(&sheet, row->retained_words);
        hs_sheet_string(&sheet, name);
    }
    const struct hs_sizes *others = &rows->others;
    uint64_t sums[N_COLUMNS] = {others->objects, others->words, others->words,
                                others->static_words};
    if (rows->n_others != 0)
        hs_sheet_fold(&sheet, rows->n_others, sums);
    struct hs_sizes unreached = hs_index_unreached_total(view->index);
    hs_sheet_close_rows(&sheet);
    put_row(&sheet, NULL, &unreached);
    hs_status status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

hs_status hs_cmd_types(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_view view = {0};
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err));
    struct hs_type_rows rows = {0};
    struct hs_type_query query = {(enum hs_type_sort)inv->number[HS_OPT_TYPE_SORT],
                                  inv->number[HS_OPT_MIN_WORDS], hs_tool_rows(inv)};
    hs_status status = hs_type_rows_select(&view, &query, &rows, err);
    if (status == HS_OK) {
        enum hs_format format = hs_tool_format(inv);
        if (format == HS_FORMAT_JSON || format == HS_FORMAT_NDJSON)
            status = print_json(tool, &view, &rows, format == HS_FORMAT_NDJSON, err);
        else
            status = print_sheet(tool, inv, &view, &rows, err);
    }
    hs_type_rows_fini(&rows);
    return hs_view_finish(&view, status, err);
}
