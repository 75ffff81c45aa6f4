/* Cuts as a sentence, as rows and as JSON. */
#include "cut_print.h"

#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/path_find.h"
#include "analysis/path_fold.h"
#include "report/sheet.h"

enum { NAME_BYTES = 1024 };

/* ---- what a point is called */

/* How one root comes to it, as source would write it; "" when no member on the way has a name. */
static hs_status expression(struct hs_view *view, const struct hs_cut_point *point, char *text,
                            size_t n_bytes, struct hs_error *err)
{
    struct hs_paths paths = {0};
    struct hs_path_fold fold = {0};
    text[0] = 0;
    HS_TRY(hs_paths_to(view, point->node, 1, /* disjoint= */ false, &paths, err));
    hs_status status = HS_OK;
    if (paths.n_paths != 0)
        status = hs_path_fold_nodes(&fold, view, paths.nodes + 1, paths.n_nodes - 1, err);
    if (status == HS_OK && fold.n_steps != 0) {
        const struct hs_root *leaf = hs_snap_root(view->snap, paths.nodes[0]);
        fold.steps[fold.n_steps - 1].offset_words = point->offset_words;
        hs_field_path(view, hs_view_string(view, leaf->name), &fold, text, n_bytes);
    }
    hs_path_fold_fini(&fold);
    hs_paths_fini(&paths);
    return status;
}

/* "struct A.x", "B *[][17]", "block of 48 bytes+24", "struct A", "server.db". */
static void short_name(const struct hs_view *view, const struct hs_cut_point *point,
                       const struct hs_node_facts *facts, char *text, size_t n_bytes)
{
    char place[HS_FIELD_NAME_BYTES];
    if (point->kind != HS_CUT_FIELD)
        (void)snprintf(text, n_bytes, "%.400s", facts->label);
    else if (hs_field_name(view, facts->type, point->offset_words, place, sizeof place) == 0)
        (void)snprintf(text, n_bytes, "%.400s+%lu", facts->label,
                       (unsigned long)(point->offset_words * view->facts->word_bytes));
    else
        (void)snprintf(text, n_bytes, "%.400s%s%s", facts->label, place[0] == '[' ? "" : ".",
                       place);
}

/* ---- the sentence */

/* Their names, and where one alone does not tell, the blocks they are of. */
static hs_status print_names(struct hs_tool *tool, struct hs_view *view,
                             const struct hs_cut_point *points, unsigned n, struct hs_error *err)
{
    char names[HS_CUT_MOST][NAME_BYTES];
    for (unsigned i = 0; i < n; i++) {
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, points[i].node, &facts, err));
        short_name(view, &points[i], &facts, names[i], sizeof names[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        const char *before = i == 0 ? "" : i + 1 == n ? " and " : ", ";
        bool is_told = points[i].kind != HS_CUT_BLOCK;
        for (unsigned j = 0; j < n; j++)
            is_told = is_told && (j == i || strcmp(names[i], names[j]) != 0);
        HS_TRY(hs_print(&tool->out, err, "%s`", before));
        HS_TRY(hs_tool_print_clean(tool, names[i], err));
        HS_TRY(hs_print(&tool->out, err, "`"));
        if (!is_told)
            HS_TRY(hs_print(&tool->out, err, " (#%lu)", (unsigned long)points[i].node));
    }
    return hs_print(&tool->out, err, "\n");
}

/* "two fields keep all of it: " */
static hs_status print_count(struct hs_tool *tool, const struct hs_cut_point *points, unsigned n,
                             struct hs_error *err)
{
    static const char *const numbers[] = {"no", "one", "two", "three", "four"};
    const char *kind = hs_cut_kind_name(points[0].kind);
    for (unsigned i = 1; i < n; i++)
        if (points[i].kind != points[0].kind)
            kind = "place";
    return hs_print(&tool->out, err, "%s %s%s all of it: ", numbers[n], kind,
                    n == 1 ? " keeps" : "s keep");
}

hs_status hs_cut_sentence(struct hs_tool *tool, struct hs_view *view, const struct hs_cut *cut,
                          struct hs_error *err)
{
    struct hs_out *out = &tool->out;
    if (cut->n > HS_CUT_MOST)
        return hs_print(out, err,
                        "more than %d ways that share nothing keep it: no %d roots, fields or "
                        "blocks free it\n",
                        HS_CUT_MOST, HS_CUT_MOST);
    if (cut->n == 0)
        return hs_print(out, err, "nothing keeps it\n");
    HS_TRY(print_count(tool, cut->near_object, cut->n, err));
    HS_TRY(print_names(tool, view, cut->near_object, cut->n, err));
    bool is_same = true;
    for (unsigned i = 0; i < cut->n; i++)
        is_same &= cut->near_object[i].node == cut->near_roots[i].node;
    if (!is_same) {
        HS_TRY(hs_print(out, err, "nearest to the roots: "));
        HS_TRY(print_names(tool, view, cut->near_roots, cut->n, err));
    }
    return hs_print(out, err, "without %s %lu words in %lu objects are freed\n",
                    cut->n == 1 ? "it" : "them", (unsigned long)cut->freed.words,
                    (unsigned long)cut->freed.objects);
}

/* ---- rows */

