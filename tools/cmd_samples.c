/* samples: the sampled allocations that were alive, and who keeps each. */
#include <stdlib.h>

#include "base/alloc.h"
#include "commands.h"
#include "root_json.h"

struct sample_row {
    const struct hs_sample *sample;
    uint64_t retained_words;
    struct hs_node_facts facts;
    hs_node root; /* that retains it; HS_NO_NODE: several, or none */
};

struct sample_rows {
    struct sample_row *rows; /* owned */
    size_t n;
    uint64_t n_others, others_words;
};

static int by_retained(const void *left, const void *right)
{
    const struct sample_row *a = left, *b = right;
    if (a->retained_words != b->retained_words)
        return a->retained_words < b->retained_words ? 1 : -1;
    return a->sample->id < b->sample->id ? -1 : a->sample->id > b->sample->id;
}

static hs_status select_rows(const struct hs_view *view, uint64_t min_words, uint64_t max_rows,
                             struct sample_rows *ret, struct hs_error *err)
{
    void *memory;
    HS_TRY(hs_alloc(view->totals->n_samples, sizeof(struct sample_row), &memory, err));
    struct sample_rows rows = {.rows = memory};
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        struct sample_row row = {.sample = hs_snap_sample(view->snap, i)};
        if (row.sample->node != HS_NO_NODE)
            row.retained_words = hs_index_retained(view->index, row.sample->node).words;
        if (row.retained_words >= min_words)
            rows.rows[rows.n++] = row;
        else
            rows.n_others++, rows.others_words += row.retained_words;
    }
    qsort(rows.rows, rows.n, sizeof *rows.rows, by_retained);
    while (rows.n > max_rows) {
        rows.n_others++;
        rows.others_words += rows.rows[--rows.n].retained_words;
    }
    *ret = rows;
    return HS_OK;
}

static hs_status look_up_rows(struct hs_view *view, struct sample_rows *rows, struct hs_error *err)
{
    hs_auto_free hs_node *nodes = NULL, *roots = NULL;
    hs_auto_free struct hs_node_facts *facts = NULL;
    HS_TRY(hs_alloc(rows->n, sizeof *nodes, (void **)&nodes, err));
    HS_TRY(hs_alloc(rows->n, sizeof *roots, (void **)&roots, err));
    HS_TRY(hs_alloc(rows->n, sizeof *facts, (void **)&facts, err));
    for (size_t i = 0; i < rows->n; i++)
        nodes[i] = rows->rows[i].sample->node;
    HS_TRY(hs_view_facts_of(view, nodes, rows->n, facts, err));
    HS_TRY(hs_view_retaining_roots(view, nodes, rows->n, roots, err));
    for (size_t i = 0; i < rows->n; i++) {
        rows->rows[i].facts = facts[i];
        rows->rows[i].root = roots[i];
    }
    return HS_OK;
}

static const char *root_name(const struct hs_view *view, const struct sample_row *row)
{
    return row->root == HS_NO_NODE
               ? NULL
               : hs_view_string(view, hs_snap_root(view->snap, row->root)->name);
}

static bool is_reached(const struct hs_view *view, const struct sample_row *row)
{
    return row->sample->node != HS_NO_NODE && hs_index_is_reached(view->index, row->sample->node);
}

static void put_json_row(struct hs_json *json, const struct hs_view *view,
                         const struct sample_row *row)
{
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    hs_json_u64(json, "sample", row->sample->id);
    hs_json_node(json, "id", row->sample->node);
    if (row->sample->node != HS_NO_NODE)
        hs_json_address(json, "address", row->facts.address);
    else
        hs_json_null(json, "address");
    hs_json_string(json, "type", hs_or_null(row->facts.label));
    hs_json_u64(json, "words", row->sample->words);
    hs_json_u64(json, "n_samples", row->sample->n_samples);
    hs_json_string(json, "state", hs_sample_state_name(row->sample->state));
    hs_json_u64(json, "retained_words", row->retained_words);
    hs_json_bool(json, "reached", is_reached(view, row));
    hs_json_string(json, "root", root_name(view, row));
    hs_json_node(json, "root_id", row->root);
    hs_json_null(json, "site");
    hs_json_end_object(json);
}

