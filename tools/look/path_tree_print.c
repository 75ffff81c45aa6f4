#include "path_tree_print.h"

#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/root_name.h"
#include "analysis/root_rows.h"
#include "base/alloc.h"
#include "root_json.h"

/* The least part of all words that a line for eyes has, unless it is one of a few. */
enum { SHOWN_ONE_IN = 100 };

enum { TEXT_BYTES = 2048, FIT_COLUMNS = 60 };

/* ---- what a node is called */

/* "x", "table[17]", "[*].key"; "" when the type does not say. */
static void place_of(const struct hs_view *view, const struct hs_path_tree_node *node, char *text,
                     size_t n_bytes)
{
    char place[HS_FIELD_NAME_BYTES] = "";
    if (node->offset_words < HS_PATH_TREE_ANY)
        hs_field_name(view, node->type, node->offset_words, place, sizeof place);
    const char *behind = place[0] == '[' ? strchr(place, ']') : NULL;
    if (node->is_element && behind != NULL)
        (void)snprintf(text, n_bytes, "[*]%s", behind + 1);
    else
        (void)snprintf(text, n_bytes, "%s", place);
}

static const char *type_of(const struct hs_view *view, const struct hs_path_tree_node *node)
{
    if (node->type == HS_PATH_TREE_UNTYPED)
        return "untyped blocks";
    return hs_view_string(view, hs_snap_type(view->snap, node->type)->name);
}

/* Tells whether the node is the part of an object that has no name in Python. Its text is that of
 * the object, and the next step is written as the object's own. */
static bool is_part(const struct hs_view *view, const struct hs_path_tree_node *node)
{
    char place[HS_FIELD_NAME_BYTES + 8];
    if (node->root != HS_NO_NODE || node->offset_words >= HS_PATH_TREE_ANY || node->is_run)
        return false;
    place_of(view, node, place, sizeof place);
    return hs_field_is_part(view, node->type, place);
}

static void step_text(const struct hs_view *view, const struct hs_path_tree_node *node,
                      bool is_of_part, char *text, size_t n_bytes)
{
    char place[HS_FIELD_NAME_BYTES + 8];
    const char *type = is_of_part ? "" : type_of(view, node);
    const char *run = node->is_run ? "{*}" : "";
    place_of(view, node, place, sizeof place);
    if (node->offset_words == HS_NO_OFFSET || is_part(view, node))
        (void)snprintf(text, n_bytes, "%.400s", type);
    else if (node->offset_words == HS_PATH_TREE_ANY)
        (void)snprintf(text, n_bytes, "%.400s%s", type, node->is_run ? run : "[*]");
    else if (place[0] == 0)
        (void)snprintf(text, n_bytes, "%.400s+%lu%s", type,
                       (unsigned long)(node->offset_words * view->facts->word_bytes), run);
    else
        (void)snprintf(text, n_bytes, "%.400s%s%s%s", type,
                       place[0] == '[' || place[0] == '(' ? "" : ".", place, run);
}

static void root_text(const struct hs_view *view, hs_node node, char *text, size_t n_bytes)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    char where[HS_ROOT_WHERE_BYTES];
    hs_root_where(view, root, where);
    (void)snprintf(text, n_bytes, "%s %.400s%s%s%s", hs_root_kind_name(root->kind),
                   hs_view_string(view, root->name), where[0] != 0 ? " (" : "", where,
                   where[0] != 0 ? ")" : "");
}

/* Tells whether the node goes on in what its parent's text names. */
static bool is_of_part(const struct hs_path_tree_shown *shown, uint32_t at)
{
    const struct hs_path_tree_node *node = &shown->tree->nodes[at];
    return node->root == HS_NO_NODE && node->offset_words != HS_NO_OFFSET &&
           is_part(shown->view, &shown->tree->nodes[node->parent]);
}

static void node_text(const struct hs_path_tree_shown *shown, uint32_t at, char *text,
                      size_t n_bytes)
{
    const struct hs_path_tree_node *node = &shown->tree->nodes[at];
    if (node->root != HS_NO_NODE)
        root_text(shown->view, node->root, text, n_bytes);
    else
        step_text(shown->view, node, is_of_part(shown, at), text, n_bytes);
}

/* ---- table, TSV and NDJSON */

