/* trace info: what an allocation trace is of, what it holds, and how much of it could be read. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "stats/trace_estimate.h"
#include "trace_commands.h"

/* What one pass over the events counts. */
struct trace_facts {
    const char *path;
    struct hs_trace *trace; /* owned */
    const struct hs_trace_info *info;
    const struct hs_trace_gaps *gaps;
    struct hs_trace_objects objects;
    struct hs_trace_scale scale;
    uint64_t n_of_source[HS_N_TRACE_SOURCES];
    uint64_t n_frames; /* of all backtraces */
    uint64_t domains[65536 / 64];
    uint64_t n_domains;
};

static void count_event(struct trace_facts *facts, const struct hs_trace_event *event)
{
    uint64_t *word = &facts->domains[event->domain / 64 % (65536 / 64)];
    uint64_t bit = (uint64_t)1 << event->domain % 64;
    facts->n_domains += (*word & bit) == 0;
    *word |= bit;
    if (event->kind == HS_TRACE_ALLOC) {
        facts->n_of_source[event->source]++;
        facts->n_frames += event->n_frames;
    }
}

static hs_status read_facts(struct trace_facts *facts, struct hs_error *err)
{
    struct hs_trace_event event;
    bool more;
    HS_TRY(hs_trace_next(facts->trace, &event, &more, err));
    while (more) {
        count_event(facts, &event);
        HS_TRY(hs_trace_objects_add(&facts->objects, &event, err));
        HS_TRY(hs_trace_next(facts->trace, &event, &more, err));
    }
    HS_TRY(hs_trace_objects_finish(&facts->objects, err));
    facts->scale = hs_trace_scale_of(&facts->objects, facts->info->samples_per_word);
    return HS_OK;
}

