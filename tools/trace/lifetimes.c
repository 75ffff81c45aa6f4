/* trace lifetimes: how long what each site allocates lives, and how that changes over the run. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "look.h"
#include "order.h"
#include "stats/lifetimes.h"
#include "trace_commands.h"

enum { DEFAULT_PARTS = 3, MAX_PARTS = 10000, CELL_BYTES = 48 };

static const struct hs_column columns[] = {
    {"samples", "SAMPLES", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
    {"percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_SUMMED},
    {"words", "WORDS", HS_COLUMN_WORDS, HS_COLUMN_SUMMED},
    {"words_error", "+-", HS_COLUMN_WORDS, 0},
    {"never_percent", "NEVER", HS_COLUMN_SHARE, 0},
    {"median_us", "MEDIAN", HS_COLUMN_SECONDS, 0},
    {"p90_us", "P90", HS_COLUMN_SECONDS, 0},
    {"mean_us", "MEAN", HS_COLUMN_SECONDS, 0},
    {"histogram", "LIVES", HS_COLUMN_STRING, 0},
    {"part_medians_us", "MEDIANS BY BIRTH", HS_COLUMN_STRING, 0},
    {"estimates", "ESTIMATES", HS_COLUMN_STRING, HS_COLUMN_DATA_ONLY},
    {"name", "SITE", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

struct lives {
    struct hs_tool *tool;
    const struct hs_trace_look *look;
    const struct hs_trace_rows *rows;
    const struct hs_trace_order *order;
    const struct hs_lifetimes *lifetimes;
    struct hs_trace_row others;
    unsigned first_bucket, end_bucket; /* that any row uses */
    struct hs_buffer text, name;
};

static const uint64_t *histogram_of(const struct lives *lives, size_t row)
{
    return lives->lifetimes->histogram + row * HS_LIFETIME_BUCKETS;
}

static uint64_t bucket_begin_us(unsigned bucket)
{
    return bucket == 0 ? 0 : (uint64_t)1 << bucket;
}

static void find_buckets(struct lives *lives)
{
    lives->first_bucket = HS_LIFETIME_BUCKETS;
    for (size_t row = 0; row < lives->rows->n; row++)
        for (unsigned b = 0; b < HS_LIFETIME_BUCKETS; b++) {
            if (histogram_of(lives, row)[b] == 0)
                continue;
            lives->first_bucket = b < lives->first_bucket ? b : lives->first_bucket;
            lives->end_bucket = b + 1 > lives->end_bucket ? b + 1 : lives->end_bucket;
        }
}

static hs_status put_text(struct hs_buffer *b, const char *text, struct hs_error *err)
{
    size_t n = strlen(text);
    HS_TRY(hs_buffer_reserve(b, n + 1, err));
    hs_buffer_put_bytes(b, text, n);
    b->bytes[b->n_bytes] = 0; /* as a string; what comes next goes over it */
    return HS_OK;
}

/* One bar for each bucket, as high as its share of the fullest; a dot for nothing. */
static hs_status draw_histogram(struct lives *lives, size_t row, struct hs_error *err)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const uint64_t *histogram = histogram_of(lives, row);
    uint64_t most = 1;
    HS_TRY(put_text(&lives->text, "", err));
    for (unsigned b = lives->first_bucket; b < lives->end_bucket; b++)
        most = histogram[b] > most ? histogram[b] : most;
    for (unsigned b = lives->first_bucket; b < lives->end_bucket; b++) {
        uint64_t height = (uint64_t)(((__uint128_t)histogram[b] * 8 + most - 1) / most);
        HS_TRY(put_text(&lives->text, histogram[b] == 0 ? "." : bars[height - 1], err));
    }
    return HS_OK;
}

