/* types: objects, shallow and retained words of each type. */
#include "analysis/type_rows.h"
#include "commands.h"
#include "open_view.h"

struct line {
    const char *type, *form;
    uint64_t tag, retained_words;
    struct hs_sizes shallow;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(6, STRING, type, "TYPE", HS_COLUMN_FLEXIBLE),
    HS_FIELD(STRING, form),
    HS_FIELD(COUNT, tag),
    HS_COLUMN_AS("objects", 1, COUNT, shallow.objects, "OBJECTS", HS_COLUMN_SUMMED),
    HS_COLUMN_AS("words", 2, WORDS, shallow.words, "WORDS", HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS),
    HS_COLUMN_AS("words_percent", 3, PERCENT, shallow.words, "%",
                 HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY),
    HS_FIELD_AS("static_objects", COUNT, shallow.static_objects),
    HS_COLUMN_AS("static_words", 4, WORDS, shallow.static_words, "STATIC",
                 HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS | HS_COLUMN_SPARE(1)),
    HS_COLUMN(5, WORDS, retained_words, "RETAINED", HS_COLUMN_WEIGHS),
};
static const struct hs_record record = HS_RECORD(fields);

struct listing {
    struct hs_view view;
    struct hs_type_rows rows;
};

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listing *listing = context;
    const struct hs_view *view = &listing->view;
    const struct hs_type_rows *rows = &listing->rows;
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct hs_type_row *row = &rows->rows[i];
        const struct hs_type *type = hs_snap_type(view->snap, row->type);
        struct line line = {hs_view_string(view, type->name), hs_type_form_name(type->form),
                            type->tag, row->retained_words, row->shallow};
        HS_TRY(hs_sink_row(sink, &line, err));
    }
    hs_sink_others(sink, rows->n_others, &(struct line){.shallow = rows->others});
    hs_sink_close(sink, &(struct line){.type = "[unreached]",
                                       .retained_words = HS_UNKNOWN,
                                       .shallow = hs_index_unreached_total(view->index)});
    return HS_OK;
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv,
                       struct listing *listing, struct hs_error *err)
{
    const struct hs_view *view = &listing->view;
    const struct hs_type_rows *rows = &listing->rows;
    struct hs_sizes unreached = hs_index_unreached_total(view->index);
    const struct hs_list list = {.record = &record, .each = put_rows, .context = listing};
    const struct hs_listing all = {
        .rows = &list,
        .word_bytes = view->facts->word_bytes,
        .whole = view->totals->heap_words,
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.types/1"), HS_TEXT("snapshot", view->path),
            HS_COUNT("word_bytes", view->facts->word_bytes), HS_ROWS("types", &list),
            HS_OBJECT("others"), HS_COUNT("count", rows->n_others),
            HS_COUNT("words", rows->others.words), HS_END, HS_OBJECT("unreached"),
            HS_COUNT("objects", unreached.objects), HS_COUNT("words", unreached.words), HS_END),
    };
    return hs_tool_list(tool, inv, &all, err);
}

hs_status hs_cmd_types(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct listing listing = {0};
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &listing.view, err));
    struct hs_type_query query = {(enum hs_type_sort)inv->number[HS_OPT_TYPE_SORT],
                                  hs_tool_min_words(inv, listing.view.facts->word_bytes),
                                  hs_tool_rows(inv)};
    hs_status status = hs_type_rows_select(&listing.view, &query, &listing.rows, err);
    if (status == HS_OK)
        status = print(tool, inv, &listing, err);
    hs_type_rows_fini(&listing.rows);
    return hs_view_finish(&listing.view, status, err);
}
