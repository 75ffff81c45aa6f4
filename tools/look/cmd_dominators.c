/* dominators: who keeps what, as a tree. */
#include <stdio.h>

#include "analysis/object_lookup.h"
#include "base/alloc.h"
#include "commands.h"
#include "open_view.h"
#include "root_json.h"

struct tree_row {
    hs_node node;
    struct hs_node_facts facts;
    uint32_t depth;
    uint64_t n_hidden; /* children that are not shown */
    uint64_t hidden_words;
};

struct tree_rows {
    struct tree_row *rows; /* owned */
    size_t n, capacity;
};

struct tree_query {
    uint64_t max_depth, max_children, min_words;
};

/* Room for the walk: a node waits on the stack with its depth. */
struct waiting {
    hs_node node;
    uint32_t depth;
};

struct tree_walk {
    struct hs_view *view;
    const struct tree_query *query;
    struct tree_rows *rows;
    struct waiting *stack; /* owned */
    size_t n, capacity;
};

static hs_status push(struct tree_walk *walk, hs_node node, uint32_t depth, struct hs_error *err)
{
    HS_TRY(hs_grow((void **)&walk->stack, &walk->capacity, walk->n + 1, sizeof *walk->stack, err));
    walk->stack[walk->n++] = (struct waiting){node, depth};
    return HS_OK;
}

/* Lets the children wait that are large enough, the largest on top, and counts them in the row. */
static hs_status wait_for_children(struct tree_walk *walk, struct waiting at, struct tree_row *row,
                                   struct hs_error *err)
{
    struct hs_index *index = walk->view->index;
    uint64_t limit = at.depth < walk->query->max_depth ? walk->query->max_children : 0;
    uint64_t most = row->n_hidden < limit ? row->n_hidden : limit, n = 0;
    hs_auto_free struct hs_child *children = NULL;
    if (most == 0)
        return HS_OK;
    HS_TRY(hs_index_largest(index, at.node, most, &children, &n, err));
    while (n > 0 && children[n - 1].words < walk->query->min_words)
        n--;
    row->n_hidden -= n < row->n_hidden ? n : row->n_hidden;
    for (uint64_t i = n; i-- > 0;) {
        row->hidden_words -= children[i].words;
        HS_TRY(push(walk, children[i].node, at.depth + 1, err));
    }
    return HS_OK;
}

/* Shows one node and lets its largest children wait. */
static hs_status visit(struct tree_walk *walk, struct waiting at, struct hs_error *err)
{
    struct tree_rows *rows = walk->rows;
    struct hs_index *index = walk->view->index;
    struct tree_row row = {.node = at.node, .depth = at.depth};
    row.n_hidden = hs_index_dominated(index, at.node).n;
    row.hidden_words = hs_index_retained(index, at.node).words;
    HS_TRY(wait_for_children(walk, at, &row, err));
    HS_TRY(hs_grow((void **)&rows->rows, &rows->capacity, rows->n + 1, sizeof row, err));
    rows->rows[rows->n++] = row;
    return HS_OK;
}

/* What the rows' nodes are; the own words of a row are not hidden ones. */
static hs_status look_up_rows(struct hs_view *view, struct tree_rows *rows, struct hs_error *err)
{
    hs_auto_free hs_node *nodes = NULL;
    hs_auto_free struct hs_node_facts *facts = NULL;
    HS_TRY(hs_alloc(rows->n, sizeof *nodes, (void **)&nodes, err));
    HS_TRY(hs_alloc(rows->n, sizeof *facts, (void **)&facts, err));
    for (size_t i = 0; i < rows->n; i++)
        nodes[i] = rows->rows[i].node;
    HS_TRY(hs_view_facts_of(view, nodes, rows->n, facts, err));
    for (size_t i = 0; i < rows->n; i++) {
        struct tree_row *row = &rows->rows[i];
        row->facts = facts[i];
        if (!row->facts.is_root && !row->facts.is_static)
            row->hidden_words -= row->facts.words;
    }
    return HS_OK;
}

static hs_status select_rows(struct hs_view *view, hs_node from, const struct tree_query *query,
                             struct tree_rows *ret, struct hs_error *err)
{
    struct tree_walk walk = {.view = view, .query = query, .rows = ret};
    hs_status status = push(&walk, from, 0, err);
    while (status == HS_OK && walk.n > 0)
        status = ret->n < view->n_nodes ? visit(&walk, walk.stack[--walk.n], err)
                                        : hs_view_fail_circle(view, err);
    hs_free(walk.stack);
    return status == HS_OK ? look_up_rows(view, ret, err) : status;
}

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
    HS_COLUMN(3, WORDS, words, "OWN", 0),
    HS_COLUMN(1, WORDS, retained_words, "RETAINED", 0),
    HS_COLUMN_AS("retained_percent", 2, PERCENT, retained_words, "%", HS_COLUMN_TABLE_ONLY),
    HS_FIELD(COUNT, retained_objects),
    HS_FIELD(WORDS, static_retained_words),
    HS_FIELD(COUNT, hidden_children),
    HS_FIELD(WORDS, hidden_words),
    HS_COLUMN_AS("name", 6, STRING, what, "WHAT", HS_COLUMN_FLEXIBLE | HS_COLUMN_NOT_JSON),
};
static const struct hs_record record = HS_RECORD(fields);

