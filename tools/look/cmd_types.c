/* types: objects, shallow and retained words of each type. */
#include "analysis/object_lookup.h"
#include "analysis/set_tops.h"
#include "analysis/type_rows.h"
#include "base/alloc.h"
#include "commands.h"
#include "open_view.h"

struct line {
    const char *type, *form;
    uint64_t tag, retained_words;
    struct hs_sizes shallow;
    uint64_t known;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(6, STRING, type, "TYPE", HS_COLUMN_FLEXIBLE),
    HS_FIELD(STRING, form),
    HS_FIELD_AS("kind", STRING, form),
    HS_FIELD(BOOL, known),
    HS_FIELD(COUNT, tag),
    HS_COLUMN_AS("objects", 1, COUNT, shallow.objects, "OBJECTS", HS_COLUMN_SUMMED),
    HS_COLUMN_AS("words", 2, WORDS, shallow.words, "WORDS", HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS),
    HS_COLUMN_AS("words_percent", 3, PERCENT, shallow.words, "%",
                 HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY),
    HS_FIELD_AS("static_objects", COUNT, shallow.static_objects),
    HS_COLUMN_AS("static_words", 4, WORDS, shallow.static_words, "STATIC",
                 HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS | HS_COLUMN_SPARE(1)),
    HS_COLUMN(5, WORDS, retained_words, "RETAINED", HS_COLUMN_WEIGHS | HS_COLUMN_NARROW(1)),
};
static const struct hs_record record = HS_RECORD(fields);

struct listing {
    struct hs_view view;
    enum hs_type_level level;
    bool is_part; /* of WHAT alone */
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
        char name[HS_TYPE_NAME_BYTES];
        hs_type_family_name(view, row->type, listing->level, name, sizeof name);
        struct line line = {name,
                            hs_type_form_name(type->form),
                            row->n_types == 1 ? type->tag : HS_UNKNOWN,
                            row->retained_words,
                            row->shallow,
                            hs_type_is_known(view, row->type)};
        HS_TRY(hs_sink_row(sink, &line, err));
    }
    hs_sink_others(sink, rows->n_others, &(struct line){.shallow = rows->others});
    if (!listing->is_part)
        hs_sink_close(sink, &(struct line){.type = "[unreached]",
                                           .retained_words = HS_UNKNOWN,
                                           .shallow = hs_index_unreached_total(view->index)});
    return HS_OK;
}

static uint64_t sum_of(const struct hs_type_rows *rows)
{
    uint64_t sum = rows->others.words;
    for (size_t i = 0; i < rows->n_rows; i++)
        sum += rows->rows[i].shallow.words;
    return sum;
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
        .whole = listing->is_part ? sum_of(rows) : view->totals->heap_words,
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.types/1"), HS_TEXT("snapshot", view->path),
            HS_COUNT("word_bytes", view->facts->word_bytes), HS_ROWS("types", &list),
            HS_OBJECT("others"), HS_COUNT("count", rows->n_others),
            HS_COUNT("words", rows->others.words), HS_END, HS_OBJECT("unreached"),
            HS_COUNT("objects", unreached.objects), HS_COUNT("words", unreached.words), HS_END),
    };
    return hs_tool_list(tool, inv, &all, err);
}

/* The nodes of WHAT: of a set all its top units, of a type all its blocks. */
static hs_status nodes_of(struct hs_view *view, const char *text, hs_node **ret, size_t *ret_n,
                          struct hs_error *err)
{
    struct hs_object_spec what;
    struct hs_instances all = {0};
    HS_TRY(hs_object_lookup(view, text, &what, err));
    if (what.kind == HS_OBJECT_SET)
        HS_TRY(hs_instances_of_set(view, what.set, &all, err));
    else if (what.kind == HS_OBJECT_TYPE)
        HS_TRY(hs_instances_of(view, what.type, &all, err));
    size_t n = all.n != 0 ? all.n : 1;
    hs_status status = HS_ALLOC(ret, n, err);
    for (size_t i = 0; i < n && status == HS_OK; i++)
        (*ret)[i] = all.n != 0 ? all.targets[i].node : what.nodes[0];
    hs_instances_fini(&all);
    *ret_n = n;
    return status;
}

static hs_status run(struct hs_tool *tool, const struct hs_invocation *inv, struct listing *listing,
                     struct hs_error *err)
{
    hs_auto_free hs_node *nodes = NULL;
    struct hs_type_query query = {
        .sort = (enum hs_type_sort)inv->number[HS_OPT_TYPE_SORT],
        .level = hs_given(inv, HS_OPT_TYPE_GROUP_BY)
                     ? (enum hs_type_level)inv->number[HS_OPT_TYPE_GROUP_BY]
                     : HS_TYPE_HEAD,
        .min_words = hs_tool_min_words(inv, listing->view.facts->word_bytes),
        .max_rows = hs_tool_rows(inv),
    };
    listing->level = query.level;
    listing->is_part = hs_given(inv, HS_OPT_OF);
    if (listing->is_part)
        HS_TRY(nodes_of(&listing->view, inv->text[HS_OPT_OF], &nodes, &query.n_within, err));
    query.within = nodes;
    HS_TRY(hs_type_rows_select(&listing->view, &query, &listing->rows, err));
    return print(tool, inv, listing, err);
}

hs_status hs_cmd_types(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct listing listing = {0};
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &listing.view, err));
    hs_status status = run(tool, inv, &listing, err);
    hs_type_rows_fini(&listing.rows);
    return hs_view_finish(&listing.view, status, err);
}
