/* Paths as JSON and as lines of a table. */
#include "path_print.h"

#include <stdio.h>

#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "root_json.h"

/* Folds the objects of path `at`, the root's leaf left out. */
static hs_status fold_path(struct hs_view *view, const struct hs_paths *paths, size_t at,
                           struct hs_path_fold *fold, struct hs_error *err)
{
    size_t begin = paths->begin[at] + 1;
    return hs_path_fold_nodes(fold, view, paths->nodes + begin, paths->begin[at + 1] - begin, err);
}

/* ---- JSON */

static hs_status put_step(struct hs_json *json, struct hs_view *view,
                          const struct hs_path_step *step, struct hs_error *err)
{
    struct hs_node_facts facts = {.label = NULL};
    bool is_gap = step->node == HS_NO_NODE;
    if (!is_gap)
        HS_TRY(hs_view_facts(view, step->node, &facts, err));
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    hs_json_node(json, "id", step->node);
    if (is_gap)
        hs_json_null(json, "address");
    else
        hs_json_address(json, "address", facts.address);
    if (is_gap || step->offset_words == HS_NO_OFFSET) {
        hs_json_null(json, "offset");
        hs_json_null(json, "field");
    } else {
        hs_json_u64(json, "offset", step->offset_words * view->facts->word_bytes);
        hs_json_u64(json, "field", step->offset_words);
    }
    char place[HS_FIELD_NAME_BYTES] = "";
    if (!is_gap)
        hs_field_name(view, step->type, step->offset_words, place, sizeof place);
    hs_json_string(json, "place", hs_or_null(place));
    hs_json_string(json, "type", facts.label);
    if (is_gap) {
        hs_json_null(json, "words");
        hs_json_null(json, "retained_words");
    } else {
        hs_json_u64(json, "words", facts.words);
        hs_json_u64(json, "retained_words", hs_index_retained(view->index, step->node).words);
    }
    bool has_edge = !is_gap && step->edge_class < HS_N_EDGE_CLASSES;
    hs_json_string(json, "class", has_edge ? hs_edge_class_name(step->edge_class) : NULL);
    hs_json_string(json, "tier", has_edge ? hs_tier_name(step->tier) : NULL);
    hs_json_u64(json, "repeat", step->repeat);
    hs_json_end_object(json);
    return HS_OK;
}

/* The path as source would write it; null when no type says how. */
static void put_expression(struct hs_json *json, const struct hs_view *view, hs_node leaf,
                           const struct hs_path_fold *fold)
{
    char text[HS_FIELD_PATH_BYTES];
    const char *root = hs_view_string(view, hs_snap_root(view->snap, leaf)->name);
    hs_field_path(view, root, fold, text, sizeof text);
    hs_json_string(json, "expression", hs_or_null(text));
}

hs_status hs_path_json(struct hs_json *json, const char *key, struct hs_view *view,
                       const struct hs_paths *paths, size_t at, struct hs_error *err)
{
    struct hs_path_fold fold = {0};
    hs_status status = fold_path(view, paths, at, &fold, err);
    if (status == HS_OK) {
        hs_node leaf = paths->nodes[paths->begin[at]];
        struct hs_root_row root = hs_root_row_of(view, hs_path_root(view, leaf));
        hs_json_begin_object(json, key, HS_JSON_BLOCK);
        hs_root_json(json, "root", view, &root);
        if (root.node != leaf)
            hs_slot_json(json, "slot", view, leaf);
        hs_json_u64(json, "length", paths->begin[at + 1] - paths->begin[at] - 1);
        put_expression(json, view, paths->nodes[paths->begin[at]], &fold);
        hs_json_begin_array(json, "steps", HS_JSON_BLOCK);
        for (size_t i = 0; i < fold.n_steps && status == HS_OK; i++)
            status = put_step(json, view, &fold.steps[i], err);
        hs_json_end_array(json);
        hs_json_end_object(json);
    }
    hs_path_fold_fini(&fold);
    return status;
}

/* ---- table */

const struct hs_column hs_path_columns[HS_N_PATH_COLUMNS] = {
    {"path", "PATH", HS_COLUMN_NUMBER, 0},
    {"repeat", "TIMES", HS_COLUMN_COUNT, 0},
    {"field", "FIELD", HS_COLUMN_NUMBER, 0},
    {"id", "ID", HS_COLUMN_NODE, 0},
    {"address", "ADDRESS", HS_COLUMN_ADDRESS, HS_COLUMN_SPARE(2)},
    {"words", "WORDS", HS_COLUMN_WORDS, HS_COLUMN_SPARE(1)},
    {"retained_words", "RETAINED", HS_COLUMN_WORDS, 0},
    {"what", "WHAT", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE | HS_COLUMN_TREE},
};

