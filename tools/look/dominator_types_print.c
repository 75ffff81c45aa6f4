#include "dominator_types_print.h"

#include <stdio.h>
#include <string.h>

#include "analysis/dominator_types.h"
#include "analysis/root_name.h"
#include "analysis/unread.h"
#include "commands.h"

enum { INDENT_LEVELS = 24, NAME_BYTES = 1024 };

struct line {
    const char *name, *type, *place, *what;
    uint64_t id, depth, objects, words, retained_words, hidden_groups, hidden_words;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(4, NODE, id, "ID", 0),
    HS_COLUMN(5, COUNT, depth, "DEPTH", HS_COLUMN_DATA_ONLY),
    HS_FIELD(STRING, name),
    HS_FIELD(STRING, type),
    HS_FIELD(STRING, place),
    HS_COLUMN(3, COUNT, objects, "OBJECTS", 0),
    HS_FIELD(WORDS, words),
    HS_COLUMN(1, WORDS, retained_words, "RETAINED", 0),
    HS_COLUMN_AS("retained_percent", 2, PERCENT, retained_words, "%", HS_COLUMN_TABLE_ONLY),
    HS_FIELD(COUNT, hidden_groups),
    HS_FIELD(WORDS, hidden_words),
    HS_COLUMN_AS("name", 6, STRING, what, "WHAT",
                 HS_COLUMN_FLEXIBLE | HS_COLUMN_TREE | HS_COLUMN_NOT_JSON),
};
static const struct hs_record record = HS_RECORD(fields);
#undef HS_ROW

struct listed {
    struct hs_view *view;
    struct hs_dominator_types types;
    const char *label; /* borrowed: of the node or set that the rows begin at */
};

/* Returns what a place says beyond that of the nearest row above which has one, or beyond the name
 * that the rows begin at; "" when it says nothing more. */
static const char *place_below(const struct listed *listed, size_t at)
{
    const struct hs_dominator_type *rows = listed->types.rows;
    const char *place = rows[at].place, *above = NULL;
    uint32_t parent = rows[at].parent;
    if (place == NULL)
        return "";
    while (parent != UINT32_MAX && rows[parent].place == NULL && rows[parent].n_blocks != 0)
        parent = rows[parent].parent;
    if (parent != UINT32_MAX)
        above = rows[parent].n_blocks == 0 ? listed->label : rows[parent].place;
    size_t n = above == NULL ? 0 : strlen(above);
    return n != 0 && strncmp(place, above, n) == 0 ? place + n : place;
}

static const char *type_name(const struct hs_view *view, const struct hs_dominator_type *row)
{
    if (row->type != HS_UNTYPED)
        return hs_view_string(view, hs_snap_type(view->snap, row->type)->name);
    return row->n_blocks == 1 ? "block of unknown type" : "blocks of unknown type";
}

static void write_what(const struct listed *listed, size_t at, bool is_table, char *text)
{
    const struct hs_dominator_type *row = &listed->types.rows[at];
    const char *place = place_below(listed, at);
    int indent = (int)(row->depth < INDENT_LEVELS ? row->depth : INDENT_LEVELS);
    char hidden[48] = "";
    bool is_below =
        row->depth + 1 > (at + 1 < listed->types.n ? listed->types.rows[at + 1].depth : 0);
    if (is_table && row->n_hidden != 0)
        (void)snprintf(hidden, sizeof hidden, "  [%lu %s]", (unsigned long)row->n_hidden,
                       is_below ? "below" : "more below");
    (void)snprintf(text, NAME_BYTES, "%*s%.400s%s%.400s%s", is_table ? 2 * indent : 0, "",
                   row->n_blocks == 0 ? listed->label : type_name(listed->view, row),
                   place[0] == '\0' ? "" : " at ", place, hidden);
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listed *listed = context;
    for (size_t i = 0; i < listed->types.n; i++) {
        const struct hs_dominator_type *row = &listed->types.rows[i];
        bool is_place = row->n_blocks == 0;
        char what[NAME_BYTES];
        write_what(listed, i, sink->is_table, what);
        struct line line = {
            .name = is_place ? listed->label : NULL,
            .type = is_place ? NULL : type_name(listed->view, row),
            .place = row->place,
            .what = what,
            .id = row->top == HS_NO_NODE ? HS_UNKNOWN : row->top,
            .depth = row->depth,
            .objects = is_place ? HS_UNKNOWN : row->n_blocks,
            .words = row->own_words,
            .retained_words = row->words,
            .hidden_groups = row->n_hidden,
            .hidden_words = row->hidden_words,
        };
        HS_TRY(hs_sink_row(sink, &line, err));
    }
    return HS_OK;
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv, struct listed *listed,
                       struct hs_error *err)
{
    const struct hs_view *view = listed->view;
    const struct hs_list list = {.record = &record, .each = put_rows, .context = listed};
    const struct hs_listing all = {
        .rows = &list,
        .no_total = true,
        .word_bytes = view->facts->word_bytes,
        .whole = hs_unread_whole(view),
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.dominator_types/1"), HS_TEXT("snapshot", view->path),
            HS_COUNT("word_bytes", view->facts->word_bytes), HS_ROWS("groups", &list)),
    };
    return hs_tool_list(tool, inv, &all, err);
}

hs_status hs_dominator_types_print(struct hs_tool *tool, const struct hs_invocation *inv,
                                   struct hs_view *view, const struct hs_object_spec *from,
                                   const struct hs_dominator_query *query, struct hs_error *err)
{
    bool is_set = from->kind == HS_OBJECT_SET;
    hs_node node = is_set ? HS_NO_NODE : from->nodes[0];
    struct listed listed = {.view = view};
    struct hs_node_facts facts;
    char label[512];
    if (is_set) {
        hs_set_label(view, from->set, label, sizeof label);
    } else {
        HS_TRY(hs_view_facts(view, node, &facts, err));
        (void)snprintf(label, sizeof label, "%s", facts.label);
    }
    listed.label = label;
    hs_status status =
        hs_dominator_types_select(view, node, is_set ? from->set : 0, query, &listed.types, err);
    if (status == HS_OK)
        status = print(tool, inv, &listed, err);
    hs_dominator_types_fini(&listed.types);
    return status;
}
