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

struct line {
    const char *name, *estimates, *lives, *medians;
    struct hs_trace_estimate words;
    uint64_t samples, never_samples, never_percent, median_us, p90_us, mean_us;
    const struct hs_list *histogram, *parts;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(12, STRING, name, "SITE", HS_COLUMN_FLEXIBLE),
    HS_COLUMN(1, COUNT, samples, "SAMPLES", HS_COLUMN_SUMMED | HS_COLUMN_SPARE(5)),
    HS_COLUMN_AS("percent", 2, PERCENT, samples, "%",
                 HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS | HS_COLUMN_NOT_JSON),
    HS_COLUMN_AS("words", 3, WORDS, words.value, "WORDS", HS_COLUMN_SUMMED | HS_COLUMN_SPARE(2)),
    HS_COLUMN_AS("words_error", 4, WORDS, words.error, "+-", HS_COLUMN_SPARE(2)),
    HS_COLUMN(11, STRING, estimates, "ESTIMATES", HS_COLUMN_DATA_ONLY),
    HS_FIELD(COUNT, never_samples),
    HS_COLUMN(5, SHARE, never_percent, "NEVER", HS_COLUMN_SPARE(1) | HS_COLUMN_NOT_JSON),
    HS_COLUMN(6, SECONDS, median_us, "MEDIAN", 0),
    HS_COLUMN(7, SECONDS, p90_us, "P90", HS_COLUMN_SPARE(4)),
    HS_COLUMN(8, SECONDS, mean_us, "MEAN", HS_COLUMN_SPARE(6)),
    HS_FIELD(LIST, histogram),
    HS_FIELD(LIST, parts),
    HS_COLUMN_AS("histogram", 9, STRING, lives, "LIVES", HS_COLUMN_NOT_JSON),
    HS_COLUMN_AS("part_medians_us", 10, STRING, medians, "MEDIANS BY BIRTH",
                 HS_COLUMN_SPARE(3) | HS_COLUMN_NOT_JSON),
};
static const struct hs_record record = HS_RECORD(fields);

struct lives {
    const struct hs_trace_look *look;
    const struct hs_trace_rows *rows;
    const struct hs_trace_order *order;
    const struct hs_lifetimes *lifetimes;
    struct hs_trace_row others;
    unsigned first_bucket, end_bucket;    /* that any row uses */
    size_t at;                            /* the row that is put */
    struct hs_buffer text, medians, name; /* owned */
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

/* Draws one bar for each bucket, as high as its share of the fullest; a dot for nothing. */
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
    lives->medians.n_bytes = 0;
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
            HS_TRY(put_text(&lives->medians, is_table ? " | " : ",", err));
        HS_TRY(put_text(&lives->medians, cell, err));
    }
    return HS_OK;
}

static struct line line_of(const struct lives *lives, const struct hs_trace_row *row)
{
    return (struct line){
        .samples = row->all.n_samples,
        .words = hs_trace_words(&lives->look->scale, row->all.n_samples),
        .estimates = hs_trace_scale_name(&lives->look->scale),
        .never_samples = row->live.n_samples,
        .never_percent = hs_trace_share(row->live.n_samples, row->all.n_samples),
        .median_us = row->median_us,
        .p90_us = HS_UNKNOWN,
        .mean_us = hs_trace_row_mean_us(row),
    };
}

static uint64_t us_of(uint64_t us)
{
    return us == HS_NO_QUANTILE ? HS_UNKNOWN : us;
}

static hs_status put_parts(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct lives *lives = context;
    for (size_t p = 1; p <= lives->lifetimes->n_parts; p++) {
        const struct hs_lifetime_part *part = hs_lifetimes_of(lives->lifetimes, lives->at, p);
        HS_TRY(hs_sink_pairs(sink,
                             HS_PAIRS(HS_COUNT("from_us", (p - 1) * lives->lifetimes->part_us),
                                      HS_COUNT("samples", part->n_samples),
                                      HS_COUNT("never_samples", part->n_never_samples),
                                      HS_COUNT("median_us", us_of(part->median_us)),
                                      HS_COUNT("p90_us", us_of(part->p90_us))),
                             err));
    }
    return HS_OK;
}

