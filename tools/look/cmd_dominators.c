/* dominators: who keeps what, as a tree. */
#include <stdio.h>

#include "analysis/dominator_rows.h"
#include "analysis/object_lookup.h"
#include "analysis/root_name.h"
#include "analysis/unread.h"
#include "base/alloc.h"
#include "commands.h"
#include "described.h"
#include "dominator_types_print.h"
#include "open_view.h"
#include "root_json.h"
#include "set_object.h"

enum { INDENT_LEVELS = 24, NAME_BYTES = 512 };

struct line {
    const char *name, *type, *what;
    uint64_t id, dominator, depth, address, words, retained_words, hidden_children, hidden_words;
    uint64_t retained_objects, static_retained_words;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(4, NODE, id, "ID", 0),
    HS_FIELD(NODE, dominator),
    HS_COLUMN(5, COUNT, depth, "DEPTH", HS_COLUMN_DATA_ONLY),
    HS_FIELD(ADDRESS, address),
    HS_FIELD(STRING, name),
    HS_FIELD(STRING, type),
    HS_COLUMN(3, WORDS, words, "OWN", HS_COLUMN_NARROW(1)),
    HS_COLUMN(1, WORDS, retained_words, "RETAINED", 0),
    HS_COLUMN_AS("retained_percent", 2, PERCENT, retained_words, "%", HS_COLUMN_TABLE_ONLY),
    HS_FIELD(COUNT, retained_objects),
    HS_FIELD(WORDS, static_retained_words),
    HS_FIELD(COUNT, hidden_children),
    HS_FIELD(WORDS, hidden_words),
    HS_COLUMN_AS("name", 6, STRING, what, "WHAT",
                 HS_COLUMN_FLEXIBLE | HS_COLUMN_TREE | HS_COLUMN_NOT_JSON),
};
const struct hs_record hs_dominators_record = HS_RECORD(fields);

static hs_status put_row(struct hs_sink *sink, const struct hs_dominator_row *row,
                         struct hs_error *err)
{
    char what[NAME_BYTES], below[48] = "";
    int indent = (int)(row->depth < INDENT_LEVELS ? row->depth : INDENT_LEVELS);
    if (sink->is_table && row->n_shown == 0 && row->n_hidden != 0)
        (void)snprintf(below, sizeof below, "  [%lu below]", (unsigned long)row->n_hidden);
    (void)snprintf(what, sizeof what, "%*s%.400s%s", sink->is_table ? 2 * indent : 0, "",
                   row->facts.label, below);
    struct line line = {
        .id = row->node,
        .dominator = row->dominator,
        .depth = row->depth,
        .address = row->facts.address != 0 ? row->facts.address : HS_UNKNOWN,
        .name = row->facts.is_root ? row->facts.label : NULL,
        .type = row->facts.is_root ? NULL : row->facts.label,
        .what = what,
        .words = row->facts.words,
        .retained_words = row->retained.words,
        .retained_objects = row->retained.objects,
        .static_retained_words = row->retained.static_words,
        .hidden_children = row->n_hidden,
        .hidden_words = row->hidden_words,
    };
    return hs_sink_row(sink, &line, err);
}

/* Prints the children that a node hides, as a line of its own. */
static hs_status put_hidden(struct hs_sink *sink, const struct hs_dominator_row *row,
                            struct hs_error *err)
{
    char what[NAME_BYTES];
    int indent = (int)(row->depth + 1 < INDENT_LEVELS ? row->depth + 1 : INDENT_LEVELS);
    (void)snprintf(what, sizeof what, "%*s[%lu others]", 2 * indent, "",
                   (unsigned long)row->n_hidden);
    return hs_sink_row(sink,
                       &(struct line){.what = what,
                                      .id = HS_UNKNOWN,
                                      .words = HS_UNKNOWN,
                                      .retained_words = row->hidden_words},
                       err);
}

/* Closes deeper levels; where some children are shown, a line "[n others]" stands where the last of
 * the shown children's subtrees ends: before the first following row that is not deeper. `open`
 * holds the row that waits at each depth. */
static hs_status close_deeper(struct hs_sink *sink, const struct hs_dominator_row **open,
                              size_t *n_open, uint32_t depth, struct hs_error *err)
{
    while (*n_open > depth) {
        const struct hs_dominator_row *row = open[--*n_open];
        if (row->n_hidden != 0 && row->n_shown != 0)
            HS_TRY(put_hidden(sink, row, err));
    }
    return HS_OK;
}

