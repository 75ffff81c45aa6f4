/* trace live: what was alive over time. */
#include <string.h>

#include "base/alloc.h"
#include "look.h"
#include "stats/timeline.h"
#include "trace_commands.h"

enum { DEFAULT_POINTS = 40, MAX_POINTS = 1000000 };

struct line {
    const char *estimates, *mark;
    uint64_t time_us, live_samples, live_allocations, live_allocations_error, selected_samples;
    struct hs_trace_estimate live, selected;
};

#define HS_ROW struct line
static const struct hs_field live_fields[] = {
    HS_COLUMN(1, SECONDS, time_us, "TIME", 0),
    HS_COLUMN(2, COUNT, live_samples, "SAMPLES", HS_COLUMN_SPARE(1)),
    HS_COLUMN_AS("live_words", 3, WORDS, live.value, "LIVE", 0),
    HS_COLUMN_AS("live_words_error", 4, WORDS, live.error, "+-", 0),
    HS_COLUMN_AS("live_percent", 5, PERCENT, live_samples, "% OF PEAK", HS_COLUMN_TABLE_ONLY),
    HS_COLUMN(6, COUNT, live_allocations, "ALLOCS", HS_COLUMN_SPARE(2)),
    HS_COLUMN(7, COUNT, live_allocations_error, "+-", HS_COLUMN_SPARE(2)),
    HS_COLUMN(8, COUNT, selected_samples, "SELECTED SAMPLES", HS_COLUMN_DATA_ONLY),
    HS_COLUMN_AS("selected_words", 9, WORDS, selected.value, "SELECTED", 0),
    HS_COLUMN_AS("selected_words_error", 10, WORDS, selected.error, "+-", 0),
    HS_COLUMN(11, STRING, estimates, "ESTIMATES", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(12, STRING, mark, "", HS_COLUMN_FLEXIBLE),
};
enum { N_FIELDS = sizeof live_fields / sizeof *live_fields, FIELD_SELECTED = 8 };

struct points {
    const struct hs_trace_look *look;
    const struct hs_timeline_point *points;
    size_t n;
};

static const char *mark_of(const struct hs_trace_counts *counts, uint64_t at_us)
{
    bool is_peak = at_us == counts->peak_us && counts->n_peak_samples != 0;
    if (at_us == counts->end_us)
        return is_peak ? "peak, end" : "end";
    return is_peak ? "peak" : NULL;
}

static hs_status put_points(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct points *points = context;
    const struct hs_trace_look *look = points->look;
    for (size_t i = 0; i < points->n; i++) {
        const struct hs_timeline_point *point = &points->points[i];
        const char *mark = mark_of(&look->objects.counts, point->at_us);
        struct hs_trace_estimate allocations = hs_trace_allocations(&look->scale, &point->all);
        struct line line = {
            .time_us = point->at_us,
            .live_samples = point->all.n_samples,
            .live = hs_trace_words(&look->scale, point->all.n_samples),
            .live_allocations = allocations.value,
            .live_allocations_error = allocations.error,
            .selected_samples = point->selected.n_samples,
            .selected = hs_trace_words(&look->scale, point->selected.n_samples),
            .estimates = hs_trace_scale_name(&look->scale),
            .mark = mark == NULL && sink->is_table ? "" : mark,
        };
        HS_TRY(hs_sink_row(sink, &line, err));
    }
    return HS_OK;
}

static hs_status print_points(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct points *points, struct hs_error *err)
{
    struct hs_trace_head head = hs_trace_look_head(points->look, "heapsnap.trace-live/1");
    struct hs_field fields[N_FIELDS];
    const struct hs_record record = HS_RECORD(fields);
    const struct hs_list list = {.record = &record, .each = put_points, .context = points};
    memcpy(fields, live_fields, sizeof fields);
    if (!hs_trace_look_is_filtered(points->look))
        fields[FIELD_SELECTED].cell.flags = fields[FIELD_SELECTED + 1].cell.flags =
            HS_COLUMN_DATA_ONLY;
    struct hs_listing listing = {
        .rows = &list,
        .whole = points->look->objects.counts.n_peak_samples,
        .document = HS_PAIRS(HS_SPLICE(head.pairs), HS_ROWS("points", &list)),
    };
    return hs_trace_look_list(points->look, tool, inv, listing, "", err);
}

static hs_status look_at_points(struct hs_tool *tool, const struct hs_invocation *inv,
                                const struct hs_trace_look *look, uint64_t n_points,
                                struct hs_error *err)
{
    hs_auto_free struct hs_timeline_point *points = NULL;
    HS_TRY(HS_ALLOC(&points, n_points + 1, err));
    size_t n = hs_timeline_place(&look->objects.counts, n_points, points);
    hs_timeline_fill(&look->objects, points, n);
    return print_points(tool, inv, &(struct points){look, points, n}, err);
}

hs_status hs_trace_cmd_live(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_error *err)
{
    uint64_t n_points = hs_given(inv, HS_OPT_POINTS) ? inv->number[HS_OPT_POINTS] : DEFAULT_POINTS;
    if (n_points == 0 || n_points > MAX_POINTS)
        return hs_fail(err, HS_USAGE, "--points is from 1 to %d", MAX_POINTS);
    struct hs_trace_look look;
    hs_status status = hs_trace_look_open(tool, inv, &look, err);
    if (status == HS_OK)
        status = hs_trace_look_select_groups(tool, &look, err);
    if (status == HS_OK)
        status = look_at_points(tool, inv, &look, n_points, err);
    hs_trace_look_close(&look);
    return status;
}
