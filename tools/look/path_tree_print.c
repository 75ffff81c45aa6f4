#include "path_tree_print.h"

#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/root_rows.h"
#include "base/alloc.h"
#include "report/sheet.h"
#include "root_json.h"

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

static void step_text(const struct hs_view *view, const struct hs_path_tree_node *node, char *text,
                      size_t n_bytes)
{
    char place[HS_FIELD_NAME_BYTES + 8];
    const char *type = type_of(view, node);
    const char *run = node->is_run ? "{*}" : "";
    place_of(view, node, place, sizeof place);
    if (node->offset_words == HS_NO_OFFSET)
        (void)snprintf(text, n_bytes, "%.400s", type);
    else if (node->offset_words == HS_PATH_TREE_ANY)
        (void)snprintf(text, n_bytes, "%.400s%s", type, node->is_run ? run : "[*]");
    else if (place[0] == 0)
        (void)snprintf(text, n_bytes, "%.400s+%lu%s", type,
                       (unsigned long)(node->offset_words * view->facts->word_bytes), run);
    else
        (void)snprintf(text, n_bytes, "%.400s%s%s%s", type, place[0] == '[' ? "" : ".", place, run);
}

static void root_text(const struct hs_view *view, hs_node node, char *text, size_t n_bytes)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    char place[256];
    hs_root_place(view, root, place, sizeof place);
    (void)snprintf(text, n_bytes, "%s %.400s%s%s%s", hs_root_kind_name(root->kind),
                   hs_view_string(view, root->name), place[0] != 0 ? " (" : "",
                   hs_file_short(place), place[0] != 0 ? ")" : "");
}

static void node_text(const struct hs_path_tree_shown *shown, uint32_t at, char *text,
                      size_t n_bytes)
{
    const struct hs_path_tree_node *node = &shown->tree->nodes[at];
    if (node->root != HS_NO_NODE)
        root_text(shown->view, node->root, text, n_bytes);
    else
        step_text(shown->view, node, text, n_bytes);
}

/* ---- table and TSV */