struct listing {
    struct hs_view *view;
    struct hs_dominator_rows rows;
};

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listing *listing = context;
    hs_auto_free const struct hs_dominator_row **open = NULL;
    size_t n_open = 0, capacity = 0;
    for (size_t i = 0; i < listing->rows.n; i++) {
        const struct hs_dominator_row *row = &listing->rows.rows[i];
        HS_TRY(close_deeper(sink, open, &n_open, row->depth, err));
        HS_TRY(put_row(sink, row, err));
        if (!sink->is_table)
            continue;
        HS_TRY(HS_GROW(&open, &capacity, n_open + 1, err));
        open[n_open++] = row;
    }
    return close_deeper(sink, open, &n_open, 0, err);
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv,
                       struct listing *listing, struct hs_error *err)
{
    const struct hs_view *view = listing->view;
    const struct hs_list list = {
        .record = &hs_dominators_record, .each = put_rows, .context = listing};
    const struct hs_listing all = {
        .rows = &list,
        .no_total = true,
        .word_bytes = view->facts->word_bytes,
        .whole = hs_unread_whole(view),
        .document =
            HS_PAIRS(HS_TEXT("schema", "heapsnap.dominators/1"), HS_TEXT("snapshot", view->path),
                     HS_COUNT("word_bytes", view->facts->word_bytes), HS_ROWS("nodes", &list)),
    };
    return hs_tool_list(tool, inv, &all, err);
}

/* Returns the least words of a row: less, which a table would print as 0.0 % of the heap or of the
 * node that it begins at, joins the others, unless all rows are asked for. */
static uint64_t least_words(const struct hs_invocation *inv, struct hs_view *view, hs_node from,
                            uint64_t max_rows)
{
    uint64_t heap = hs_unread_whole(view), start = hs_index_retained(view->index, from).words;
    if (hs_given(inv, HS_OPT_MIN_WORDS) || hs_tool_format(inv) != HS_FORMAT_TABLE ||
        max_rows == UINT64_MAX)
        return hs_tool_min_words(inv, view->facts->word_bytes);
    return hs_percent_least(start < heap ? start : heap);
}

static hs_status run(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_view *view,
                     struct hs_error *err)
{
    struct hs_object_spec from = {.kind = HS_OBJECT_NODE, .nodes = {0}, .n_nodes = 1};
    if (hs_given(inv, HS_OPT_FROM))
        HS_TRY(hs_object_lookup(view, inv->text[HS_OPT_FROM], &from, err));
    bool is_table = hs_tool_format(inv) == HS_FORMAT_TABLE;
    bool has_rows = is_table || hs_given(inv, HS_OPT_ROWS);
    uint64_t max_rows = has_rows ? hs_tool_rows(inv) : 0;
    struct hs_dominator_query query = {
        .max_depth = hs_given(inv, HS_OPT_DEPTH) ? inv->number[HS_OPT_DEPTH] : 4,
        .max_children = has_rows ? UINT64_MAX : 8,
        .max_rows = max_rows == UINT64_MAX ? 0 : max_rows,
        .min_words = least_words(inv, view, from.nodes[0], max_rows),
        .is_table = is_table,
    };
    struct listing listing = {.view = view};
    char label[512];
    hs_status status;
    if (hs_given(inv, HS_OPT_DOMINATOR_GROUP_BY) && inv->number[HS_OPT_DOMINATOR_GROUP_BY] != 0)
        return hs_dominator_types_print(tool, inv, view, &from, &query, err);
    if (from.kind == HS_OBJECT_SET) {
        hs_set_label(view, from.set, label, sizeof label);
        status = hs_dominator_rows_of_set(view, from.set, label, &query, &listing.rows, err);
    } else {
        status = hs_dominator_rows_select(view, from.nodes[0], &query, &listing.rows, err);
    }
    if (status == HS_OK)
        status = print(tool, inv, &listing, err);
    hs_dominator_rows_fini(&listing.rows);
    return status;
}

hs_status hs_cmd_dominators(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_error *err)
{
    struct hs_view view = {0};
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err));
    hs_status status = run(tool, inv, &view, err);
    return hs_view_finish(&view, status, err);
}
