/* trace live: what was alive over time. */
#include <string.h>

#include "base/alloc.h"
#include "look.h"
#include "stats/timeline.h"
#include "trace_commands.h"

enum { DEFAULT_POINTS = 40, MAX_POINTS = 1000000 };

static const struct hs_column live_columns[] = {
    {"time_us", "TIME", HS_COLUMN_SECONDS, 0},
    {"live_samples", "SAMPLES", HS_COLUMN_COUNT, 0},
    {"live_words", "LIVE", HS_COLUMN_WORDS, 0},
    {"live_words_error", "+-", HS_COLUMN_WORDS, 0},
    {"live_percent", "% OF PEAK", HS_COLUMN_PERCENT, HS_COLUMN_TABLE_ONLY},
    {"live_allocations", "ALLOCS", HS_COLUMN_COUNT, 0},
    {"live_allocations_error", "+-", HS_COLUMN_COUNT, 0},
    {"selected_samples", "SELECTED SAMPLES", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"selected_words", "SELECTED", HS_COLUMN_WORDS, 0},
    {"selected_words_error", "+-", HS_COLUMN_WORDS, 0},
    {"estimates", "ESTIMATES", HS_COLUMN_STRING, HS_COLUMN_DATA_ONLY},
    {"mark", "", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};
enum { N_COLUMNS = sizeof live_columns / sizeof *live_columns, COLUMN_SELECTED = 8 };

static const char *mark_of(const struct hs_trace_counts *counts, uint64_t at_us)
{
    bool is_peak = at_us == counts->peak_us && counts->n_peak_samples != 0;
    if (at_us == counts->end_us)
        return is_peak ? "peak, end" : "end";
    return is_peak ? "peak" : NULL;
}

static void put_point(struct hs_sheet *sheet, const struct hs_trace_look *look,
                      const struct hs_timeline_point *point, bool is_table)
{
    const char *mark = mark_of(&look->objects.counts, point->at_us);
    struct hs_trace_estimate words = hs_trace_words(&look->scale, point->all.n_samples);
    struct hs_trace_estimate selected = hs_trace_words(&look->scale, point->selected.n_samples);
    struct hs_trace_estimate allocations = hs_trace_allocations(&look->scale, &point->all);
    hs_sheet_u64(sheet, point->at_us);
    hs_sheet_u64(sheet, point->all.n_samples);
    hs_sheet_u64(sheet, words.value);
    hs_sheet_u64(sheet, words.error);
    hs_sheet_u64(sheet, point->all.n_samples);
    hs_sheet_u64(sheet, allocations.value);
    hs_sheet_u64(sheet, allocations.error);
    hs_sheet_u64(sheet, point->selected.n_samples);
    hs_sheet_u64(sheet, selected.value);
    hs_sheet_u64(sheet, selected.error);
    hs_sheet_string(sheet, hs_trace_scale_name(&look->scale));
    hs_sheet_string(sheet, mark == NULL && is_table ? "" : mark);
}

static hs_status print_points(struct hs_tool *tool, const struct hs_invocation *inv,
                              const struct hs_trace_look *look,
                              const struct hs_timeline_point *points, size_t n,
                              struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, look->objects.counts.n_peak_samples);
    struct hs_column columns[N_COLUMNS];
    struct hs_sheet sheet;
    memcpy(columns, live_columns, sizeof columns);
    if (!hs_trace_look_is_filtered(look))
        columns[COLUMN_SELECTED].flags = columns[COLUMN_SELECTED + 1].flags = HS_COLUMN_DATA_ONLY;
    options.no_total = true;
    options.limit = 0;
    options.word_bytes = look->info->word_bytes;
    HS_TRY(hs_sheet_init(&sheet, columns, N_COLUMNS, &options, err));
    for (size_t i = 0; i < n; i++)
        put_point(&sheet, look, &points[i], options.format == HS_SHEET_TABLE);
    hs_status status = hs_trace_look_write(look, tool, &sheet, options.format,
                                           "heapsnap.trace-live/1", "points", err);
    hs_sheet_fini(&sheet);
    return status;
}

/* Evenly from 0 to the end, and the peak where it belongs. */
static size_t place_points(const struct hs_trace_counts *counts, uint64_t n_points,
                           struct hs_timeline_point *points)
{
    size_t n = 0;
    bool has_peak = false;
    for (uint64_t i = 0; i < n_points; i++) {
        uint64_t at_us = n_points == 1
                             ? counts->end_us
                             : (uint64_t)((__uint128_t)counts->end_us * i / (n_points - 1));
        if (!has_peak && counts->peak_us < at_us)
            points[n++] = (struct hs_timeline_point){.at_us = counts->peak_us};
        has_peak = has_peak || counts->peak_us <= at_us;
        if (n == 0 || points[n - 1].at_us != at_us)
            points[n++] = (struct hs_timeline_point){.at_us = at_us};
    }
    return n;
}

static hs_status look_at_points(struct hs_tool *tool, const struct hs_invocation *inv,
                                const struct hs_trace_look *look, uint64_t n_points,
                                struct hs_error *err)
{
    hs_auto_free struct hs_timeline_point *points = NULL;
    HS_TRY(hs_alloc(n_points + 1, sizeof *points, (void **)&points, err));
    size_t n = place_points(&look->objects.counts, n_points, points);
    hs_timeline_fill(&look->objects, points, n);
    return print_points(tool, inv, look, points, n, err);
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
