/* trace top: where memory was allocated, a row for each place, caller, function, file or size. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "look.h"
#include "order.h"
#include "trace_commands.h"

enum {
    COLUMN_PERCENT = 3,
    COLUMN_NAME = 18,
};
static const struct hs_column top_columns[] = {
    {"samples", "SAMPLES", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
    {"words", "WORDS", HS_COLUMN_WORDS, HS_COLUMN_SUMMED},
    {"words_error", "+-", HS_COLUMN_WORDS, 0},
    {"percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_SUMMED},
    {"allocations", "ALLOCS", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
    {"allocations_error", "+-", HS_COLUMN_COUNT, 0},
    {"live_words", "LIVE", HS_COLUMN_WORDS, HS_COLUMN_SUMMED},
    {"live_words_error", "+-", HS_COLUMN_WORDS, 0},
    {"leaked_percent", "LEAKED", HS_COLUMN_SHARE, 0},
    {"mean_lifetime_us", "MEAN LIFE", HS_COLUMN_SECONDS, 0},
    {"median_lifetime_us", "MEDIAN", HS_COLUMN_SECONDS, 0},
    {"objects", "OBJECTS", HS_COLUMN_COUNT, HS_COLUMN_SUMMED | HS_COLUMN_DATA_ONLY},
    {"first_us", "FIRST", HS_COLUMN_SECONDS, HS_COLUMN_DATA_ONLY},
    {"last_us", "LAST", HS_COLUMN_SECONDS, HS_COLUMN_DATA_ONLY},
    {"estimates", "ESTIMATES", HS_COLUMN_STRING, HS_COLUMN_DATA_ONLY},
    {"function", "FUNCTION", HS_COLUMN_STRING, HS_COLUMN_DATA_ONLY},
    {"file", "FILE", HS_COLUMN_STRING, HS_COLUMN_DATA_ONLY},
    {"line", "LINE", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"name", "NAME", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};
enum { N_COLUMNS = sizeof top_columns / sizeof *top_columns };
_Static_assert(COLUMN_NAME == N_COLUMNS - 1, "the name is last");

static const char *const titles[HS_N_ROWS_BY] = {
    [HS_ROWS_BY_SITE] = "SITE",     [HS_ROWS_BY_FUNCTION] = "IN OR BELOW",
    [HS_ROWS_BY_CALLER] = "CALLER", [HS_ROWS_BY_FILE] = "FILE",
    [HS_ROWS_BY_STACK] = "STACK",   [HS_ROWS_BY_SIZE] = "SIZE",
};

struct top {
    struct hs_tool *tool;
    const struct hs_trace_look *look;
    const struct hs_trace_rows *rows;
    const struct hs_trace_order *order;
    struct hs_trace_row others; /* sums of what has no row of its own */
};

static void put_figures(struct hs_sheet *sheet, const struct top *top,
                        const struct hs_trace_row *row)
{
    const struct hs_trace_scale *scale = &top->look->scale;
    struct hs_trace_estimate words = hs_trace_words(scale, row->all.n_samples);
    struct hs_trace_estimate live = hs_trace_words(scale, row->live.n_samples);
    struct hs_trace_estimate allocations = hs_trace_allocations(scale, &row->all);
    hs_sheet_u64(sheet, row->all.n_samples);
    hs_sheet_u64(sheet, words.value);
    hs_sheet_u64(sheet, words.error);
    hs_sheet_u64(sheet, row->all.n_samples);
    hs_sheet_u64(sheet, allocations.value);
    hs_sheet_u64(sheet, allocations.error);
    hs_sheet_u64(sheet, live.value);
    hs_sheet_u64(sheet, live.error);
    hs_sheet_u64(sheet, hs_trace_share(row->live.n_samples, row->all.n_samples));
    hs_sheet_u64(sheet, hs_trace_row_mean_us(row));
    hs_sheet_u64(sheet, row->median_us);
    hs_sheet_u64(sheet, row->all.n_objects);
    hs_sheet_u64(sheet, row->first_us);
    hs_sheet_u64(sheet, row->last_us);
    hs_sheet_string(sheet, hs_trace_scale_name(scale));
}

static void put_place(struct hs_sheet *sheet, const struct top *top, const struct hs_trace_row *row)
{
    struct hs_trace_row_place place = hs_trace_rows_place(top->rows, &top->look->places, row);
    hs_sheet_string(sheet, place.function);
    hs_sheet_string(sheet, place.file);
    if (place.line == 0)
        hs_sheet_null(sheet);
    else
        hs_sheet_u64(sheet, place.line);
}

static void put_others(struct hs_sheet *sheet, const struct top *top)
{
    const struct hs_trace_row *row = &top->others;
    const struct hs_trace_scale *scale = &top->look->scale;
    uint64_t sums[N_COLUMNS] = {
        [0] = row->all.n_samples,
        [1] = hs_trace_words(scale, row->all.n_samples).value,
        [COLUMN_PERCENT] = row->all.n_samples,
        [4] = hs_trace_allocations(scale, &row->all).value,
        [6] = hs_trace_words(scale, row->live.n_samples).value,
    };
    if (top->order->n < top->rows->n)
        hs_sheet_fold(sheet, top->rows->n - top->order->n, sums);
}

