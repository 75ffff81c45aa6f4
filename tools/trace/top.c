/* trace top: where memory was allocated, a row for each place, caller, function, file or size. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "look.h"
#include "order.h"
#include "trace_commands.h"

struct line {
    const char *estimates, *function, *file, *name;
    struct hs_trace_estimate words, allocations, live;
    uint64_t samples, leaked_percent, mean_lifetime_us, median_lifetime_us, objects;
    uint64_t first_us, last_us, line;
};

#define HS_ROW struct line
static const struct hs_field top_fields[] = {
    HS_COLUMN(1, COUNT, samples, "SAMPLES", HS_COLUMN_SUMMED | HS_COLUMN_SPARE(3)),
    HS_COLUMN_AS("words", 2, WORDS, words.value, "WORDS", HS_COLUMN_SUMMED),
    HS_COLUMN_AS("words_error", 3, WORDS, words.error, "+-", 0),
    HS_COLUMN_AS("percent", 4, PERCENT, samples, "%", HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS),
    HS_COLUMN_AS("allocations", 5, COUNT, allocations.value, "ALLOCS",
                 HS_COLUMN_SUMMED | HS_COLUMN_SPARE(4)),
    HS_COLUMN_AS("allocations_error", 6, COUNT, allocations.error, "+-", HS_COLUMN_SPARE(4)),
    HS_COLUMN_AS("live_words", 7, WORDS, live.value, "LIVE", HS_COLUMN_SUMMED | HS_COLUMN_SPARE(1)),
    HS_COLUMN_AS("live_words_error", 8, WORDS, live.error, "+-", HS_COLUMN_SPARE(1)),
    HS_COLUMN(9, SHARE, leaked_percent, "LEAKED", HS_COLUMN_SPARE(5)),
    HS_COLUMN(10, SECONDS, mean_lifetime_us, "MEAN LIFE", HS_COLUMN_SPARE(6)),
    HS_COLUMN(11, SECONDS, median_lifetime_us, "MEDIAN", HS_COLUMN_SPARE(2)),
    HS_COLUMN(12, COUNT, objects, "OBJECTS", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(13, SECONDS, first_us, "FIRST", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(14, SECONDS, last_us, "LAST", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(15, STRING, estimates, "ESTIMATES", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(16, STRING, function, "FUNCTION", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(17, STRING, file, "FILE", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(18, NUMBER, line, "LINE", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(19, STRING, name, "NAME", HS_COLUMN_FLEXIBLE),
};
enum { N_FIELDS = sizeof top_fields / sizeof *top_fields };

static const char *const titles[HS_N_ROWS_BY] = {
    [HS_ROWS_BY_SITE] = "SITE",     [HS_ROWS_BY_FUNCTION] = "IN OR BELOW",
    [HS_ROWS_BY_CALLER] = "CALLER", [HS_ROWS_BY_FILE] = "FILE",
    [HS_ROWS_BY_STACK] = "STACK",   [HS_ROWS_BY_SIZE] = "SIZE",
};

struct top {
    const struct hs_trace_look *look;
    const struct hs_trace_rows *rows;
    const struct hs_trace_order *order;
    struct hs_trace_row others; /* sums of what has no row of its own */
    struct hs_buffer name;      /* owned */
};