static hs_status print_json(struct hs_tool *tool, struct hs_view *view,
                            const struct sample_rows *rows, bool is_lines, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, is_lines ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    if (!is_lines) {
        hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
        hs_json_string(&json, "schema", "heapsnap.samples/1");
        hs_json_string(&json, "snapshot", view->path);
        hs_json_string(&json, "trace", NULL);
        hs_json_begin_array(&json, "samples", HS_JSON_BLOCK);
    }
    for (size_t i = 0; i < rows->n; i++)
        put_json_row(&json, view, &rows->rows[i]);
    if (!is_lines) {
        hs_json_end_array(&json);
        hs_json_begin_object(&json, "others", HS_JSON_LINE);
        hs_json_u64(&json, "count", rows->n_others);
        hs_json_end_object(&json);
        hs_json_end_object(&json);
    }
    return hs_json_finish(&json, err);
}

static const struct hs_column columns[] = {
    {"sample", "SAMPLE", HS_COLUMN_COUNT, 0},
    {"retained_words", "RETAINED", HS_COLUMN_WORDS, 0},
    {"words", "WORDS", HS_COLUMN_WORDS, 0},
    {"n_samples", "SAMPLES", HS_COLUMN_COUNT, 0},
    {"address", "ADDRESS", HS_COLUMN_ADDRESS, 0},
    {"state", "STATE", HS_COLUMN_STRING, 0},
    {"type", "TYPE", HS_COLUMN_STRING, 0},
    {"root", "RETAINED BY", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};

static void put_row(struct hs_sheet *sheet, const struct hs_view *view,
                    const struct sample_row *row)
{
    const char *keeper = root_name(view, row);
    if (row->sample->node == HS_NO_NODE)
        keeper = "[not in the heap]";
    else if (keeper == NULL)
        keeper = is_reached(view, row) ? "[shared]" : "[unreached]";
    hs_sheet_u64(sheet, row->sample->id);
    hs_sheet_u64(sheet, row->retained_words);
    hs_sheet_u64(sheet, row->sample->words);
    hs_sheet_u64(sheet, row->sample->n_samples);
    if (row->sample->node != HS_NO_NODE)
        hs_sheet_u64(sheet, row->facts.address);
    else
        hs_sheet_null(sheet);
    hs_sheet_string(sheet, hs_sample_state_name(row->sample->state));
    hs_sheet_string(sheet, hs_or_null(row->facts.label));
    hs_sheet_string(sheet, keeper);
}

static hs_status print_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_view *view, const struct sample_rows *rows,
                             struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    options.no_total = true;
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, sizeof columns / sizeof *columns, &options, err));
    for (size_t i = 0; i < rows->n; i++)
        put_row(&sheet, view, &rows->rows[i]);
    uint64_t sums[sizeof columns / sizeof *columns] = {0};
    if (rows->n_others != 0)
        hs_sheet_fold(&sheet, rows->n_others, sums);
    hs_status status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

hs_status hs_cmd_samples(struct hs_tool *tool, const struct hs_invocation *inv,
                         struct hs_error *err)
{
    struct hs_view view = {0};
    HS_TRY(hs_view_open(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err));
    struct sample_rows rows = {0};
    enum hs_format format = hs_tool_format(inv);
    hs_status status =
        select_rows(&view, inv->number[HS_OPT_MIN_WORDS], hs_tool_rows(inv), &rows, err);
    if (status == HS_OK)
        status = look_up_rows(&view, &rows, err);
    if (status == HS_OK && (format == HS_FORMAT_JSON || format == HS_FORMAT_NDJSON))
        status = print_json(tool, &view, &rows, format == HS_FORMAT_NDJSON, err);
    else if (status == HS_OK)
        status = print_sheet(tool, inv, &view, &rows, err);
    if (status == HS_OK && view.totals->n_samples == 0)
        hs_talk("the program was not sampling its allocations (Gc.Memprof, memtrace)");
    hs_free(rows.rows);
    return hs_view_finish(&view, status, err);
}