struct line {
    uint64_t node, parent, objects, words, error_words, example;
    const char *what;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(1, COUNT, node, "NODE", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(2, COUNT, parent, "PARENT", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(3, COUNT, objects, "OBJECTS", 0),
    HS_COLUMN(4, WORDS, words, "WORDS", 0),
    HS_COLUMN_AS("words_percent", 5, PERCENT, words, "%", HS_COLUMN_TABLE_ONLY),
    HS_COLUMN(6, STRING, what, "WHAT", HS_COLUMN_FLEXIBLE),
};
static const struct hs_field sampled_fields[] = {
    HS_COLUMN(1, COUNT, node, "NODE", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(2, COUNT, parent, "PARENT", HS_COLUMN_DATA_ONLY),
    HS_COLUMN_AS("n_samples", 3, COUNT, objects, "SAMPLES", 0),
    HS_COLUMN_AS("estimated_words", 4, WORDS, words, "SAMPLED", 0),
    HS_COLUMN(5, WORDS, error_words, "+-", HS_COLUMN_NARROW(2)),
    HS_COLUMN_AS("share_percent", 6, PERCENT, words, "%", HS_COLUMN_TABLE_ONLY),
    HS_COLUMN(7, COUNT, example, "EXAMPLE", HS_COLUMN_NARROW(1)),
    HS_COLUMN(8, STRING, what, "WHAT", HS_COLUMN_FLEXIBLE),
};
static const struct hs_record record = HS_RECORD(fields);
static const struct hs_record sampled_record = HS_RECORD(sampled_fields);

struct rows {
    const struct hs_path_tree_shown *shown;
    struct hs_path_tree_lines lines;
    struct hs_sink *sink;
};

/* Makes one row; `sums` NULL: a line that goes on with the one above. `node` may be
 * HS_PATH_TREE_NONE. */
static struct line line_of(const struct rows *rows, uint32_t node,
                           const struct hs_path_tree_sums *sums, const char *text)
{
    const struct hs_path_tree_extra *extra = &rows->shown->extra;
    bool is_node = node != HS_PATH_TREE_NONE && sums != NULL;
    bool has_words = sums != NULL && (extra->examples == NULL || extra->error_words != NULL);
    uint32_t parent = is_node ? rows->shown->tree->nodes[node].parent : HS_PATH_TREE_NONE;
    return (struct line){
        .node = is_node ? node : HS_UNKNOWN,
        .parent = parent != HS_PATH_TREE_NONE ? parent : HS_UNKNOWN,
        .objects = sums != NULL ? sums->objects : HS_UNKNOWN,
        .words = has_words ? sums->words : HS_UNKNOWN,
        .error_words = is_node && has_words && extra->error_words != NULL ? extra->error_words[node]
                                                                          : HS_UNKNOWN,
        .example = is_node && extra->examples != NULL ? extra->examples[node] : HS_UNKNOWN,
        .what = text,
    };
}

static hs_status put_row(struct rows *rows, uint32_t node, const struct hs_path_tree_sums *sums,
                         const char *text, struct hs_error *err)
{
    struct line line = line_of(rows, node, sums, text);
    return hs_sink_row(rows->sink, &line, err);
}

/* The nodes from `first` down to `last`, the root's side first: their number. */
static unsigned chain_of(const struct hs_path_tree *tree, const struct hs_path_tree_line *line,
                         uint32_t nodes[HS_PATH_TREE_DEPTH + 4])
{
    unsigned n = 0;
    for (uint32_t at = line->last; n < HS_PATH_TREE_DEPTH + 4; at = tree->nodes[at].parent) {
        nodes[n++] = at;
        if (at == line->first)
            break;
    }
    for (unsigned i = 0; i < n / 2; i++) {
        uint32_t other = nodes[i];
        nodes[i] = nodes[n - 1 - i];
        nodes[n - 1 - i] = other;
    }
    return n;
}

/* A chain on one line where it fits, else on several. */
static hs_status put_line(struct rows *rows, const struct hs_path_tree_line *line,
                          struct hs_error *err)
{
    const struct hs_path_tree_shown *shown = rows->shown;
    uint32_t nodes[HS_PATH_TREE_DEPTH + 4];
    unsigned n = chain_of(shown->tree, line, nodes);
    const struct hs_path_tree_sums *sums = &shown->sums[line->first];
    char text[TEXT_BYTES];
    int indent = rows->sink->is_table ? 2 * (int)line->depth : 0;
    size_t used = (size_t)snprintf(text, sizeof text, "%*s", indent, "");
    for (unsigned i = 0; i < n; i++) {
        char one[1024];
        node_text(shown, nodes[i], one, sizeof one);
        bool fits = used + strlen(one) + 3 < FIT_COLUMNS || (int)used == indent;
        bool is_joined = (int)used > indent && is_of_part(shown, nodes[i]);
        if (rows->sink->is_table && !fits && !is_joined) {
            HS_TRY(put_row(rows, line->first, sums, text, err));
            sums = NULL;
            used = (size_t)snprintf(text, sizeof text, "%*s> ", indent + 1, "");
        } else if ((int)used > indent && !is_joined) {
            used += (size_t)snprintf(text + used, sizeof text - used, " > ");
        }
        (void)snprintf(text + used, sizeof text - used, "%.600s", one);
        used = strlen(text);
        if (used + 700 > sizeof text)
            break;
    }
    return put_row(rows, line->first, sums, text, err);
}

static hs_status put_hidden(struct rows *rows, uint32_t depth, uint64_t n,
                            const struct hs_path_tree_sums *sums, struct hs_error *err)
{
    char text[128];
    if (n == 0 || !rows->sink->is_table)
        return HS_OK;
    (void)snprintf(text, sizeof text, "%*s[%lu others]", 2 * (int)depth, "", (unsigned long)n);
    return put_row(rows, HS_PATH_TREE_NONE, sums, text, err);
}

static void put_closing(struct rows *rows, const struct hs_path_tree_sums *sums, const char *text)
{
    struct line line = line_of(rows, HS_PATH_TREE_NONE, sums, text);
    if (sums->objects != 0)
        hs_sink_close(rows->sink, &line);
}

/* "[n others]" stands behind what is shown below the same line. */
static hs_status put_lines(struct rows *rows, struct hs_error *err)
{
    const struct hs_path_tree_line *open[HS_PATH_TREE_DEPTH + 4];
    uint32_t n_open = 0;
    for (size_t i = 0; i <= rows->lines.n; i++) {
        const struct hs_path_tree_line *line = &rows->lines.lines[i];
        uint32_t depth = i < rows->lines.n ? line->depth : 0;
        while (n_open > depth) {
            n_open--;
            HS_TRY(
                put_hidden(rows, n_open + 1, open[n_open]->n_hidden, &open[n_open]->hidden, err));
        }
        if (i == rows->lines.n)
            break;
        HS_TRY(put_line(rows, line, err));
        open[n_open++] = line;
    }
    HS_TRY(put_hidden(rows, 0, rows->lines.n_hidden, &rows->lines.hidden, err));
    put_closing(rows, &rows->shown->unreached, "[unreached]");
    put_closing(rows, &rows->shown->gone, "[not in the heap]");
    return HS_OK;
}

/* ---- JSON */

static hs_status put_step(struct hs_sink *sink, const struct hs_view *view,
                          const struct hs_path_tree_node *node, struct hs_error *err)
{
    char place[HS_FIELD_NAME_BYTES + 8];
    bool has_offset = node->offset_words < HS_PATH_TREE_ANY;
    place_of(view, node, place, sizeof place);
    return hs_sink_members(
        sink,
        HS_PAIRS(HS_OBJECT("step"), HS_TEXT("type", type_of(view, node)),
                 HS_COUNT("offset",
                          has_offset ? node->offset_words * view->facts->word_bytes : HS_UNKNOWN),
                 HS_COUNT("field", has_offset ? node->offset_words : HS_UNKNOWN),
                 HS_TEXT("place", hs_or_null(place)),
                 HS_VALUE("any_element", BOOL, node->is_element),
                 HS_VALUE("repeated", BOOL, node->is_run),
                 HS_VALUE("end", BOOL, node->offset_words == HS_NO_OFFSET), HS_END),
        err);
}

static hs_status put_node(struct hs_sink *sink, const struct hs_path_tree_shown *shown, uint32_t at,
                          struct hs_error *err)
{
    const struct hs_path_tree_node *node = &shown->tree->nodes[at];
    const struct hs_path_tree_sums *sums = &shown->sums[at];
    const struct hs_path_tree_extra *extra = &shown->extra;
    struct hs_root_of root_of = {shown->view, node->root};
    const struct hs_list root = {.each = hs_root_one, .context = &root_of};
    if (node->root != HS_NO_NODE)
        HS_TRY(hs_sink_members(sink, HS_PAIRS(HS_ONE("root", &root)), err));
    else
        HS_TRY(put_step(sink, shown->view, node, err));
    if (extra->examples == NULL)
        return hs_sink_members(
            sink, HS_PAIRS(HS_COUNT("objects", sums->objects), HS_COUNT("words", sums->words)),
            err);
    bool is_weighted = extra->error_words != NULL;
    return hs_sink_members(
        sink,
        HS_PAIRS(HS_COUNT("n_samples", sums->objects),
                 HS_COUNT("estimated_words", is_weighted ? sums->words : HS_UNKNOWN),
                 HS_COUNT("error_words", is_weighted ? extra->error_words[at] : HS_UNKNOWN),
                 HS_COUNT("example", extra->examples[at])),
        err);
}

/* Objects within objects, as deep as the tree is: no list of rows has that shape. */
static hs_status put_nested(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_path_tree_pairs *pairs = context;
    const struct hs_path_tree_lines *lines = &pairs->lines;
    struct hs_json *json = sink->json;
    uint32_t depth = 0;
    for (size_t i = 0; i <= lines->n; i++) {
        const struct hs_path_tree_line *line = &lines->lines[i];
        for (uint32_t end = i < lines->n ? line->depth : 0; depth > end; depth--) {
            hs_json_end_array(json);
            hs_json_end_object(json);
        }
        if (i == lines->n)
            break;
        hs_json_begin_object(json, NULL, HS_JSON_BLOCK);
        HS_TRY(put_node(sink, pairs->shown, line->first, err));
        HS_TRY(hs_sink_members(sink,
                               HS_PAIRS(HS_OBJECT("others"), HS_COUNT("count", line->n_hidden),
                                        HS_COUNT("objects", line->hidden.objects),
                                        HS_COUNT("words", line->hidden.words), HS_END),
                               err));
        hs_json_begin_array(json, "children", HS_JSON_BLOCK);
        depth++;
    }
    return HS_OK;
}

hs_status hs_path_tree_pairs_init(const struct hs_path_tree_shown *shown, uint64_t limit,
                                  struct hs_path_tree_pairs *ret, struct hs_error *err)
{
    struct hs_path_tree_lines lines;
    HS_TRY(hs_path_tree_show(shown->tree, shown->sums, limit, /* least_words= */ 0,
                             /* chained= */ false, &lines, err));
    *ret = (struct hs_path_tree_pairs){
        .shown = shown,
        .lines = lines,
        .list = {.each = put_nested, .context = ret},
        .members = {HS_ROWS("tree", &ret->list), HS_OBJECT("tree_others"),
                    HS_COUNT("count", lines.n_hidden), HS_COUNT("objects", lines.hidden.objects),
                    HS_COUNT("words", lines.hidden.words), HS_END, HS_PAIRS_END},
    };
    return HS_OK;
}

void hs_path_tree_pairs_fini(struct hs_path_tree_pairs *pairs)
{
    hs_path_tree_lines_fini(&pairs->lines);
}

/* Puts the nodes in NDJSON: a line for each, with the number of its parent. */
static hs_status put_nodes(struct rows *rows, struct hs_error *err)
{
    struct hs_json *json = rows->sink->json;
    for (size_t i = 0; i < rows->lines.n; i++) {
        uint32_t at = rows->lines.lines[i].first, parent = rows->shown->tree->nodes[at].parent;
        hs_json_begin_object(json, NULL, HS_JSON_BLOCK);
        HS_TRY(hs_sink_members(
            rows->sink,
            HS_PAIRS(HS_COUNT("node", at),
                     HS_COUNT("parent", parent != HS_PATH_TREE_NONE ? parent : HS_UNKNOWN)),
            err));
        HS_TRY(put_node(rows->sink, rows->shown, at, err));
        hs_json_end_object(json);
    }
    return HS_OK;
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct rows *rows = context;
    rows->sink = sink;
    return sink->json != NULL ? put_nodes(rows, err) : put_lines(rows, err);
}

hs_status hs_path_tree_print(struct hs_tool *tool, const struct hs_invocation *inv,
                             const struct hs_path_tree_shown *shown, struct hs_error *err)
{
    struct rows rows = {.shown = shown};
    const struct hs_list list = {
        .record = shown->extra.examples != NULL ? &sampled_record : &record,
        .each = put_rows,
        .context = &rows,
    };
    struct hs_listing listing = {
        .rows = &list,
        .no_total = true,
        .word_bytes = shown->view->facts->word_bytes,
        .whole = shown->unreached.words + shown->gone.words,
    };
    for (size_t i = 0; i < shown->tree->n; i++)
        if (shown->tree->nodes[i].parent == HS_PATH_TREE_NONE)
            listing.whole += shown->sums[i].words;
    bool is_table = hs_tool_format(inv) == HS_FORMAT_TABLE;
    uint64_t least_words =
        is_table && !hs_given(inv, HS_OPT_ROWS) ? listing.whole / SHOWN_ONE_IN : 0;
    HS_TRY(hs_path_tree_show(shown->tree, shown->sums, hs_tool_rows(inv), least_words, is_table,
                             &rows.lines, err));
    hs_status status = hs_tool_list(tool, inv, &listing, err);
    hs_path_tree_lines_fini(&rows.lines);
    return status;
}