static const struct hs_column columns[] = {
    {"near", "NEAR", HS_COLUMN_STRING, 0},
    {"kind", "KIND", HS_COLUMN_STRING, 0},
    {"field", "FIELD", HS_COLUMN_COUNT, 0},
    {"id", "ID", HS_COLUMN_NODE, 0},
    {"address", "ADDRESS", HS_COLUMN_ADDRESS, HS_COLUMN_DATA_ONLY},
    {"words", "WORDS", HS_COLUMN_WORDS, 0},
    {"retained_words", "RETAINED", HS_COLUMN_WORDS, 0},
    {"what", "WHAT", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static hs_status put_row(struct hs_sheet *sheet, struct hs_view *view, const char *near,
                         const struct hs_cut_point *point, struct hs_error *err)
{
    struct hs_node_facts facts;
    char name[NAME_BYTES], way[HS_FIELD_PATH_BYTES] = "", what[NAME_BYTES + HS_FIELD_PATH_BYTES];
    HS_TRY(hs_view_facts(view, point->node, &facts, err));
    short_name(view, point, &facts, name, sizeof name);
    if (!facts.is_root)
        HS_TRY(expression(view, point, way, sizeof way, err));
    (void)snprintf(what, sizeof what, "%s%s%s", name, way[0] != 0 ? "  = " : "", way);
    hs_sheet_string(sheet, near);
    hs_sheet_string(sheet, hs_cut_kind_name(point->kind));
    if (point->offset_words == HS_NO_OFFSET)
        hs_sheet_null(sheet);
    else
        hs_sheet_u64(sheet, point->offset_words);
    hs_sheet_u64(sheet, point->node);
    if (facts.address == 0)
        hs_sheet_null(sheet);
    else
        hs_sheet_u64(sheet, facts.address);
    if (facts.is_root)
        hs_sheet_null(sheet);
    else
        hs_sheet_u64(sheet, facts.words);
    hs_sheet_u64(sheet, hs_index_retained(view->index, point->node).words);
    hs_sheet_string(sheet, what);
    return HS_OK;
}

hs_status hs_cut_rows(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_view *view,
                      const struct hs_cut *cut, struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    options.word_bytes = view->facts->word_bytes;
    options.no_total = true;
    options.limit = 0;
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, N_COLUMNS, &options, err));
    hs_status status = HS_OK;
    unsigned n = cut->n > HS_CUT_MOST ? 0 : cut->n;
    for (unsigned i = 0; i < n && status == HS_OK; i++)
        status = put_row(&sheet, view, "roots", &cut->near_roots[i], err);
    for (unsigned i = 0; i < n && status == HS_OK; i++)
        status = put_row(&sheet, view, "object", &cut->near_object[i], err);
    if (status == HS_OK && (n != 0 || options.format != HS_SHEET_TABLE))
        status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

/* ---- JSON */

static void put_field(struct hs_json *json, const struct hs_view *view,
                      const struct hs_cut_point *point, const struct hs_node_facts *facts)
{
    char place[HS_FIELD_NAME_BYTES] = "";
    if (point->offset_words == HS_NO_OFFSET) {
        hs_json_null(json, "offset");
        hs_json_null(json, "field");
    } else {
        hs_json_u64(json, "offset", point->offset_words * view->facts->word_bytes);
        hs_json_u64(json, "field", point->offset_words);
        hs_field_name(view, facts->type, point->offset_words, place, sizeof place);
    }
    hs_json_string(json, "place", hs_or_null(place));
}

static hs_status put_point(struct hs_json *json, struct hs_view *view,
                           const struct hs_cut_point *point, struct hs_error *err)
{
    struct hs_node_facts facts;
    char way[HS_FIELD_PATH_BYTES] = "";
    HS_TRY(hs_view_facts(view, point->node, &facts, err));
    if (!facts.is_root)
        HS_TRY(expression(view, point, way, sizeof way, err));
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    hs_json_string(json, "kind", hs_cut_kind_name(point->kind));
    hs_json_node(json, "id", point->node);
    if (facts.address == 0)
        hs_json_null(json, "address");
    else
        hs_json_address(json, "address", facts.address);
    put_field(json, view, point, &facts);
    hs_json_string(json, "type", facts.is_root ? NULL : facts.label);
    hs_json_string(json, "name", facts.is_root ? facts.label : NULL);
    hs_json_string(json, "expression", hs_or_null(way));
    if (facts.is_root)
        hs_json_null(json, "words");
    else
        hs_json_u64(json, "words", facts.words);
    hs_json_u64(json, "retained_words", hs_index_retained(view->index, point->node).words);
    hs_json_end_object(json);
    return HS_OK;
}

static hs_status put_points(struct hs_json *json, const char *key, struct hs_view *view,
                            const struct hs_cut_point *points, unsigned n, struct hs_error *err)
{
    hs_json_begin_array(json, key, HS_JSON_BLOCK);
    for (unsigned i = 0; i < n; i++)
        HS_TRY(put_point(json, view, &points[i], err));
    hs_json_end_array(json);
    return HS_OK;
}

hs_status hs_cut_json(struct hs_json *json, struct hs_view *view, const struct hs_cut *cut,
                      struct hs_error *err)
{
    bool is_complete = cut->n <= HS_CUT_MOST;
    unsigned n = is_complete ? cut->n : 0;
    hs_json_begin_object(json, "cut", HS_JSON_BLOCK);
    if (is_complete)
        hs_json_u64(json, "size", cut->n);
    else
        hs_json_null(json, "size");
    hs_json_u64(json, "at_least", cut->n);
    hs_json_bool(json, "complete", is_complete);
    hs_json_u64(json, "freed_words", cut->freed.words);
    hs_json_u64(json, "freed_objects", cut->freed.objects);
    HS_TRY(put_points(json, "near_roots", view, cut->near_roots, n, err));
    HS_TRY(put_points(json, "near_object", view, cut->near_object, n, err));
    hs_json_end_object(json);
    return HS_OK;
}
