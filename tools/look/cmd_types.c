/* types: objects, shallow and retained words of each type. */
#include "analysis/object_lookup.h"
#include "analysis/set_tops.h"
#include "analysis/type_rows.h"
#include "base/alloc.h"
#include "commands.h"
#include "container_print.h"
#include "described.h"
#include "noun_fields.h"
#include "open_view.h"
#include "unread_print.h"

struct line {
    uint64_t cells[HS_TYPES_N];
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_ROWS_TYPES(HS_NOUN_FIELD)
    /* An older name of `kind`. */
    {{"form", NULL, HS_COLUMN_STRING, 0}, HS_CELL_OFFSET(TYPES, kind), 0},
    HS_SHOWN(TYPES, objects, 1, COUNT, "OBJECTS", HS_COLUMN_SUMMED),
    HS_SHOWN(TYPES, words, 2, WORDS, "WORDS", HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS),
    HS_SHOWN_AS(TYPES, words, "words_percent", 3, PERCENT, "%",
                HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY),
    HS_SHOWN(TYPES, static_words, 4, WORDS, "STATIC",
             HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS | HS_COLUMN_SPARE(1)),
    HS_SHOWN(TYPES, retained_words, 5, WORDS, "RETAINED", HS_COLUMN_WEIGHS | HS_COLUMN_NARROW(1)),
    HS_SHOWN(TYPES, type, 6, STRING, "TYPE", HS_COLUMN_FLEXIBLE),
};
const struct hs_record hs_types_record = HS_RECORD(fields);

struct listing {
    struct hs_view view;
    enum hs_type_level level;
    bool is_part; /* of WHAT alone */
    struct hs_type_rows rows;
};

/* A line that is no type. */
static struct line line_of(const char *name, const struct hs_sizes *sizes)
{
    struct line line;
    hs_noun_clear(&hs_noun_types, line.cells);
    hs_cell_text(&line.cells[HS_TYPES_type], name);
    line.cells[HS_TYPES_objects] = sizes->objects;
    line.cells[HS_TYPES_words] = sizes->words;
    line.cells[HS_TYPES_static_words] = sizes->static_words;
    return line;
}

static hs_status put_types(struct hs_rows *rows, const struct listing *listing,
                           struct hs_sink *sink, struct hs_error *err)
{
    for (uint64_t i = 0; i < rows->n; i++) {
        struct line line;
        char name[HS_TYPE_NAME_BYTES];
        HS_TRY(hs_noun_load(rows, i, line.cells, err));
        hs_type_family_name(&listing->view, listing->rows.rows[i].type, listing->level, name,
                            sizeof name);
        hs_cell_text(&line.cells[HS_TYPES_type], name);
        HS_TRY(hs_sink_row(sink, &line, err));
    }
    return HS_OK;
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct listing *listing = context;
    struct hs_type_rows *found = &listing->rows;
    struct hs_sizes unreached = hs_index_unreached_total(listing->view.index);
    struct line others = line_of(NULL, &found->others),
                closing = line_of("[unreached]", &unreached);
    struct hs_unread unread;
    struct hs_rows rows;
    HS_TRY(hs_rows_of(&listing->view, &hs_noun_types, found, found->n_rows, &rows, err));
    hs_status status = put_types(&rows, listing, sink, err);
    hs_rows_fini(&rows);
    hs_sink_others(sink, found->n_others, &others);
    if (listing->is_part)
        return status;
    hs_sink_close(sink, &closing);
    hs_unread_find(&listing->view, &unread);
    struct line not_read = line_of("[not read]", &(struct hs_sizes){.words = unread.counted_words});
    not_read.cells[HS_TYPES_objects] = HS_UNKNOWN;
    if (unread.counted_words != 0)
        hs_sink_close(sink, &not_read);
    return status;
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
    struct hs_unread unread;
    hs_unread_find(view, &unread);
    const struct hs_list list = {.record = &hs_types_record, .each = put_rows, .context = listing};
    const struct hs_listing all = {
        .rows = &list,
        .word_bytes = view->facts->word_bytes,
        .whole = listing->is_part ? sum_of(rows) : hs_unread_whole(view),
        .document =
            HS_PAIRS(HS_TEXT("schema", "heapsnap.types/1"), HS_TEXT("snapshot", view->path),
                     HS_COUNT("word_bytes", view->facts->word_bytes), HS_ROWS("types", &list),
                     HS_OBJECT("others"), HS_COUNT("count", rows->n_others),
                     HS_COUNT("words", rows->others.words), HS_END, HS_OBJECT("unreached"),
                     HS_COUNT("objects", unreached.objects), HS_COUNT("words", unreached.words),
                     HS_END, HS_COUNT("unread_words", unread.counted_words)),
    };
    HS_TRY(hs_tool_list(tool, inv, &all, err));
    bool is_told = hs_tool_format(inv) == HS_FORMAT_TABLE && !listing->is_part;
    return is_told ? hs_unread_say(tool, view, err) : HS_OK;
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
    bool is_of_containers = hs_given(inv, HS_OPT_TYPE_GROUP_BY) &&
                            inv->number[HS_OPT_TYPE_GROUP_BY] == HS_GROUP_BY_CONTAINER;

    if (is_of_containers && (hs_given(inv, HS_OPT_OF) || hs_given(inv, HS_OPT_TYPE_SORT)))
        return hs_fail(err, HS_USAGE, "--group-by container goes without --of and --sort");
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0],
                             is_of_containers ? HS_VIEW_SNAP : HS_VIEW_INDEX, &listing.view, err));
    hs_status status = is_of_containers ? hs_containers_print(tool, inv, &listing.view, err)
                                        : run(tool, inv, &listing, err);
    hs_type_rows_fini(&listing.rows);
    return hs_view_finish(&listing.view, status, err);
}