static const struct hs_column columns[] = {
    {"node", "NODE", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"parent", "PARENT", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"objects", "OBJECTS", HS_COLUMN_COUNT, 0},
    {"words", "WORDS", HS_COLUMN_WORDS, 0},
    {"words_percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_TABLE_ONLY},
    {"what", "WHAT", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};
static const struct hs_column sampled_columns[] = {
    {"node", "NODE", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"parent", "PARENT", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"n_samples", "SAMPLES", HS_COLUMN_COUNT, 0},
    {"estimated_words", "SAMPLED", HS_COLUMN_WORDS, 0},
    {"error_words", "+-", HS_COLUMN_WORDS, 0},
    {"share_percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_TABLE_ONLY},
    {"example", "EXAMPLE", HS_COLUMN_COUNT, 0},
    {"what", "WHAT", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};
enum {
    N_COLUMNS = sizeof columns / sizeof *columns,
    N_SAMPLED_COLUMNS = sizeof sampled_columns / sizeof *sampled_columns
};

struct rows {
    const struct hs_path_tree_shown *shown;
    struct hs_path_tree_lines lines;
    struct hs_sheet sheet;
    bool is_table;
};

static void put_number(struct hs_sheet *sheet, bool is_known, uint64_t number)
{
    if (is_known)
        hs_sheet_u64(sheet, number);
    else
        hs_sheet_null(sheet);
}

/* One row; `sums` NULL: a line that goes on with the one above. `node` may be HS_PATH_TREE_NONE. */
static void put_row(struct rows *rows, uint32_t node, const struct hs_path_tree_sums *sums,
                    const char *text)
{
    const struct hs_path_tree_extra *extra = &rows->shown->extra;
    const struct hs_path_tree_node *nodes = rows->shown->tree->nodes;
    bool is_node = node != HS_PATH_TREE_NONE && sums != NULL;
    bool has_words = sums != NULL && (extra->examples == NULL || extra->error_words != NULL);
    put_number(&rows->sheet, is_node, node);
    put_number(&rows->sheet, is_node && nodes[node].parent != HS_PATH_TREE_NONE,
               is_node ? nodes[node].parent : 0);
    put_number(&rows->sheet, sums != NULL, sums != NULL ? sums->objects : 0);
    put_number(&rows->sheet, has_words, sums != NULL ? sums->words : 0);
    if (extra->examples != NULL)
        put_number(&rows->sheet, is_node && has_words,
                   is_node && has_words ? extra->error_words[node] : 0);
    put_number(&rows->sheet, has_words, sums != NULL ? sums->words : 0);
    if (extra->examples != NULL)
        put_number(&rows->sheet, is_node, is_node ? extra->examples[node] : 0);
    hs_sheet_string(&rows->sheet, text);
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
static void put_line(struct rows *rows, const struct hs_path_tree_line *line)
{
    const struct hs_path_tree_shown *shown = rows->shown;
    uint32_t nodes[HS_PATH_TREE_DEPTH + 4];
    unsigned n = chain_of(shown->tree, line, nodes);
    const struct hs_path_tree_sums *sums = &shown->sums[line->first];
    char text[TEXT_BYTES];
    int indent = rows->is_table ? 2 * (int)line->depth : 0;
    size_t used = (size_t)snprintf(text, sizeof text, "%*s", indent, "");
    for (unsigned i = 0; i < n; i++) {
        char one[1024];
        node_text(shown, nodes[i], one, sizeof one);
        bool fits = used + strlen(one) + 3 < FIT_COLUMNS || (int)used == indent;
        if (rows->is_table && !fits) {
            put_row(rows, line->first, sums, text);
            sums = NULL;
            used = (size_t)snprintf(text, sizeof text, "%*s> ", indent + 1, "");
        } else if ((int)used > indent) {
            used += (size_t)snprintf(text + used, sizeof text - used, " > ");
        }
        (void)snprintf(text + used, sizeof text - used, "%.600s", one);
        used = strlen(text);
        if (used + 700 > sizeof text)
            break;
    }
    put_row(rows, line->first, sums, text);
}

static void put_hidden(struct rows *rows, uint32_t depth, uint64_t n,
                       const struct hs_path_tree_sums *sums)
{
    char text[128];
    if (n == 0 || !rows->is_table)
        return;
    (void)snprintf(text, sizeof text, "%*s[%lu others]", 2 * (int)depth, "", (unsigned long)n);
    put_row(rows, HS_PATH_TREE_NONE, sums, text);
}

/* "[n others]" stands behind what is shown below the same line. */
static void put_lines(struct rows *rows)
{
    const struct hs_path_tree_line *open[HS_PATH_TREE_DEPTH + 4];
    uint32_t n_open = 0;
    for (size_t i = 0; i <= rows->lines.n; i++) {
        const struct hs_path_tree_line *line = &rows->lines.lines[i];
        uint32_t depth = i < rows->lines.n ? line->depth : 0;
        while (n_open > depth) {
            n_open--;
            put_hidden(rows, n_open + 1, open[n_open]->n_hidden, &open[n_open]->hidden);
        }
        if (i == rows->lines.n)
            break;
        put_line(rows, line);
        open[n_open++] = line;
    }
    put_hidden(rows, 0, rows->lines.n_hidden, &rows->lines.hidden);
    if (!rows->is_table)
        return;
    hs_sheet_close_rows(&rows->sheet);
    if (rows->shown->unreached.objects != 0)
        put_row(rows, HS_PATH_TREE_NONE, &rows->shown->unreached, "[unreached]");
    if (rows->shown->gone.objects != 0)
        put_row(rows, HS_PATH_TREE_NONE, &rows->shown->gone, "[not in the heap]");
}

hs_status hs_path_tree_rows(struct hs_tool *tool, const struct hs_invocation *inv,
                            const struct hs_path_tree_shown *shown, struct hs_error *err)
{
    bool is_sampled = shown->extra.examples != NULL;
    uint64_t whole = shown->unreached.words + shown->gone.words;
    for (size_t i = 0; i < shown->tree->n; i++)
        if (shown->tree->nodes[i].parent == HS_PATH_TREE_NONE)
            whole += shown->sums[i].words;
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, whole);
    uint64_t limit = options.limit;
    options.word_bytes = shown->view->facts->word_bytes;
    options.no_total = true;
    options.limit = 0;
    struct rows rows = {.shown = shown, .is_table = options.format == HS_SHEET_TABLE};
    HS_TRY(hs_path_tree_show(shown->tree, shown->sums, limit, rows.is_table, &rows.lines, err));
    hs_status status =
        hs_sheet_init(&rows.sheet, is_sampled ? sampled_columns : columns,
                      is_sampled ? (size_t)N_SAMPLED_COLUMNS : (size_t)N_COLUMNS, &options, err);
    if (status == HS_OK) {
        put_lines(&rows);
        status = hs_sheet_write(&rows.sheet, &tool->out, err);
        hs_sheet_fini(&rows.sheet);
    }
    hs_path_tree_lines_fini(&rows.lines);
    return status;
}

/* ---- JSON */

static void put_step(struct hs_json *json, const struct hs_view *view,
                     const struct hs_path_tree_node *node)
{
    char place[HS_FIELD_NAME_BYTES + 8];
    bool has_offset = node->offset_words < HS_PATH_TREE_ANY;
    place_of(view, node, place, sizeof place);
    hs_json_begin_object(json, "step", HS_JSON_LINE);
    hs_json_string(json, "type", type_of(view, node));
    if (has_offset) {
        hs_json_u64(json, "offset", node->offset_words * view->facts->word_bytes);
        hs_json_u64(json, "field", node->offset_words);
    } else {
        hs_json_null(json, "offset");
        hs_json_null(json, "field");
    }
    hs_json_string(json, "place", hs_or_null(place));
    hs_json_bool(json, "any_element", node->is_element);
    hs_json_bool(json, "repeated", node->is_run);
    hs_json_bool(json, "end", node->offset_words == HS_NO_OFFSET);
    hs_json_end_object(json);
}

static void put_node(struct hs_json *json, const struct hs_path_tree_shown *shown, uint32_t at)
{
    const struct hs_path_tree_node *node = &shown->tree->nodes[at];
    if (node->root != HS_NO_NODE) {
        struct hs_root_row root = hs_root_row_of(shown->view, node->root);
        hs_root_json(json, "root", shown->view, &root);
    } else {
        put_step(json, shown->view, node);
    }
    if (shown->extra.examples == NULL) {
        hs_json_u64(json, "objects", shown->sums[at].objects);
        hs_json_u64(json, "words", shown->sums[at].words);
        return;
    }
    hs_json_u64(json, "n_samples", shown->sums[at].objects);
    if (shown->extra.error_words == NULL) {
        hs_json_null(json, "estimated_words");
        hs_json_null(json, "error_words");
    } else {
        hs_json_u64(json, "estimated_words", shown->sums[at].words);
        hs_json_u64(json, "error_words", shown->extra.error_words[at]);
    }
    hs_json_u64(json, "example", shown->extra.examples[at]);
}

static void put_others(struct hs_json *json, const char *key, uint64_t n,
                       const struct hs_path_tree_sums *sums)
{
    hs_json_begin_object(json, key, HS_JSON_LINE);
    hs_json_u64(json, "count", n);
    hs_json_u64(json, "objects", sums->objects);
    hs_json_u64(json, "words", sums->words);
    hs_json_end_object(json);
}

hs_status hs_path_tree_json(struct hs_json *json, const char *key,
                            const struct hs_path_tree_shown *shown, uint64_t limit,
                            struct hs_error *err)
{
    struct hs_path_tree_lines lines;
    uint32_t depth = 0;
    HS_TRY(hs_path_tree_show(shown->tree, shown->sums, limit, /* chained= */ false, &lines, err));
    hs_json_begin_array(json, key, HS_JSON_BLOCK);
    for (size_t i = 0; i < lines.n; i++) {
        const struct hs_path_tree_line *line = &lines.lines[i];
        for (; depth > line->depth; depth--) {
            hs_json_end_array(json);
            hs_json_end_object(json);
        }
        hs_json_begin_object(json, NULL, HS_JSON_BLOCK);
        put_node(json, shown, line->first);
        put_others(json, "others", line->n_hidden, &line->hidden);
        hs_json_begin_array(json, "children", HS_JSON_BLOCK);
        depth++;
    }
    for (; depth > 0; depth--) {
        hs_json_end_array(json);
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
    put_others(json, "tree_others", lines.n_hidden, &lines.hidden);
    hs_path_tree_lines_fini(&lines);
    return HS_OK;
}

hs_status hs_path_tree_ndjson(struct hs_tool *tool, const struct hs_path_tree_shown *shown,
                              uint64_t limit, struct hs_error *err)
{
    struct hs_path_tree_lines lines;
    struct hs_json json;
    HS_TRY(hs_path_tree_show(shown->tree, shown->sums, limit, /* chained= */ false, &lines, err));
    hs_json_init(&json, &tool->out, HS_JSON_COMPACT);
    for (size_t i = 0; i < lines.n; i++) {
        uint32_t at = lines.lines[i].first, parent = shown->tree->nodes[at].parent;
        hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
        hs_json_u64(&json, "node", at);
        if (parent == HS_PATH_TREE_NONE)
            hs_json_null(&json, "parent");
        else
            hs_json_u64(&json, "parent", parent);
        put_node(&json, shown, at);
        hs_json_end_object(&json);
    }
    hs_path_tree_lines_fini(&lines);
    return hs_json_finish(&json, err);
}