/* "from=samples,..." with the beginning of each bucket in microseconds. */
static hs_status list_histogram(struct lives *lives, size_t row, struct hs_error *err)
{
    const uint64_t *histogram = histogram_of(lives, row);
    HS_TRY(put_text(&lives->text, "", err));
    for (unsigned b = 0; b < HS_LIFETIME_BUCKETS; b++) {
        char cell[CELL_BYTES];
        if (histogram[b] == 0)
            continue;
        (void)snprintf(cell, sizeof cell, "%s%llu=%llu", lives->text.n_bytes == 0 ? "" : ",",
                       (unsigned long long)bucket_begin_us(b), (unsigned long long)histogram[b]);
        HS_TRY(put_text(&lives->text, cell, err));
    }
    return HS_OK;
}

static hs_status list_medians(struct lives *lives, size_t row, bool is_table, struct hs_error *err)
{
    lives->text.n_bytes = 0;
    for (size_t p = 1; p <= lives->lifetimes->n_parts; p++) {
        const struct hs_lifetime_part *part = hs_lifetimes_of(lives->lifetimes, row, p);
        char cell[CELL_BYTES];
        if (part->n_samples == 0)
            (void)snprintf(cell, sizeof cell, "-");
        else if (part->median_us == HS_NO_QUANTILE)
            (void)snprintf(cell, sizeof cell, "never");
        else if (is_table)
            hs_format_duration(part->median_us * 1000, cell);
        else
            (void)snprintf(cell, sizeof cell, "%llu", (unsigned long long)part->median_us);
        if (p != 1)
            HS_TRY(put_text(&lives->text, is_table ? " | " : ",", err));
        HS_TRY(put_text(&lives->text, cell, err));
    }
    return HS_OK;
}

static void put_figures(struct hs_sheet *sheet, const struct lives *lives,
                        const struct hs_trace_row *row, uint64_t p90_us)
{
    struct hs_trace_estimate words = hs_trace_words(&lives->look->scale, row->all.n_samples);
    hs_sheet_u64(sheet, row->all.n_samples);
    hs_sheet_u64(sheet, row->all.n_samples);
    hs_sheet_u64(sheet, words.value);
    hs_sheet_u64(sheet, words.error);
    hs_sheet_u64(sheet, hs_trace_share(row->live.n_samples, row->all.n_samples));
    hs_sheet_u64(sheet, row->median_us);
    hs_sheet_u64(sheet, p90_us);
    hs_sheet_u64(sheet, hs_trace_row_mean_us(row));
}

static hs_status put_row(struct hs_sheet *sheet, struct lives *lives, size_t at, bool is_table,
                         struct hs_error *err)
{
    const struct hs_trace_row *row = &lives->rows->rows[at];
    put_figures(sheet, lives, row, hs_lifetimes_of(lives->lifetimes, at, 0)->p90_us);
    lives->text.n_bytes = 0;
    HS_TRY(is_table ? draw_histogram(lives, at, err) : list_histogram(lives, at, err));
    hs_sheet_string(sheet, (const char *)lives->text.bytes);
    HS_TRY(list_medians(lives, at, is_table, err));
    hs_sheet_string(sheet, (const char *)lives->text.bytes);
    hs_sheet_string(sheet, hs_trace_scale_name(&lives->look->scale));
    HS_TRY(hs_trace_order_name(lives->look, lives->rows, row, &lives->name, err));
    hs_sheet_string(sheet, (const char *)lives->name.bytes);
    return HS_OK;
}

/* What has no row of its own, and the sum. */
static void put_closing(struct hs_sheet *sheet, const struct lives *lives)
{
    const struct hs_trace_row *others = &lives->others, *total = &lives->rows->total;
    struct hs_trace_estimate words = hs_trace_words(&lives->look->scale, others->all.n_samples);
    uint64_t sums[N_COLUMNS] = {others->all.n_samples, others->all.n_samples, words.value};
    if (lives->order->n < lives->rows->n)
        hs_sheet_fold(sheet, lives->rows->n - lives->order->n, sums);
    hs_sheet_close_rows(sheet);
    words = hs_trace_words(&lives->look->scale, total->all.n_samples);
    hs_sheet_u64(sheet, total->all.n_samples);
    hs_sheet_u64(sheet, total->all.n_samples);
    hs_sheet_u64(sheet, words.value);
    hs_sheet_u64(sheet, words.error);
    hs_sheet_u64(sheet, hs_trace_share(total->live.n_samples, total->all.n_samples));
    hs_sheet_u64(sheet, total->median_us);
    hs_sheet_null(sheet);
    hs_sheet_u64(sheet, hs_trace_row_mean_us(total));
    for (size_t i = 8; i + 1 < N_COLUMNS; i++)
        hs_sheet_null(sheet);
    hs_sheet_string(sheet, "TOTAL");
}

