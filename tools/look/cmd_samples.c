/* samples: the sampled allocations that were alive, where each was allocated, and who keeps it; or
 * summed by site, root and type. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "commands.h"
#include "open_view.h"
#include "root_json.h"
#include "sample_groups_print.h"
#include "sampled_whole_print.h"
#include "site_print.h"

struct sample_row {
    const struct hs_sample *sample;
    size_t at;
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
    return a->at < b->at ? -1 : a->at > b->at;
}

static hs_status select_rows(const struct hs_view *view, uint64_t min_words, uint64_t max_rows,
                             struct sample_rows *ret, struct hs_error *err)
{
    void *memory;
    HS_TRY(hs_alloc(view->totals->n_samples, sizeof(struct sample_row), &memory, err));
    struct sample_rows rows = {.rows = memory};
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        struct sample_row row = {.sample = hs_snap_sample(view->snap, i), .at = i};
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

static void put_estimate(struct hs_json *json, const struct hs_sample_join *join,
                         const struct hs_sample *sample)
{
    const struct hs_sampler *sampler = hs_sample_join_sampler(join, sample);
    struct hs_estimate estimate = {0};
    hs_json_string(json, "sampler", hs_sampler_kind_name(sampler->kind));
    if (sampler->period_words == 0) {
        hs_json_null(json, "estimated_words");
        hs_json_null(json, "error_words");
        return;
    }
    hs_estimate_add(&estimate, sampler, sample);
    hs_json_u64(json, "estimated_words", hs_estimate_words(&estimate));
    hs_json_u64(json, "error_words", hs_estimate_error_words(&estimate));
}

static hs_status put_json_row(struct hs_json *json, struct hs_sample_join *join,
                              const struct sample_row *row, struct hs_error *err)
{
    const struct hs_view *view = join->view;
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
    put_estimate(json, join, row->sample);
    hs_json_string(json, "state", hs_sample_state_name(row->sample->state));
    hs_json_u64(json, "retained_words", row->retained_words);
    hs_json_bool(json, "reached", is_reached(view, row));
    hs_json_string(json, "root", root_name(view, row));
    hs_json_node(json, "root_id", row->root);
    hs_json_string(json, "join", hs_sample_join_case_name(join->cases[row->at]));
    HS_TRY(hs_sample_join_site_json(json, "site", join, join->sites[row->at], err));
    hs_json_end_object(json);
    return HS_OK;
}

/* How many samples the process and the trace have in common. */
static void put_cases(struct hs_json *json, const struct hs_sample_join *join)
{
    const uint64_t *n = join->n_in_case;
    if (!hs_sample_join_has_trace(join)) {
        hs_json_null(json, "join");
        return;
    }
    hs_json_begin_object(json, "join", HS_JSON_LINE);
    hs_json_u64(json, "in_both", n[HS_SAMPLE_JOIN_BOTH]);
    hs_json_u64(json, "process_only", n[HS_SAMPLE_JOIN_UNFLUSHED]);
    hs_json_u64(json, "trace_only", join->n_gone);
    hs_json_u64(json, "lost", n[HS_SAMPLE_JOIN_LOST]);
    hs_json_u64(json, "mismatches", n[HS_SAMPLE_JOIN_MISMATCH]);
    hs_json_end_object(json);
}

static hs_status print_json(struct hs_tool *tool, struct hs_sample_join *join,
                            const struct sample_rows *rows, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.samples/1");
    hs_json_string(&json, "snapshot", join->view->path);
    hs_json_string(&json, "trace", join->path);
    put_cases(&json, join);
    HS_TRY(hs_sampled_wholes_json(&json, join, err));
    hs_json_begin_array(&json, "samples", HS_JSON_BLOCK);
    for (size_t i = 0; i < rows->n; i++)
        HS_TRY(put_json_row(&json, join, &rows->rows[i], err));
    hs_json_end_array(&json);
    hs_json_begin_object(&json, "others", HS_JSON_LINE);
    hs_json_u64(&json, "count", rows->n_others);
    hs_json_end_object(&json);
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

static hs_status print_ndjson(struct hs_tool *tool, struct hs_sample_join *join,
                              const struct sample_rows *rows, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, HS_JSON_COMPACT);
    for (size_t i = 0; i < rows->n; i++)
        HS_TRY(put_json_row(&json, join, &rows->rows[i], err));
    return hs_json_finish(&json, err);
}