static hs_status put_rows(struct hs_sheet *sheet, const struct top *top, struct hs_error *err)
{
    struct hs_buffer name = {0};
    hs_status status = HS_OK;
    for (size_t i = 0; i < top->order->n && status == HS_OK; i++) {
        const struct hs_trace_row *row = &top->rows->rows[top->order->rows[i]];
        put_figures(sheet, top, row);
        put_place(sheet, top, row);
        status = hs_trace_order_name(top->look, top->rows, row, &name, err);
        if (status == HS_OK)
            hs_sheet_string(sheet, (const char *)name.bytes);
    }
    hs_buffer_fini(&name);
    return status;
}

static void put_json_sum(struct hs_json *json, const char *key, const struct top *top,
                         const struct hs_trace_row *row, size_t n_rows)
{
    const struct hs_trace_scale *scale = &top->look->scale;
    struct hs_trace_estimate words = hs_trace_words(scale, row->all.n_samples);
    struct hs_trace_estimate live = hs_trace_words(scale, row->live.n_samples);
    struct hs_trace_estimate allocations = hs_trace_allocations(scale, &row->all);
    hs_json_begin_object(json, key, HS_JSON_LINE);
    hs_json_u64(json, "count", n_rows);
    hs_json_u64(json, "objects", row->all.n_objects);
    hs_json_u64(json, "samples", row->all.n_samples);
    hs_json_u64(json, "words", words.value);
    hs_json_u64(json, "words_error", words.error);
    hs_json_u64(json, "allocations", allocations.value);
    hs_json_u64(json, "allocations_error", allocations.error);
    hs_json_u64(json, "live_samples", row->live.n_samples);
    hs_json_u64(json, "live_words", live.value);
    hs_json_u64(json, "live_words_error", live.error);
    hs_json_end_object(json);
}

static hs_status write_json(struct hs_sheet *sheet, const struct top *top, struct hs_error *err)
{
    static const char *const names[HS_N_ROWS_BY] = {"site", "function", "caller",
                                                    "file", "stack",    "size"};
    struct hs_json json;
    hs_json_init(&json, &top->tool->out, HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_trace_look_put_head(top->look, "heapsnap.trace-top/1", &json);
    hs_json_string(&json, "by", names[top->rows->by]);
    HS_TRY(hs_sheet_write_rows(sheet, &json, "rows", err));
    put_json_sum(&json, "others", top, &top->others, top->rows->n - top->order->n);
    put_json_sum(&json, "total", top, &top->rows->total, top->rows->n);
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

static hs_status write_table(struct hs_sheet *sheet, const struct top *top, struct hs_error *err)
{
    put_others(sheet, top);
    hs_sheet_close_rows(sheet);
    put_figures(sheet, top, &top->rows->total);
    for (int i = 0; i < 3; i++)
        hs_sheet_null(sheet);
    hs_sheet_string(sheet, "TOTAL");
    HS_TRY(hs_sheet_write(sheet, &top->tool->out, err));
    return hs_trace_look_print_note(top->look, top->tool, err);
}

static hs_status print_top(const struct top *top, const struct hs_invocation *inv,
                           struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(top->tool, inv, top->rows->total.all.n_samples);
    struct hs_column columns[N_COLUMNS];
    struct hs_sheet sheet;
    memcpy(columns, top_columns, sizeof columns);
    columns[COLUMN_NAME].title = titles[top->rows->by];
    /* Rows of functions overlap: what has no row of its own is no sum. */
    for (size_t i = 0; i < N_COLUMNS && top->rows->by == HS_ROWS_BY_FUNCTION; i++)
        columns[i].flags &= ~(unsigned)HS_COLUMN_SUMMED;
    options.limit = 0; /* the order has no more rows than that */
    options.no_total = true;
    options.word_bytes = top->look->info->word_bytes;
    HS_TRY(hs_sheet_init(&sheet, columns, N_COLUMNS, &options, err));
    hs_status status = put_rows(&sheet, top, err);
    if (status == HS_OK && options.format == HS_SHEET_JSON)
        status = write_json(&sheet, top, err);
    else if (status == HS_OK && options.format == HS_SHEET_TABLE)
        status = write_table(&sheet, top, err);
    else if (status == HS_OK)
        status = hs_sheet_write(&sheet, &top->tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

static hs_status look_at_rows(struct hs_tool *tool, const struct hs_invocation *inv,
                              const struct hs_trace_look *look, const struct hs_trace_rows *rows,
                              struct hs_error *err)
{
    struct hs_trace_order order = {0};
    struct top top = {.tool = tool, .look = look, .rows = rows, .order = &order};
    hs_status status = hs_trace_order_init(&order, look, rows, inv, err);
    if (status == HS_OK) {
        hs_trace_order_others(&order, rows, &top.others);
        status = print_top(&top, inv, err);
    }
    hs_trace_order_fini(&order);
    return status;
}

hs_status hs_trace_cmd_top(struct hs_tool *tool, const struct hs_invocation *inv,
                           struct hs_error *err)
{
    struct hs_trace_look look;
    struct hs_trace_rows rows = {0};
    hs_status status = hs_trace_look_open(tool, inv, &look, err);
    if (status == HS_OK)
        status =
            hs_trace_rows_init(&rows, &look.objects, &look.places,
                               (enum hs_rows_by)inv->number[HS_OPT_BY], hs_tool_budget(tool), err);
    if (status == HS_OK)
        status = look_at_rows(tool, inv, &look, &rows, err);
    hs_trace_rows_fini(&rows);
    hs_trace_look_close(&look);
    return status;
}
