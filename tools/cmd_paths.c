/* paths: how roots reach an object. */
#include <stdio.h>

#include "commands.h"
#include "fold.h"
#include "graph/paths.h"
#include "neighbours.h"
#include "place.h"
#include "root_json.h"
#include "what.h"

/* ---- searching */

static struct hs_row sources_of(void *context, hs_node node)
{
    return hs_index_predecessors(context, node);
}

static hs_node root_of(const void *context, hs_node leaf)
{
    hs_node root = hs_view_root_of(context, leaf);
    return root == HS_NO_NODE ? leaf : root;
}

static hs_status find_paths(struct hs_tool *tool, const struct hs_invocation *inv,
                            const struct hs_view *view, hs_node target, struct hs_paths *ret,
                            struct hs_error *err)
{
    struct hs_predecessors predecessors = {sources_of, view->index, view->n_nodes, view->n_tree};
    struct hs_path_query query = {
        .target = target,
        .limit = hs_given(inv, HS_OPT_LIMIT) ? inv->number[HS_OPT_LIMIT] : 10,
        .disjoint = hs_given(inv, HS_OPT_DISJOINT),
        .root_of = root_of,
        .root_context = view,
        .budget = view->budget,
        .progress = &tool->progress,
    };
    if (query.limit == 0)
        query.limit = UINT64_MAX;
    return hs_paths_find(&predecessors, &query, ret, err);
}

/* Folds the objects of path `at`, the root's leaf left out. */
static hs_status fold_path(struct hs_view *view, const struct hs_paths *paths, size_t at,
                           struct hs_fold *fold, struct hs_error *err)
{
    size_t begin = paths->begin[at] + 1;
    return hs_fold_path(fold, view, paths->nodes + begin, paths->begin[at + 1] - begin, err);
}

/* ---- JSON */

static hs_status put_step(struct hs_json *json, struct hs_view *view, const struct hs_step *step,
                          struct hs_error *err)
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
    char place[HS_PLACE_BYTES] = "";
    if (!is_gap)
        hs_place_text(view, step->type, step->offset_words, place, sizeof place);
    hs_json_string(json, "place", hs_or_null(place));
    hs_json_string(json, "type", facts.label);
    if (is_gap) {
        hs_json_null(json, "words");
        hs_json_null(json, "retained_words");
    } else {
        hs_json_u64(json, "words", facts.words);
        hs_json_u64(json, "retained_words", hs_index_retained(view->index, step->node).words);
    }
    hs_json_u64(json, "repeat", step->repeat);
    hs_json_end_object(json);
    return HS_OK;
}

/* The path as source would write it; null when no type says how. */
static void put_expression(struct hs_json *json, const struct hs_view *view, hs_node leaf,
                           const struct hs_fold *fold)
{
    char text[HS_PLACE_PATH_BYTES];
    const char *root = hs_view_string(view, hs_snap_root(view->snap, leaf)->name);
    hs_place_path(view, root, fold, text, sizeof text);
    hs_json_string(json, "expression", hs_or_null(text));
}