enum { SAMPLER = 1, N_COLUMNS = 11 };
static const struct hs_column all_columns[N_COLUMNS] = {
    {"sample", "SAMPLE", HS_COLUMN_COUNT, 0},
    {"sampler", "SAMPLER", HS_COLUMN_STRING, 0}, /* in a table only when there are several */
    {"retained_words", "RETAINED", HS_COLUMN_WORDS, 0},
    {"words", "WORDS", HS_COLUMN_WORDS, 0},
    {"n_samples", "SAMPLES", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"estimated_words", "STANDS FOR", HS_COLUMN_WORDS, HS_COLUMN_DATA_ONLY},
    {"address", "ADDRESS", HS_COLUMN_ADDRESS, 0},
    {"state", "STATE", HS_COLUMN_STRING, HS_COLUMN_DATA_ONLY},
    {"type", "TYPE", HS_COLUMN_STRING, 0},
    {"root", "RETAINED BY", HS_COLUMN_STRING, 0},
    {"site", "SITE", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};

static hs_status put_row(struct hs_sheet *sheet, struct hs_sample_join *join,
                         const struct sample_row *row, struct hs_error *err)
{
    const struct hs_view *view = join->view;
    const struct hs_sampler *sampler = hs_sample_join_sampler(join, row->sample);
    struct hs_estimate estimate = {0};
    char site[HS_FRAME_BYTES];
    hs_estimate_add(&estimate, sampler, row->sample);
    HS_TRY(hs_sample_join_site_text(join, join->sites[row->at], site, sizeof site, err));
    hs_sheet_u64(sheet, row->sample->id);
    hs_sheet_string(sheet, hs_sampler_kind_name(sampler->kind));
    hs_sheet_u64(sheet, row->retained_words);
    hs_sheet_u64(sheet, row->sample->words);
    hs_sheet_u64(sheet, row->sample->n_samples);
    if (sampler->period_words > 0)
        hs_sheet_u64(sheet, hs_estimate_words(&estimate));
    else
        hs_sheet_null(sheet);
    if (row->sample->node != HS_NO_NODE)
        hs_sheet_u64(sheet, row->facts.address);
    else
        hs_sheet_null(sheet);
    hs_sheet_string(sheet, hs_sample_state_name(row->sample->state));
    hs_sheet_string(sheet, hs_or_null(row->facts.label));
    enum hs_keeper keeper = hs_keeper_of(view, row->sample, row->root);
    hs_sheet_string(sheet, hs_keeper_text(view, keeper, row->root));
    hs_sheet_string(sheet, hs_or_null(site));
    return HS_OK;
}

static hs_status print_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_sample_join *join, const struct sample_rows *rows,
                             struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    options.word_bytes = join->view->facts->word_bytes;
    options.no_total = true;
    struct hs_column columns[N_COLUMNS];
    struct hs_sheet sheet;
    memcpy(columns, all_columns, sizeof columns);
    columns[SAMPLER].flags = join->has_several ? 0 : HS_COLUMN_DATA_ONLY;
    if (options.format == HS_SHEET_TABLE)
        HS_TRY(hs_sampled_wholes_print(tool, join, err));
    HS_TRY(hs_sheet_init(&sheet, columns, N_COLUMNS, &options, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < rows->n && status == HS_OK; i++)
        status = put_row(&sheet, join, &rows->rows[i], err);
    uint64_t sums[N_COLUMNS] = {0};
    if (rows->n_others != 0)
        hs_sheet_fold(&sheet, rows->n_others, sums);
    if (status == HS_OK)
        status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

static hs_status print_rows(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_sample_join *join, const struct sample_rows *rows,
                            struct hs_error *err)
{
    switch (hs_tool_format(inv)) {
    case HS_FORMAT_JSON:
        return print_json(tool, join, rows, err);
    case HS_FORMAT_NDJSON:
        return print_ndjson(tool, join, rows, err);
    case HS_FORMAT_TABLE:
    case HS_FORMAT_TSV:
        break;
    }
    return print_sheet(tool, inv, join, rows, err);
}

static hs_status list_samples(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_sample_join *join, struct hs_error *err)
{
    struct sample_rows rows = {0};
    HS_TRY(select_rows(join->view, inv->number[HS_OPT_MIN_WORDS], hs_tool_rows(inv), &rows, err));
    hs_status status = look_up_rows(join->view, &rows, err);
    if (status == HS_OK)
        status = print_rows(tool, inv, join, &rows, err);
    hs_free(rows.rows);
    return status;
}

/* The bit set of a comma-separated list that the parser has accepted. */
static unsigned keys_of(const struct hs_invocation *inv)
{
    unsigned keys = 0;
    for (const char *at = inv->text[HS_OPT_SAMPLE_GROUP_BY];; at++) {
        size_t n = strcspn(at, ",");
        int key = hs_choice_at(hs_options[HS_OPT_SAMPLE_GROUP_BY].choices, at, n);
        keys |= key >= 0 ? 1u << key : 0;
        at += n;
        if (*at == 0)
            return keys;
    }
}

hs_status hs_cmd_samples(struct hs_tool *tool, const struct hs_invocation *inv,
                         struct hs_error *err)
{
    struct hs_view view = {0};
    struct hs_sample_join join = {0};
    const char *trace = hs_given(inv, HS_OPT_TRACE) ? inv->text[HS_OPT_TRACE] : NULL;
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err));
    hs_status status = hs_sample_join_open(&view, trace, /* id= */ NULL, &join, err);
    if (status == HS_OK && hs_given(inv, HS_OPT_SAMPLE_GROUP_BY))
        status = hs_sample_groups_print(tool, inv, &join, keys_of(inv), err);
    else if (status == HS_OK)
        status = list_samples(tool, inv, &join, err);
    if (status == HS_OK)
        hs_sample_join_talk(tool, &join);
    if (status == HS_OK && view.totals->n_samples == 0)
        hs_talk("the program was not sampling its allocations (Gc.Memprof, memtrace)");
    hs_sample_join_close(&join);
    return hs_view_finish(&view, status, err);
}