static struct line line_of(const struct top *top, const struct hs_trace_row *row)
{
    const struct hs_trace_scale *scale = &top->look->scale;
    return (struct line){
        .samples = row->all.n_samples,
        .words = hs_trace_words(scale, row->all.n_samples),
        .allocations = hs_trace_allocations(scale, &row->all),
        .live = hs_trace_words(scale, row->live.n_samples),
        .leaked_percent = hs_trace_share(row->live.n_samples, row->all.n_samples),
        .mean_lifetime_us = hs_trace_row_mean_us(row),
        .median_lifetime_us = row->median_us,
        .objects = row->all.n_objects,
        .first_us = row->first_us,
        .last_us = row->last_us,
        .estimates = hs_trace_scale_name(scale),
    };
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct top *top = context;
    for (size_t i = 0; i < top->order->n; i++) {
        const struct hs_trace_row *row = &top->rows->rows[top->order->rows[i]];
        struct hs_trace_row_place place = hs_trace_rows_place(top->rows, &top->look->places, row);
        struct line line = line_of(top, row);
        HS_TRY(hs_trace_order_name(top->look, top->rows, row, &top->name, err));
        line.name = (const char *)top->name.bytes;
        line.function = place.function;
        line.file = place.file;
        line.line = place.line == 0 ? HS_UNKNOWN : place.line;
        HS_TRY(hs_sink_row(sink, &line, err));
    }
    struct line others = line_of(top, &top->others), total = line_of(top, &top->rows->total);
    total.name = "TOTAL";
    hs_sink_others(sink, top->rows->n - top->order->n, &others);
    hs_sink_close(sink, &total);
    return HS_OK;
}

struct sum {
    struct hs_pair pairs[11];
};

static struct sum sum_of(const struct top *top, const struct hs_trace_row *row, size_t n_rows)
{
    struct line line = line_of(top, row);
    return (struct sum){
        {HS_COUNT("count", n_rows), HS_COUNT("objects", line.objects),
         HS_COUNT("samples", line.samples), HS_COUNT("words", line.words.value),
         HS_COUNT("words_error", line.words.error), HS_COUNT("allocations", line.allocations.value),
         HS_COUNT("allocations_error", line.allocations.error),
         HS_COUNT("live_samples", row->live.n_samples), HS_COUNT("live_words", line.live.value),
         HS_COUNT("live_words_error", line.live.error), HS_PAIRS_END}};
}

static hs_status print_top(struct hs_tool *tool, const struct hs_invocation *inv, struct top *top,
                           struct hs_error *err)
{
    static const char *const names[HS_N_ROWS_BY] = {"site", "function", "caller",
                                                    "file", "stack",    "size"};
    struct hs_field fields[N_FIELDS];
    const struct hs_record record = HS_RECORD(fields);
    const struct hs_list list = {.record = &record, .each = put_rows, .context = top};
    struct hs_trace_head head = hs_trace_look_head(top->look, "heapsnap.trace-top/1");
    struct sum others = sum_of(top, &top->others, top->rows->n - top->order->n);
    struct sum total = sum_of(top, &top->rows->total, top->rows->n);
    memcpy(fields, top_fields, sizeof fields);
    fields[N_FIELDS - 1].cell.title = titles[top->rows->by];
    /* Rows of functions overlap: what has no row of its own is no sum. */
    for (size_t i = 0; i < N_FIELDS && top->rows->by == HS_ROWS_BY_FUNCTION; i++)
        fields[i].cell.flags &= ~(unsigned)HS_COLUMN_SUMMED;
    struct hs_listing listing = {
        .rows = &list,
        .whole = top->rows->total.all.n_samples,
        .document = HS_PAIRS(HS_SPLICE(head.pairs), HS_TEXT("by", names[top->rows->by]),
                             HS_ROWS("rows", &list), HS_OBJECT("others"), HS_SPLICE(others.pairs),
                             HS_END, HS_OBJECT("total"), HS_SPLICE(total.pairs), HS_END),
    };
    return hs_trace_look_list(top->look, tool, inv, listing, "", err);
}

static hs_status look_at_rows(struct hs_tool *tool, const struct hs_invocation *inv,
                              const struct hs_trace_look *look, const struct hs_trace_rows *rows,
                              struct hs_error *err)
{
    struct hs_trace_order order = {0};
    struct top top = {.look = look, .rows = rows, .order = &order};
    hs_status status = hs_trace_order_init(&order, look, rows, inv, err);
    if (status == HS_OK) {
        hs_trace_order_others(&order, rows, &top.others);
        status = print_top(tool, inv, &top, err);
    }
    hs_buffer_fini(&top.name);
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