/* A variable with the slot that the path begins in, by the slot's name. */
static void put_root_line(struct hs_sheet *sheet, const struct hs_view *view, size_t path,
                          hs_node leaf)
{
    const struct hs_root *root = hs_snap_root(view->snap, leaf);
    hs_node node = hs_path_root(view, leaf);
    char place[256], what[768];
    hs_root_place(view, root, place, sizeof place);
    bool is_table = sheet->options.format == HS_SHEET_TABLE;
    bool is_doubtful = hs_index_tier(view->index, leaf) == HS_TIER_DOUBTFUL;
    (void)snprintf(what, sizeof what, "%s %.400s%s%s%s%s", hs_root_kind_name(root->kind),
                   hs_view_string(view, root->name), place[0] != 0 ? " (" : "",
                   is_table ? hs_file_short(place) : place, place[0] != 0 ? ")" : "",
                   is_doubtful ? "  [doubtful]" : "");
    hs_sheet_u64(sheet, path + 1);
    hs_sheet_null(sheet);
    hs_sheet_null(sheet);
    hs_sheet_u64(sheet, node);
    if (root->address != 0)
        hs_sheet_u64(sheet, root->address);
    else
        hs_sheet_null(sheet);
    hs_sheet_null(sheet);
    hs_sheet_u64(sheet, hs_index_retained(view->index, node).words);
    hs_sheet_string(sheet, what);
}

static void put_gap_line(struct hs_sheet *sheet, size_t path, uint64_t n_objects)
{
    hs_sheet_u64(sheet, path + 1);
    hs_sheet_u64(sheet, n_objects);
    for (size_t i = 2; i + 1 < HS_N_PATH_COLUMNS; i++)
        hs_sheet_null(sheet);
    hs_sheet_string(sheet, "  [objects left out]");
}

static hs_status put_step_line(struct hs_sheet *sheet, struct hs_view *view, size_t path,
                               const struct hs_path_step *step, struct hs_error *err)
{
    if (step->node == HS_NO_NODE) {
        put_gap_line(sheet, path, step->repeat);
        return HS_OK;
    }
    struct hs_node_facts facts;
    HS_TRY(hs_view_facts(view, step->node, &facts, err));
    char what[512 + HS_FIELD_NAME_BYTES], place[HS_FIELD_NAME_BYTES];
    hs_field_name(view, step->type, step->offset_words, place, sizeof place);
    (void)snprintf(what, sizeof what, "  %.400s%s%s%s%s", facts.label, place[0] == 0 ? "" : "  ",
                   hs_field_arrow(view, step->type, place), place,
                   step->tier == HS_TIER_DOUBTFUL ? "  [doubtful]" : "");
    hs_sheet_u64(sheet, path + 1);
    hs_sheet_u64(sheet, step->repeat);
    if (step->offset_words == HS_NO_OFFSET)
        hs_sheet_null(sheet);
    else
        hs_sheet_u64(sheet, step->offset_words);
    hs_sheet_u64(sheet, step->node);
    hs_sheet_u64(sheet, facts.address);
    hs_sheet_u64(sheet, facts.words);
    hs_sheet_u64(sheet, hs_index_retained(view->index, step->node).words);
    hs_sheet_string(sheet, what);
    return HS_OK;
}

/* The whole path once more, as source would write it. */
static void put_expression_line(struct hs_sheet *sheet, const struct hs_view *view, size_t path,
                                hs_node leaf, const struct hs_path_fold *fold)
{
    char text[HS_FIELD_PATH_BYTES] = "= ";
    const char *root = hs_view_string(view, hs_snap_root(view->snap, leaf)->name);
    if (hs_field_path(view, root, fold, text + 2, sizeof text - 2) == 0)
        return;
    hs_sheet_u64(sheet, path + 1);
    for (size_t i = 1; i + 1 < HS_N_PATH_COLUMNS; i++)
        hs_sheet_null(sheet);
    hs_sheet_string(sheet, text);
}

hs_status hs_path_lines(struct hs_sheet *sheet, struct hs_view *view, size_t number,
                        const struct hs_paths *paths, size_t at, struct hs_error *err)
{
    struct hs_path_fold fold = {0};
    hs_status status = fold_path(view, paths, at, &fold, err);
    if (status == HS_OK)
        put_root_line(sheet, view, number, paths->nodes[paths->begin[at]]);
    for (size_t i = 0; i < fold.n_steps && status == HS_OK; i++)
        status = put_step_line(sheet, view, number, &fold.steps[i], err);
    if (status == HS_OK)
        put_expression_line(sheet, view, number, paths->nodes[paths->begin[at]], &fold);
    hs_path_fold_fini(&fold);
    return status;
}