static hs_status put_row(struct hs_sink *sink, const struct hs_view *view,
                         const struct tree_row *row, struct hs_error *err)
{
    struct hs_sizes retained = hs_index_retained(view->index, row->node);
    char what[NAME_BYTES];
    int indent = (int)(row->depth < INDENT_LEVELS ? row->depth : INDENT_LEVELS);
    (void)snprintf(what, sizeof what, "%*s%s", sink->is_table ? 2 * indent : 0, "",
                   row->facts.label);
    struct line line = {
        .id = row->node,
        .dominator = hs_index_idom(view->index, row->node),
        .depth = row->depth,
        .address = row->facts.address != 0 ? row->facts.address : HS_UNKNOWN,
        .name = row->facts.is_root ? row->facts.label : NULL,
        .type = row->facts.is_root ? NULL : row->facts.label,
        .what = what,
        .words = row->facts.words,
        .retained_words = retained.words,
        .retained_objects = retained.objects,
        .static_retained_words = retained.static_words,
        .hidden_children = row->n_hidden,
        .hidden_words = row->hidden_words,
    };
    return hs_sink_row(sink, &line, err);
}

/* What hides below a node, as a line of its own. */
static hs_status put_hidden(struct hs_sink *sink, const struct tree_row *row, struct hs_error *err)
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

/* A line "[n others]" stands where the last of the shown children's subtrees ends: before the first
 * following row that is not deeper. `open` holds the row that waits at each depth. */
static hs_status close_deeper(struct hs_sink *sink, const struct tree_row **open, size_t *n_open,
                              uint32_t depth, struct hs_error *err)
{
    while (*n_open > depth) {
        const struct tree_row *row = open[--*n_open];
        if (row->n_hidden != 0)
            HS_TRY(put_hidden(sink, row, err));
    }
    return HS_OK;
}

struct listing {
    struct hs_view *view;
    struct tree_rows rows;
};

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listing *listing = context;
    hs_auto_free const struct tree_row **open = NULL;
    size_t n_open = 0, capacity = 0;
    for (size_t i = 0; i < listing->rows.n; i++) {
        const struct tree_row *row = &listing->rows.rows[i];
        HS_TRY(close_deeper(sink, open, &n_open, row->depth, err));
        HS_TRY(put_row(sink, listing->view, row, err));
        if (!sink->is_table)
            continue;
        HS_TRY(hs_grow((void **)&open, &capacity, n_open + 1, sizeof *open, err));
        open[n_open++] = row;
    }
    return close_deeper(sink, open, &n_open, 0, err);
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv,
                       struct listing *listing, struct hs_error *err)
{
    const struct hs_view *view = listing->view;
    const struct hs_list list = {.record = &record, .each = put_rows, .context = listing};
    const struct hs_listing all = {
        .rows = &list,
        .no_total = true,
        .word_bytes = view->facts->word_bytes,
        .whole = view->totals->heap_words,
        .document =
            HS_PAIRS(HS_TEXT("schema", "heapsnap.dominators/1"), HS_TEXT("snapshot", view->path),
                     HS_COUNT("word_bytes", view->facts->word_bytes), HS_ROWS("nodes", &list)),
    };
    return hs_tool_list(tool, inv, &all, err);
}

static hs_status run(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_view *view,
                     struct hs_error *err)
{
    struct hs_object_spec from = {.nodes = {0}, .n_nodes = 1};
    if (hs_given(inv, HS_OPT_FROM))
        HS_TRY(hs_object_lookup(view, inv->text[HS_OPT_FROM], &from, err));
    bool has_rows = hs_given(inv, HS_OPT_ROWS);
    struct tree_query query = {
        .max_depth = hs_given(inv, HS_OPT_DEPTH) ? inv->number[HS_OPT_DEPTH] : 4,
        .max_children = has_rows ? hs_tool_rows(inv) : 8,
        .min_words = inv->number[HS_OPT_MIN_WORDS],
    };
    struct listing listing = {.view = view};
    hs_status status = select_rows(view, from.nodes[0], &query, &listing.rows, err);
    if (status == HS_OK)
        status = print(tool, inv, &listing, err);
    hs_free(listing.rows.rows);
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