static hs_status put_path(struct hs_json *json, struct hs_view *view, const struct hs_paths *paths,
                          size_t at, struct hs_error *err)
{
    struct hs_fold fold = {0};
    hs_status status = fold_path(view, paths, at, &fold, err);
    if (status == HS_OK) {
        hs_node leaf = paths->nodes[paths->begin[at]];
        struct hs_root_row root = hs_root_row_of(view, root_of(view, leaf));
        hs_json_begin_object(json, NULL, HS_JSON_BLOCK);
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
    hs_fold_fini(&fold);
    return status;
}

/* The sample that was asked for, else the first one of the target. */
static const struct hs_sample *sample_of(const struct hs_view *view, const struct hs_what *what,
                                         hs_node target)
{
    if (what->sample != NULL)
        return what->sample;
    for (size_t i = 0; i < view->totals->n_samples; i++)
        if (hs_snap_sample(view->snap, i)->node == target)
            return hs_snap_sample(view->snap, i);
    return NULL;
}

static void put_sample(struct hs_json *json, const struct hs_sample *sample)
{
    if (sample == NULL) {
        hs_json_null(json, "sample");
        return;
    }
    hs_json_begin_object(json, "sample", HS_JSON_LINE);
    hs_json_u64(json, "id", sample->id);
    hs_json_string(json, "state", hs_sample_state_name(sample->state));
    hs_json_u64(json, "words", sample->words);
    hs_json_u64(json, "n_samples", sample->n_samples);
    hs_json_null(json, "site"); /* unknown: only a trace tells it */
    hs_json_string(json, "trace", "no trace given");
    hs_json_end_object(json);
}

static hs_status put_target(struct hs_json *json, struct hs_view *view, const struct hs_what *what,
                            hs_node target, struct hs_error *err)
{
    struct hs_node_facts facts;
    HS_TRY(hs_view_facts(view, target, &facts, err));
    hs_node idom = hs_index_idom(view->index, target);
    hs_node root = hs_view_retaining_root(view, target);
    hs_json_begin_object(json, "target", HS_JSON_BLOCK);
    hs_json_node(json, "id", target);
    hs_json_address(json, "address", facts.address);
    hs_json_u64(json, "words", facts.words);
    hs_json_string(json, "type", facts.label);
    hs_json_bool(json, "reached", hs_index_is_reached(view->index, target));
    hs_json_u64(json, "retained_words", hs_index_retained(view->index, target).words);
    put_sample(json, sample_of(view, what, target));
    hs_json_node(json, "dominator", idom);
    if (root == HS_NO_NODE) {
        hs_json_null(json, "retaining_root");
    } else {
        struct hs_root_row row = hs_root_row_of(view, root);
        hs_root_json(json, "retaining_root", view, &row);
    }
    hs_json_end_object(json);
    return HS_OK;
}

static hs_status print_json(struct hs_tool *tool, struct hs_view *view, const struct hs_what *what,
                            hs_node target, const struct hs_paths *paths, bool is_compact,
                            struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, is_compact ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.paths/1");
    hs_json_string(&json, "snapshot", view->path);
    HS_TRY(put_target(&json, view, what, target, err));
    hs_json_begin_array(&json, "paths", HS_JSON_BLOCK);
    for (size_t i = 0; i < paths->n_paths; i++)
        HS_TRY(put_path(&json, view, paths, i, err));
    hs_json_end_array(&json);
    hs_json_bool(&json, "complete", paths->is_complete);
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

/* ---- table */

static const struct hs_column columns[] = {
    {"path", "PATH", HS_COLUMN_COUNT, 0},
    {"repeat", "TIMES", HS_COLUMN_COUNT, 0},
    {"field", "FIELD", HS_COLUMN_COUNT, 0},
    {"id", "ID", HS_COLUMN_NODE, 0},
    {"address", "ADDRESS", HS_COLUMN_ADDRESS, 0},
    {"words", "WORDS", HS_COLUMN_WORDS, 0},
    {"retained_words", "RETAINED", HS_COLUMN_WORDS, 0},
    {"what", "WHAT", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};

/* A variable with the slot that the path begins in, by the slot's name. */
static void put_root_line(struct hs_sheet *sheet, const struct hs_view *view, size_t path,
                          hs_node leaf)
{
    const struct hs_root *root = hs_snap_root(view->snap, leaf);
    hs_node node = root_of(view, leaf);
    char place[256], what[768];
    hs_root_place(view, root, place, sizeof place);
    bool is_table = sheet->options.format == HS_SHEET_TABLE;
    (void)snprintf(what, sizeof what, "%s %.400s%s%s%s", hs_root_kind_name(root->kind),
                   hs_view_string(view, root->name), place[0] != 0 ? " (" : "",
                   is_table ? hs_place_short(place) : place, place[0] != 0 ? ")" : "");
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
    for (size_t i = 2; i + 1 < sizeof columns / sizeof *columns; i++)
        hs_sheet_null(sheet);
    hs_sheet_string(sheet, "  [objects left out]");
}

static hs_status put_step_line(struct hs_sheet *sheet, struct hs_view *view, size_t path,
                               const struct hs_step *step, struct hs_error *err)
{
    if (step->node == HS_NO_NODE) {
        put_gap_line(sheet, path, step->repeat);
        return HS_OK;
    }
    struct hs_node_facts facts;
    HS_TRY(hs_view_facts(view, step->node, &facts, err));
    char what[512 + HS_PLACE_BYTES], place[HS_PLACE_BYTES];
    hs_place_text(view, step->type, step->offset_words, place, sizeof place);
    (void)snprintf(what, sizeof what, "  %.400s%s%s", facts.label,
                   place[0] == 0     ? ""
                   : place[0] == '[' ? "  "
                                     : "  ->",
                   place);
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
                                hs_node leaf, const struct hs_fold *fold)
{
    char text[HS_PLACE_PATH_BYTES] = "= ";
    const char *root = hs_view_string(view, hs_snap_root(view->snap, leaf)->name);
    if (hs_place_path(view, root, fold, text + 2, sizeof text - 2) == 0)
        return;
    hs_sheet_u64(sheet, path + 1);
    for (size_t i = 1; i + 1 < sizeof columns / sizeof *columns; i++)
        hs_sheet_null(sheet);
    hs_sheet_string(sheet, text);
}

static hs_status put_path_lines(struct hs_sheet *sheet, struct hs_view *view,
                                const struct hs_paths *paths, size_t at, struct hs_error *err)
{
    struct hs_fold fold = {0};
    hs_status status = fold_path(view, paths, at, &fold, err);
    if (status == HS_OK)
        put_root_line(sheet, view, at, paths->nodes[paths->begin[at]]);
    for (size_t i = 0; i < fold.n_steps && status == HS_OK; i++)
        status = put_step_line(sheet, view, at, &fold.steps[i], err);
    if (status == HS_OK)
        put_expression_line(sheet, view, at, paths->nodes[paths->begin[at]], &fold);
    hs_fold_fini(&fold);
    return status;
}

/* What the target is and who retains it, before the paths. */
static hs_status print_heading(struct hs_tool *tool, struct hs_view *view,
                               const struct hs_what *what, hs_node target, struct hs_error *err)
{
    struct hs_node_facts facts;
    HS_TRY(hs_view_facts(view, target, &facts, err));
    const struct hs_sample *sample = sample_of(view, what, target);
    hs_node idom = hs_index_idom(view->index, target);
    hs_node root = hs_view_retaining_root(view, target);
    struct hs_out *out = &tool->out;
    HS_TRY(
        hs_print(out, err, "#%lu at 0x%lx: ", (unsigned long)target, (unsigned long)facts.address));
    HS_TRY(hs_tool_print_clean(tool, facts.label, err));
    HS_TRY(hs_print(out, err, ", %lu words, retains %lu words\n", (unsigned long)facts.words,
                    (unsigned long)hs_index_retained(view->index, target).words));
    if (sample != NULL)
        HS_TRY(hs_print(out, err,
                        "sample %lu: %lu words, %s, alive in the process; no trace given\n",
                        (unsigned long)sample->id, (unsigned long)sample->words,
                        hs_sample_state_name(sample->state)));
    if (idom == HS_NO_NODE)
        return hs_print(out, err, "no root reaches it\n");
    HS_TRY(hs_print(out, err, "dominator #%lu; retained by ", (unsigned long)idom));
    if (root == HS_NO_NODE)
        return hs_print(out, err, "no single root: several share it\n");
    const struct hs_root *record = hs_snap_root(view->snap, root);
    HS_TRY(hs_print(out, err, "#%lu ", (unsigned long)root));
    HS_TRY(hs_tool_print_clean(tool, hs_view_string(view, record->name), err));
    return hs_print(out, err, "\n");
}

static hs_status print_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_view *view, const struct hs_paths *paths,
                             struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    options.word_bytes = view->facts->word_bytes;
    options.no_total = true;
    options.limit = 0;
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, sizeof columns / sizeof *columns, &options, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < paths->n_paths && status == HS_OK; i++)
        status = put_path_lines(&sheet, view, paths, i, err);
    if (status == HS_OK && (paths->n_paths != 0 || options.format != HS_SHEET_TABLE))
        status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

/* ---- the command */

static hs_status show_target(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_view *view, const struct hs_what *what, hs_node target,
                             struct hs_error *err)
{
    struct hs_paths paths = {0};
    HS_TRY(find_paths(tool, inv, view, target, &paths, err));
    enum hs_format format = hs_tool_format(inv);
    hs_status status = HS_OK;
    if (format == HS_FORMAT_JSON || format == HS_FORMAT_NDJSON) {
        bool is_compact = format == HS_FORMAT_NDJSON;
        status = print_json(tool, view, what, target, &paths, is_compact, err);
    } else {
        if (format == HS_FORMAT_TABLE)
            status = print_heading(tool, view, what, target, err);
        if (status == HS_OK)
            status = print_sheet(tool, inv, view, &paths, err);
    }
    hs_paths_fini(&paths);
    return status;
}

/* The one block that a variable's slots point to; HS_NO_NODE when there are several or none. */
static hs_node only_target(const struct hs_view *view, hs_node variable)
{
    hs_node only = HS_NO_NODE;
    for (hs_node node = variable + 1; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (root->parent != variable || root->target == HS_NO_NODE || root->target == only)
            continue;
        if (only != HS_NO_NODE)
            return HS_NO_NODE;
        only = root->target;
    }
    return only;
}

/* Where the node of the root tree points to that the user has named. */
static hs_status target_of_root(const struct hs_view *view, const char *text, hs_node node,
                                hs_node *ret, struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    hs_node target = root->level == HS_LEVEL_VARIABLE ? only_target(view, node) : root->target;
    if (target != HS_NO_NODE) {
        *ret = target;
        return HS_OK;
    }
    if (root->level == HS_LEVEL_LEAF)
        return hs_fail(err, HS_USAGE, "'%s' points to no block", text);
    if (root->level != HS_LEVEL_VARIABLE) {
        (void)hs_fail(err, HS_USAGE, "'%s' is a group of roots", text);
        return hs_hint(err, "paths lead to an object: name one of its roots");
    }
    char slots[200] = "";
    hs_what_list_slots(view, node, slots, sizeof slots);
    (void)hs_fail(err, HS_USAGE, "'%s' is a variable of several slots", text);
    return hs_hint(err, "paths lead to an object: name one of %s", slots);
}

static hs_status run(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_view *view,
                     struct hs_error *err)
{
    struct hs_what what;
    HS_TRY(hs_what_find(view, inv->text[HS_OPT_TO], &what, err));
    /* One answer holds one target; of a type the instances that retain most follow each other in
     * the other formats, JSON and TSV show the first. */
    enum hs_format format = hs_tool_format(inv);
    bool is_single = format == HS_FORMAT_JSON || format == HS_FORMAT_TSV;
    unsigned n = is_single ? 1 : what.n_nodes;
    for (unsigned i = 0; i < n; i++) {
        hs_node target = what.nodes[i];
        if (target < view->n_tree)
            HS_TRY(target_of_root(view, inv->text[HS_OPT_TO], target, &target, err));
        if (i > 0 && format == HS_FORMAT_TABLE)
            HS_TRY(hs_print(&tool->out, err, "\n"));
        HS_TRY(show_target(tool, inv, view, &what, target, err));
    }
    return HS_OK;
}

hs_status hs_cmd_paths(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    if (!hs_given(inv, HS_OPT_TO)) {
        (void)hs_fail(err, HS_USAGE, "'paths' needs --to WHAT");
        return hs_hint(err, "WHAT is N or sample:N, 0xADDR, #N, root:NAME or type:NAME");
    }
    struct hs_view view = {0};
    HS_TRY(hs_view_open(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err));
    hs_status status = run(tool, inv, &view, err);
    return hs_view_finish(&view, status, err);
}
