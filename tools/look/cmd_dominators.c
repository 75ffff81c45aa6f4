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

static void put_json_row(struct hs_json *json, const struct hs_view *view,
                         const struct tree_row *row)
{
    struct hs_sizes retained = hs_index_retained(view->index, row->node);
    hs_node idom = hs_index_idom(view->index, row->node);
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    hs_json_node(json, "id", row->node);
    hs_json_node(json, "dominator", idom);
    hs_json_u64(json, "depth", row->depth);
    if (row->facts.address != 0)
        hs_json_address(json, "address", row->facts.address);
    else
        hs_json_null(json, "address");
    hs_json_string(json, "name", row->facts.is_root ? row->facts.label : NULL);
    hs_json_string(json, "type", row->facts.is_root ? NULL : row->facts.label);
    hs_json_u64(json, "words", row->facts.words);
    hs_json_u64(json, "retained_words", retained.words);
    hs_json_u64(json, "retained_objects", retained.objects);
    hs_json_u64(json, "static_retained_words", retained.static_words);
    hs_json_u64(json, "hidden_children", row->n_hidden);
    hs_json_u64(json, "hidden_words", row->hidden_words);
    hs_json_end_object(json);
}

static hs_status print_json(struct hs_tool *tool, struct hs_view *view,
                            const struct tree_rows *rows, bool is_lines, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, is_lines ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    if (!is_lines) {
        hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
        hs_json_string(&json, "schema", "heapsnap.dominators/1");
        hs_json_string(&json, "snapshot", view->path);
        hs_json_u64(&json, "word_bytes", view->facts->word_bytes);
        hs_json_begin_array(&json, "nodes", HS_JSON_BLOCK);
    }
    for (size_t i = 0; i < rows->n; i++)
        put_json_row(&json, view, &rows->rows[i]);
    if (!is_lines) {
        hs_json_end_array(&json);
        hs_json_end_object(&json);
    }
    return hs_json_finish(&json, err);
}

static const struct hs_column columns[] = {
    {"retained_words", "RETAINED", HS_COLUMN_WORDS, 0},
    {"retained_percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_TABLE_ONLY},
    {"words", "OWN", HS_COLUMN_WORDS, 0},
    {"id", "ID", HS_COLUMN_NODE, 0},
    {"depth", "DEPTH", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"name", "WHAT", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};

enum { INDENT_LEVELS = 24, NAME_BYTES = 512 };

/* What hides below a node, as a line of its own. */
static void put_hidden(struct hs_sheet *sheet, const struct tree_row *row)
{
    char name[NAME_BYTES];
    int indent = (int)(row->depth + 1 < INDENT_LEVELS ? row->depth + 1 : INDENT_LEVELS);
    (void)snprintf(name, sizeof name, "%*s[%lu others]", 2 * indent, "",
                   (unsigned long)row->n_hidden);
    hs_sheet_u64(sheet, row->hidden_words);
    hs_sheet_u64(sheet, row->hidden_words);
    hs_sheet_null(sheet);
    hs_sheet_null(sheet);
    hs_sheet_u64(sheet, row->depth + 1);
    hs_sheet_string(sheet, name);
}

static void put_row(struct hs_sheet *sheet, const struct hs_view *view, const struct tree_row *row,
                    bool is_table)
{
    uint64_t retained = hs_index_retained(view->index, row->node).words;
    char name[NAME_BYTES];
    int indent = (int)(row->depth < INDENT_LEVELS ? row->depth : INDENT_LEVELS);
    (void)snprintf(name, sizeof name, "%*s%s", is_table ? 2 * indent : 0, "", row->facts.label);
    hs_sheet_u64(sheet, retained);
    hs_sheet_u64(sheet, retained);
    hs_sheet_u64(sheet, row->facts.words);
    hs_sheet_u64(sheet, row->node);
    hs_sheet_u64(sheet, row->depth);
    hs_sheet_string(sheet, name);
}

/* A line "[n others]" stands where the last of the shown children's subtrees ends: before the first
 * following row that is not deeper. `open` holds the row that waits at each depth. */
static void close_deeper(struct hs_sheet *sheet, const struct tree_row **open, size_t *n_open,
                         uint32_t depth)
{
    while (*n_open > depth) {
        const struct tree_row *row = open[--*n_open];
        if (row->n_hidden != 0)
            put_hidden(sheet, row);
    }
}

static hs_status put_rows(struct hs_sheet *sheet, struct hs_view *view,
                          const struct tree_rows *rows, bool is_table, struct hs_error *err)
{
    const struct tree_row **open = NULL;
    size_t n_open = 0, capacity = 0;
    hs_status status = HS_OK;
    for (size_t i = 0; i < rows->n && status == HS_OK; i++) {
        const struct tree_row *row = &rows->rows[i];
        if (is_table)
            close_deeper(sheet, open, &n_open, row->depth);
        put_row(sheet, view, row, is_table);
        if (is_table)
            status = hs_grow((void **)&open, &capacity, n_open + 1, sizeof *open, err);
        if (status == HS_OK && is_table)
            open[n_open++] = row;
    }
    if (status == HS_OK)
        close_deeper(sheet, open, &n_open, 0);
    hs_free(open);
    return status;
}

static hs_status print_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_view *view, const struct tree_rows *rows,
                             struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, view->totals->heap_words);
    options.word_bytes = view->facts->word_bytes;
    options.no_total = true;
    options.limit = 0; /* -n limits children, not lines */
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, sizeof columns / sizeof *columns, &options, err));
    hs_status status = put_rows(&sheet, view, rows, options.format == HS_SHEET_TABLE, err);
    if (status == HS_OK)
        status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
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
    struct tree_rows rows = {0};
    hs_status status = select_rows(view, from.nodes[0], &query, &rows, err);
    enum hs_format format = hs_tool_format(inv);
    if (status == HS_OK && (format == HS_FORMAT_JSON || format == HS_FORMAT_NDJSON))
        status = print_json(tool, view, &rows, format == HS_FORMAT_NDJSON, err);
    else if (status == HS_OK)
        status = print_sheet(tool, inv, view, &rows, err);
    hs_free(rows.rows);
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