static hs_status print_sheet(struct lives *lives, const struct hs_invocation *inv,
                             struct hs_error *err)
{
    struct hs_sheet_options options =
        hs_tool_sheet(lives->tool, inv, lives->rows->total.all.n_samples);
    bool is_table = options.format == HS_SHEET_TABLE;
    struct hs_sheet sheet;
    options.limit = 0; /* the order has no more rows than that */
    options.no_total = true;
    options.word_bytes = lives->look->info->word_bytes;
    HS_TRY(hs_sheet_init(&sheet, columns, N_COLUMNS, &options, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < lives->order->n && status == HS_OK; i++)
        status = put_row(&sheet, lives, lives->order->rows[i], is_table, err);
    if (status == HS_OK && is_table)
        put_closing(&sheet, lives);
    if (status == HS_OK)
        status = hs_sheet_write(&sheet, &lives->tool->out, err);
    if (status == HS_OK && is_table && lives->end_bucket != 0)
        status =
            hs_print(&lives->tool->out, err, "lives: from %llu us on, a bar for each doubling\n",
                     (unsigned long long)bucket_begin_us(lives->first_bucket));
    if (status == HS_OK && is_table)
        status = hs_trace_look_print_note(lives->look, lives->tool, err);
    hs_sheet_fini(&sheet);
    return status;
}

/* ---- JSON ---- */

static void put_json_us(struct hs_json *json, const char *key, uint64_t us)
{
    if (us == HS_NO_QUANTILE)
        hs_json_null(json, key);
    else
        hs_json_u64(json, key, us);
}

static void put_json_parts(struct hs_json *json, const struct lives *lives, size_t row)
{
    hs_json_begin_array(json, "parts", HS_JSON_LINE);
    for (size_t p = 1; p <= lives->lifetimes->n_parts; p++) {
        const struct hs_lifetime_part *part = hs_lifetimes_of(lives->lifetimes, row, p);
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_u64(json, "from_us", (p - 1) * lives->lifetimes->part_us);
        hs_json_u64(json, "samples", part->n_samples);
        hs_json_u64(json, "never_samples", part->n_never_samples);
        put_json_us(json, "median_us", part->median_us);
        put_json_us(json, "p90_us", part->p90_us);
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
}

static void put_json_histogram(struct hs_json *json, const struct lives *lives, size_t row)
{
    const uint64_t *histogram = histogram_of(lives, row);
    hs_json_begin_array(json, "histogram", HS_JSON_LINE);
    for (unsigned b = 0; b < HS_LIFETIME_BUCKETS; b++) {
        if (histogram[b] == 0)
            continue;
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_u64(json, "from_us", bucket_begin_us(b));
        hs_json_u64(json, "to_us", bucket_begin_us(b + 1));
        hs_json_u64(json, "samples", histogram[b]);
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
}

static hs_status put_json_row(struct hs_json *json, struct lives *lives, size_t at,
                              struct hs_error *err)
{
    const struct hs_trace_row *row = &lives->rows->rows[at];
    struct hs_trace_estimate words = hs_trace_words(&lives->look->scale, row->all.n_samples);
    HS_TRY(hs_trace_order_name(lives->look, lives->rows, row, &lives->name, err));
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    hs_json_string(json, "name", (const char *)lives->name.bytes);
    hs_json_u64(json, "samples", row->all.n_samples);
    hs_json_u64(json, "words", words.value);
    hs_json_u64(json, "words_error", words.error);
    hs_json_string(json, "estimates", hs_trace_scale_name(&lives->look->scale));
    hs_json_u64(json, "never_samples", row->live.n_samples);
    put_json_us(json, "median_us", row->median_us);
    put_json_us(json, "p90_us", hs_lifetimes_of(lives->lifetimes, at, 0)->p90_us);
    put_json_us(json, "mean_us", hs_trace_row_mean_us(row));
    put_json_histogram(json, lives, at);
    put_json_parts(json, lives, at);
    hs_json_end_object(json);
    return HS_OK;
}

static hs_status print_json(struct lives *lives, bool is_lines, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &lives->tool->out, is_lines ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    if (!is_lines) {
        hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
        hs_trace_look_put_head(lives->look, "heapsnap.trace-lifetimes/1", &json);
        hs_json_begin_array(&json, "rows", HS_JSON_BLOCK);
    }
    for (size_t i = 0; i < lives->order->n; i++)
        HS_TRY(put_json_row(&json, lives, lives->order->rows[i], err));
    if (!is_lines) {
        hs_json_end_array(&json);
        hs_json_begin_object(&json, "others", HS_JSON_LINE);
        hs_json_u64(&json, "count", lives->rows->n - lives->order->n);
        hs_json_u64(&json, "samples", lives->others.all.n_samples);
        hs_json_end_object(&json);
        hs_json_begin_object(&json, "total", HS_JSON_LINE);
        hs_json_u64(&json, "samples", lives->rows->total.all.n_samples);
        hs_json_u64(&json, "never_samples", lives->rows->total.live.n_samples);
        put_json_us(&json, "median_us", lives->rows->total.median_us);
        hs_json_end_object(&json);
        hs_json_end_object(&json);
    }
    return hs_json_finish(&json, err);
}

static hs_status look_at_lives(struct hs_tool *tool, const struct hs_invocation *inv,
                               const struct hs_trace_look *look, const struct hs_trace_rows *rows,
                               const struct hs_lifetimes *lifetimes, struct hs_error *err)
{
    struct hs_trace_order order = {0};
    struct lives lives = {
        .tool = tool, .look = look, .rows = rows, .order = &order, .lifetimes = lifetimes};
    enum hs_format format = hs_tool_format(inv);
    hs_status status = hs_trace_order_init(&order, look, rows, inv, err);
    if (status == HS_OK) {
        hs_trace_order_others(&order, rows, &lives.others);
        find_buckets(&lives);
        if (format == HS_FORMAT_JSON || format == HS_FORMAT_NDJSON)
            status = print_json(&lives, format == HS_FORMAT_NDJSON, err);
        else
            status = print_sheet(&lives, inv, err);
    }
    hs_buffer_fini(&lives.text);
    hs_buffer_fini(&lives.name);
    hs_trace_order_fini(&order);
    return status;
}

hs_status hs_trace_cmd_lifetimes(struct hs_tool *tool, const struct hs_invocation *inv,
                                 struct hs_error *err)
{
    uint64_t n_parts = hs_given(inv, HS_OPT_POINTS) ? inv->number[HS_OPT_POINTS] : DEFAULT_PARTS;
    if (n_parts == 0 || n_parts > MAX_PARTS)
        return hs_fail(err, HS_USAGE, "--points is from 1 to %d", MAX_PARTS);
    struct hs_trace_look look;
    struct hs_trace_rows rows = {0};
    struct hs_lifetimes lifetimes = {0};
    struct hs_budget *budget = hs_tool_budget(tool);
    hs_status status = hs_trace_look_open(tool, inv, &look, err);
    if (status == HS_OK)
        status = hs_trace_rows_init(&rows, &look.objects, &look.places,
                                    (enum hs_rows_by)inv->number[HS_OPT_BY], budget, err);
    if (status == HS_OK)
        status = hs_lifetimes_init(&lifetimes, &look.objects, &rows, n_parts, budget, err);
    if (status == HS_OK)
        status = look_at_lives(tool, inv, &look, &rows, &lifetimes, err);
    hs_lifetimes_fini(&lifetimes);
    hs_trace_rows_fini(&rows);
    hs_trace_look_close(&look);
    return status;
}