static void format_time(uint64_t begun_us, char *text, size_t n)
{
    struct tm parts;
    time_t seconds = (time_t)(begun_us / 1000000);
    if (gmtime_r(&seconds, &parts) == NULL || strftime(text, n, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        (void)snprintf(text, n, "?");
}

/* ---- JSON ---- */

static void put_what(struct hs_json *json, const struct trace_facts *facts)
{
    const struct hs_trace_info *info = facts->info;
    char text[64];
    hs_json_string(json, "trace", facts->path);
    hs_json_u64(json, "version", info->version);
    hs_json_u64(json, "file_bytes", info->file_bytes);
    hs_json_string(json, "executable", info->executable);
    hs_json_string(json, "host", info->host);
    hs_json_u64(json, "pid", info->pid);
    hs_json_string(json, "runtime_parameters", info->runtime);
    hs_json_string(json, "context", info->context);
    hs_json_u64(json, "word_bytes", info->word_bytes);
    (void)snprintf(text, sizeof text, "%.17g", info->samples_per_word);
    hs_json_string(json, "samples_per_word", text);
    hs_json_u64(json, "begun_us", info->begun_us);
    format_time(info->begun_us, text, sizeof text);
    hs_json_string(json, "begun", text);
    hs_json_u64(json, "duration_us", facts->objects.counts.end_us);
    hs_json_u64(json, "n_domains", facts->n_domains);
}

static void put_counts(struct hs_json *json, const struct trace_facts *facts)
{
    const struct hs_trace_counts *counts = &facts->objects.counts;
    hs_json_begin_object(json, "counts", HS_JSON_BLOCK);
    hs_json_string(json, "certainty", "exact");
    hs_json_u64(json, "allocations", counts->n_allocations);
    hs_json_u64(json, "allocations_minor", facts->n_of_source[HS_TRACE_MINOR]);
    hs_json_u64(json, "allocations_major", facts->n_of_source[HS_TRACE_MAJOR]);
    hs_json_u64(json, "allocations_external", facts->n_of_source[HS_TRACE_EXTERNAL]);
    hs_json_u64(json, "promotions", counts->n_promotions);
    hs_json_u64(json, "collections", counts->n_collections);
    hs_json_u64(json, "unmatched", counts->n_unmatched);
    hs_json_u64(json, "samples", counts->n_samples);
    hs_json_u64(json, "frames", facts->n_frames);
    hs_json_u64(json, "locations", facts->gaps->n_locations);
    hs_json_end_object(json);
}

static void put_estimate(struct hs_json *json, const struct trace_facts *facts, const char *key,
                         uint64_t n_samples)
{
    struct hs_trace_estimate words = hs_trace_words(&facts->scale, n_samples);
    hs_json_begin_object(json, key, HS_JSON_LINE);
    hs_json_string(json, "certainty", hs_trace_scale_name(&facts->scale));
    hs_json_u64(json, "samples", n_samples);
    hs_json_u64(json, "words", words.value);
    hs_json_u64(json, "words_error", words.error);
    hs_json_end_object(json);
}

static hs_status print_json(struct hs_tool *tool, const struct trace_facts *facts, bool is_line,
                            struct hs_error *err)
{
    const struct hs_trace_counts *counts = &facts->objects.counts;
    struct hs_json json;
    hs_json_init(&json, &tool->out, is_line ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.trace-info/1");
    put_what(&json, facts);
    put_counts(&json, facts);
    put_estimate(&json, facts, "allocated", counts->n_samples);
    put_estimate(&json, facts, "live_at_peak", counts->n_peak_samples);
    hs_json_u64(&json, "peak_us", counts->peak_us);
    put_estimate(&json, facts, "live_at_end", counts->n_live_samples);
    hs_json_begin_object(&json, "gaps", HS_JSON_BLOCK);
    hs_json_u64(&json, "cut_bytes", facts->gaps->cut_bytes);
    hs_json_u64(&json, "foreign_packets", facts->gaps->n_foreign_packets);
    hs_json_u64(&json, "damaged_packets", facts->gaps->n_damaged_packets);
    hs_json_u64(&json, "damaged_locations", facts->gaps->n_damaged_locations);
    hs_json_end_object(&json);
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

/* ---- lines ---- */

static const struct hs_column columns[] = {
    {"what", "WHAT", HS_COLUMN_STRING, 0},
    {"value", "VALUE", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
    {"error", "+-", HS_COLUMN_STRING, 0},
    {"certainty", "FIGURE", HS_COLUMN_STRING, 0},
};

static void row(struct hs_sheet *sheet, const char *what, const char *value, const char *certainty)
{
    hs_sheet_string(sheet, what);
    hs_sheet_string(sheet, value);
    hs_sheet_string(sheet, "");
    hs_sheet_string(sheet, certainty);
}

static void count_row(struct hs_sheet *sheet, const char *what, uint64_t count)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, count);
    row(sheet, what, text, "exact");
}

static void words_row(struct hs_sheet *sheet, const struct trace_facts *facts, const char *what,
                      uint64_t n_samples)
{
    struct hs_trace_estimate words = hs_trace_words(&facts->scale, n_samples);
    char value[48], error[32];
    (void)snprintf(value, sizeof value, "%" PRIu64 " words", words.value);
    (void)snprintf(error, sizeof error, "%" PRIu64, words.error);
    hs_sheet_string(sheet, what);
    hs_sheet_string(sheet, value);
    hs_sheet_string(sheet, error);
    hs_sheet_string(sheet, hs_trace_scale_name(&facts->scale));
}

static void what_rows(struct hs_sheet *sheet, const struct trace_facts *facts)
{
    const struct hs_trace_info *info = facts->info;
    char text[128];
    row(sheet, "trace", facts->path, "");
    (void)snprintf(text, sizeof text, "memtrace version %" PRIu32, info->version);
    row(sheet, "format", text, "");
    row(sheet, "executable", info->executable, "");
    row(sheet, "host", info->host, "");
    count_row(sheet, "pid", info->pid);
    row(sheet, "runtime parameters", info->runtime, "");
    row(sheet, "context", info->context, "");
    (void)snprintf(text, sizeof text, "%.6g per word of %" PRIu32 " bytes", info->samples_per_word,
                   info->word_bytes);
    row(sheet, "sampling rate", text, "exact");
    format_time(info->begun_us, text, sizeof text);
    row(sheet, "begun", text, "");
    (void)snprintf(text, sizeof text, "%.6f s", (double)facts->objects.counts.end_us / 1e6);
    row(sheet, "duration", text, "exact");
}

static void figure_rows(struct hs_sheet *sheet, const struct trace_facts *facts)
{
    const struct hs_trace_counts *counts = &facts->objects.counts;
    char text[64];
    count_row(sheet, "domains", facts->n_domains);
    count_row(sheet, "sampled allocations", counts->n_allocations);
    count_row(sheet, "  in the minor heap", facts->n_of_source[HS_TRACE_MINOR]);
    count_row(sheet, "  in the major heap", facts->n_of_source[HS_TRACE_MAJOR]);
    count_row(sheet, "  outside of the heap", facts->n_of_source[HS_TRACE_EXTERNAL]);
    count_row(sheet, "promotions", counts->n_promotions);
    count_row(sheet, "collections", counts->n_collections);
    count_row(sheet, "of no allocation", counts->n_unmatched);
    words_row(sheet, facts, "allocated", counts->n_samples);
    words_row(sheet, facts, "live at the peak", counts->n_peak_samples);
    (void)snprintf(text, sizeof text, "%.6f s", (double)counts->peak_us / 1e6);
    row(sheet, "time of the peak", text, hs_trace_scale_name(&facts->scale));
    words_row(sheet, facts, "live at the end", counts->n_live_samples);
    count_row(sheet, "locations", facts->gaps->n_locations);
    count_row(sheet, "  damaged", facts->gaps->n_damaged_locations);
    count_row(sheet, "damaged packets", facts->gaps->n_damaged_packets);
    count_row(sheet, "packets of others", facts->gaps->n_foreign_packets);
    count_row(sheet, "bytes cut off", facts->gaps->cut_bytes);
}

static hs_status print_rows(struct hs_tool *tool, const struct hs_invocation *inv,
                            const struct trace_facts *facts, struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    struct hs_sheet sheet;
    options.no_total = true;
    options.limit = 0;
    HS_TRY(hs_sheet_init(&sheet, columns, sizeof columns / sizeof *columns, &options, err));
    what_rows(&sheet, facts);
    figure_rows(&sheet, facts);
    hs_status status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

static hs_status look(struct hs_tool *tool, const struct hs_invocation *inv,
                      struct trace_facts *facts, struct hs_error *err)
{
    enum hs_format format = hs_tool_format(inv);
    facts->path = inv->arguments[1];
    HS_TRY(hs_trace_open(facts->path, &facts->trace, err));
    facts->info = hs_trace_info(facts->trace);
    facts->gaps = hs_trace_gaps(facts->trace);
    HS_TRY(read_facts(facts, err));
    if (format == HS_FORMAT_JSON || format == HS_FORMAT_NDJSON)
        return print_json(tool, facts, format == HS_FORMAT_NDJSON, err);
    return print_rows(tool, inv, facts, err);
}

hs_status hs_trace_cmd_info(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_error *err)
{
    struct trace_facts *facts;
    HS_TRY(HS_ALLOC(&facts, 1, err));
    hs_trace_objects_init(&facts->objects, hs_tool_budget(tool));
    hs_status status = look(tool, inv, facts, err);
    hs_trace_objects_fini(&facts->objects);
    hs_trace_close(facts->trace);
    hs_free(facts);
    return status;
}