static hs_status put_histogram(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct lives *lives = context;
    const uint64_t *histogram = histogram_of(lives, lives->at);
    for (unsigned b = 0; b < HS_LIFETIME_BUCKETS; b++)
        if (histogram[b] != 0)
            HS_TRY(hs_sink_pairs(sink,
                                 HS_PAIRS(HS_COUNT("from_us", bucket_begin_us(b)),
                                          HS_COUNT("to_us", bucket_begin_us(b + 1)),
                                          HS_COUNT("samples", histogram[b])),
                                 err));
    return HS_OK;
}

static hs_status put_row(struct hs_sink *sink, struct lives *lives, struct hs_error *err)
{
    const struct hs_trace_row *row = &lives->rows->rows[lives->at];
    const struct hs_list histogram = {.each = put_histogram, .context = lives, .is_line = true};
    const struct hs_list parts = {.each = put_parts, .context = lives, .is_line = true};
    struct line line = line_of(lives, row);
    line.p90_us = hs_lifetimes_of(lives->lifetimes, lives->at, 0)->p90_us;
    line.histogram = &histogram;
    line.parts = &parts;
    lives->text.n_bytes = 0;
    HS_TRY(sink->is_table ? draw_histogram(lives, lives->at, err)
                          : list_histogram(lives, lives->at, err));
    HS_TRY(list_medians(lives, lives->at, sink->is_table, err));
    HS_TRY(hs_trace_order_name(lives->look, lives->rows, row, &lives->name, err));
    line.lives = (const char *)lives->text.bytes;
    line.medians = (const char *)lives->medians.bytes;
    line.name = (const char *)lives->name.bytes;
    return hs_sink_row(sink, &line, err);
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct lives *lives = context;
    for (size_t i = 0; i < lives->order->n; i++) {
        lives->at = lives->order->rows[i];
        HS_TRY(put_row(sink, lives, err));
    }
    struct line others = line_of(lives, &lives->others);
    struct line total = line_of(lives, &lives->rows->total);
    total.name = "TOTAL";
    hs_sink_others(sink, lives->rows->n - lives->order->n, &others);
    hs_sink_close(sink, &total);
    return HS_OK;
}

static hs_status print_lives(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct lives *lives, struct hs_error *err)
{
    const struct hs_trace_row *total = &lives->rows->total;
    struct hs_trace_head head = hs_trace_look_head(lives->look, "heapsnap.trace-lifetimes/1");
    const struct hs_list list = {.record = &record, .each = put_rows, .context = lives};
    struct hs_listing listing = {
        .rows = &list,
        .whole = total->all.n_samples,
        .document = HS_PAIRS(HS_SPLICE(head.pairs), HS_ROWS("rows", &list), HS_OBJECT("others"),
                             HS_COUNT("count", lives->rows->n - lives->order->n),
                             HS_COUNT("samples", lives->others.all.n_samples), HS_END,
                             HS_OBJECT("total"), HS_COUNT("samples", total->all.n_samples),
                             HS_COUNT("never_samples", total->live.n_samples),
                             HS_COUNT("median_us", us_of(total->median_us)), HS_END),
    };
    char legend[96] = "";
    if (lives->end_bucket != 0)
        (void)snprintf(legend, sizeof legend, "lives: from %llu us on, a bar for each doubling",
                       (unsigned long long)bucket_begin_us(lives->first_bucket));
    return hs_trace_look_list(lives->look, tool, inv, listing, legend, err);
}

static hs_status look_at_lives(struct hs_tool *tool, const struct hs_invocation *inv,
                               const struct hs_trace_look *look, const struct hs_trace_rows *rows,
                               const struct hs_lifetimes *lifetimes, struct hs_error *err)
{
    struct hs_trace_order order = {0};
    struct lives lives = {.look = look, .rows = rows, .order = &order, .lifetimes = lifetimes};
    hs_status status = hs_trace_order_init(&order, look, rows, inv, err);
    if (status == HS_OK) {
        hs_trace_order_others(&order, rows, &lives.others);
        find_buckets(&lives);
        status = print_lives(tool, inv, &lives, err);
    }
    hs_buffer_fini(&lives.text);
    hs_buffer_fini(&lives.medians);
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
