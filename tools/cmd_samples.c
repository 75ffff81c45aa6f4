/* samples: the sampled allocations that were alive, and who keeps each. */
#include <stdlib.h>

#include "base/alloc.h"
#include "commands.h"
#include "root_json.h"

struct sample_row {
    const struct hs_sample *sample;
    uint64_t retained_words;
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
            row.retained_words = hs_index_retained(view->index, (uint32_t)row.sample->node).words;
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

static const char *const state_names[HS_N_SAMPLE_STATES] = {"live", "promoted"};

static hs_status put_json_row(struct hs_json *json, struct hs_view *view,
                              const struct sample_row *row, struct hs_error *err)
{
    struct hs_node_facts facts = {.label = ""};
    hs_node root = HS_NO_NODE;
    bool is_found = row->sample->node != HS_NO_NODE;
    if (is_found) {
        HS_TRY(hs_view_facts(view, row->sample->node, &facts, err));
        root = hs_view_retaining_root(view, row->sample->node);
    }
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    hs_json_u64(json, "sample", row->sample->id);
    hs_json_node(json, "id", row->sample->node);
    if (is_found)
        hs_json_address(json, "address", facts.address);
    else
        hs_json_null(json, "address");
    hs_json_string(json, "type", hs_or_null(facts.label));
    hs_json_u64(json, "words", row->sample->words);
    hs_json_u64(json, "n_samples", row->sample->n_samples);
    hs_json_string(json, "state", state_names[row->sample->state]);
    hs_json_u64(json, "retained_words", row->retained_words);
    hs_json_bool(json, "reached",
                 is_found && hs_index_is_reached(view->index, (uint32_t)row->sample->node));
    if (root != HS_NO_NODE)
        hs_json_string(json, "root", hs_view_string(view, hs_snap_root(view->snap, root)->name));
    else
        hs_json_null(json, "root");
    hs_json_node(json, "root_id", root);
    hs_json_null(json, "site");
    hs_json_end_object(json);
    return HS_OK;
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
        HS_TRY(put_json_row(&json, view, &rows->rows[i], err));
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

static hs_status put_row(struct hs_sheet *sheet, struct hs_view *view, const struct sample_row *row,
                         struct hs_error *err)
{
    struct hs_node_facts facts = {.label = ""};
    const char *root_name = "[not in the heap]";
    if (row->sample->node != HS_NO_NODE) {
        HS_TRY(hs_view_facts(view, row->sample->node, &facts, err));
        hs_node root = hs_view_retaining_root(view, row->sample->node);
        bool is_reached = hs_index_is_reached(view->index, (uint32_t)row->sample->node);
        root_name = root != HS_NO_NODE ? hs_view_string(view, hs_snap_root(view->snap, root)->name)
                    : is_reached       ? "[shared]"
                                       : "[unreached]";
    }
    hs_sheet_u64(sheet, row->sample->id);
    hs_sheet_u64(sheet, row->retained_words);
    hs_sheet_u64(sheet, row->sample->words);
    hs_sheet_u64(sheet, row->sample->n_samples);
    if (facts.address != 0)
        hs_sheet_u64(sheet, facts.address);
    else
        hs_sheet_null(sheet);
    hs_sheet_string(sheet, state_names[row->sample->state]);
    hs_sheet_string(sheet, hs_or_null(facts.label));
    hs_sheet_string(sheet, root_name);
    return HS_OK;
}

static hs_status print_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_view *view, const struct sample_rows *rows,
                             struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    options.no_total = true;
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, sizeof columns / sizeof *columns, &options, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < rows->n && status == HS_OK; i++)
        status = put_row(&sheet, view, &rows->rows[i], err);
    uint64_t sums[sizeof columns / sizeof *columns] = {0};
    if (status == HS_OK && rows->n_others != 0)
        hs_sheet_fold(&sheet, rows->n_others, sums);
    if (status == HS_OK)
        status = hs_sheet_write(&sheet, &tool->out, err);
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
    if (status == HS_OK && (format == HS_FORMAT_JSON || format == HS_FORMAT_NDJSON))
        status = print_json(tool, &view, &rows, format == HS_FORMAT_NDJSON, err);
    else if (status == HS_OK)
        status = print_sheet(tool, inv, &view, &rows, err);
    if (status == HS_OK && view.totals->n_samples == 0)
        hs_talk("the program was not sampling its allocations (Gc.Memprof, memtrace)");
    hs_free(rows.rows);
    hs_view_close(&view);
    return status;
}
