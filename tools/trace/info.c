/* trace info: what an allocation trace is of, what it holds, and how much of it could be read. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "stats/trace_facts.h"
#include "trace_commands.h"

struct listing {
    const char *path;
    struct hs_trace_facts facts;
};

static void format_time(uint64_t begun_us, char *text, size_t n)
{
    struct tm parts;
    time_t seconds = (time_t)(begun_us / 1000000);
    if (gmtime_r(&seconds, &parts) == NULL || strftime(text, n, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        (void)snprintf(text, n, "?");
}

/* ---- lines ---- */

struct line {
    const char *what, *value, *error, *certainty;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(1, STRING, what, "WHAT", 0),
    HS_COLUMN(2, STRING, value, "VALUE", HS_COLUMN_FLEXIBLE),
    HS_COLUMN(3, STRING, error, "+-", 0),
    HS_COLUMN(4, STRING, certainty, "FIGURE", 0),
};
static const struct hs_record record = HS_RECORD(fields);

static void put(struct hs_sink *sink, const char *what, const char *value, const char *certainty)
{
    (void)hs_sink_row(sink, &(struct line){what, value, "", certainty}, NULL);
}

static void put_count(struct hs_sink *sink, const char *what, uint64_t count)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, count);
    put(sink, what, text, "exact");
}

static void put_seconds(struct hs_sink *sink, const char *what, uint64_t us, const char *certainty)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%.6f s", (double)us / 1e6);
    put(sink, what, text, certainty);
}

static void put_words(struct hs_sink *sink, const struct hs_trace_facts *facts, const char *what,
                      uint64_t n_samples)
{
    struct hs_trace_estimate words = hs_trace_words(&facts->scale, n_samples);
    char value[48], error[32];
    (void)snprintf(value, sizeof value, "%" PRIu64 " words", words.value);
    (void)snprintf(error, sizeof error, "%" PRIu64, words.error);
    (void)hs_sink_row(sink, &(struct line){what, value, error, hs_trace_scale_name(&facts->scale)},
                      NULL);
}

static void put_origin(struct hs_sink *sink, const struct listing *listing)
{
    const struct hs_trace_info *info = listing->facts.info;
    char text[128];
    put(sink, "trace", listing->path, "");
    (void)snprintf(text, sizeof text, "memtrace version %" PRIu32, info->version);
    put(sink, "format", text, "");
    put(sink, "executable", info->executable, "");
    put(sink, "host", info->host, "");
    put_count(sink, "pid", info->pid);
    put(sink, "runtime parameters", info->runtime, "");
    put(sink, "context", info->context, "");
    (void)snprintf(text, sizeof text, "%.6g per word of %" PRIu32 " bytes", info->samples_per_word,
                   info->word_bytes);
    put(sink, "sampling rate", text, "exact");
    format_time(info->begun_us, text, sizeof text);
    put(sink, "begun", text, "");
    put_seconds(sink, "duration", listing->facts.objects.counts.end_us, "exact");
}

static hs_status put_lines(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listing *listing = context;
    const struct hs_trace_facts *facts = &listing->facts;
    const struct hs_trace_counts *counts = &facts->objects.counts;
    (void)err;
    put_origin(sink, listing);
    put_count(sink, "domains", facts->n_domains);
    put_count(sink, "sampled allocations", counts->n_allocations);
    put_count(sink, "  in the minor heap", facts->n_of_source[HS_TRACE_MINOR]);
    put_count(sink, "  in the major heap", facts->n_of_source[HS_TRACE_MAJOR]);
    put_count(sink, "  outside of the heap", facts->n_of_source[HS_TRACE_EXTERNAL]);
    put_count(sink, "promotions", counts->n_promotions);
    put_count(sink, "collections", counts->n_collections);
    put_count(sink, "of no allocation", counts->n_unmatched);
    put_words(sink, facts, "allocated", counts->n_samples);
    put_words(sink, facts, "live at the peak", counts->n_peak_samples);
    put_seconds(sink, "time of the peak", counts->peak_us, hs_trace_scale_name(&facts->scale));
    put_words(sink, facts, "live at the end", counts->n_live_samples);
    put_count(sink, "locations", facts->gaps->n_locations);
    put_count(sink, "  damaged", facts->gaps->n_damaged_locations);
    put_count(sink, "damaged packets", facts->gaps->n_damaged_packets);
    put_count(sink, "packets of others", facts->gaps->n_foreign_packets);
    put_count(sink, "bytes cut off", facts->gaps->cut_bytes);
    return HS_OK;
}

/* ---- JSON ---- */

struct estimate {
    struct hs_pair pairs[7];
};

static struct estimate estimate_of(const struct hs_trace_facts *facts, const char *key,
                                   uint64_t n_samples)
{
    struct hs_trace_estimate words = hs_trace_words(&facts->scale, n_samples);
    return (struct estimate){{HS_OBJECT(key),
                              HS_TEXT("certainty", hs_trace_scale_name(&facts->scale)),
                              HS_COUNT("samples", n_samples), HS_COUNT("words", words.value),
                              HS_COUNT("words_error", words.error), HS_END, HS_PAIRS_END}};
}

static hs_status print_all(struct hs_tool *tool, const struct hs_invocation *inv,
                           struct listing *of, struct hs_error *err)
{
    const struct hs_trace_facts *facts = &of->facts;
    const struct hs_trace_info *info = facts->info;
    const struct hs_trace_gaps *gaps = facts->gaps;
    const struct hs_trace_counts *counts = &facts->objects.counts;
    const struct hs_list lines = {.record = &record, .each = put_lines, .context = of};
    struct estimate allocated = estimate_of(facts, "allocated", counts->n_samples);
    struct estimate at_peak = estimate_of(facts, "live_at_peak", counts->n_peak_samples);
    struct estimate at_end = estimate_of(facts, "live_at_end", counts->n_live_samples);
    char rate[64], begun[64];
    (void)snprintf(rate, sizeof rate, "%.17g", info->samples_per_word);
    format_time(info->begun_us, begun, sizeof begun);
    const struct hs_listing listing = {
        .rows = &lines,
        .is_one = true,
        .no_total = true,
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.trace-info/1"), HS_TEXT("trace", of->path),
            HS_COUNT("version", info->version), HS_COUNT("file_bytes", info->file_bytes),
            HS_TEXT("executable", info->executable), HS_TEXT("host", info->host),
            HS_COUNT("pid", info->pid), HS_TEXT("runtime_parameters", info->runtime),
            HS_TEXT("context", info->context), HS_COUNT("word_bytes", info->word_bytes),
            HS_TEXT("samples_per_word", rate), HS_COUNT("begun_us", info->begun_us),
            HS_TEXT("begun", begun), HS_COUNT("duration_us", counts->end_us),
            HS_COUNT("n_domains", facts->n_domains), HS_BLOCK("counts"),
            HS_TEXT("certainty", "exact"), HS_COUNT("allocations", counts->n_allocations),
            HS_COUNT("allocations_minor", facts->n_of_source[HS_TRACE_MINOR]),
            HS_COUNT("allocations_major", facts->n_of_source[HS_TRACE_MAJOR]),
            HS_COUNT("allocations_external", facts->n_of_source[HS_TRACE_EXTERNAL]),
            HS_COUNT("promotions", counts->n_promotions),
            HS_COUNT("collections", counts->n_collections),
            HS_COUNT("unmatched", counts->n_unmatched), HS_COUNT("samples", counts->n_samples),
            HS_COUNT("frames", facts->n_frames), HS_COUNT("locations", gaps->n_locations), HS_END,
            HS_SPLICE(allocated.pairs), HS_SPLICE(at_peak.pairs),
            HS_COUNT("peak_us", counts->peak_us), HS_SPLICE(at_end.pairs), HS_BLOCK("gaps"),
            HS_COUNT("cut_bytes", gaps->cut_bytes),
            HS_COUNT("foreign_packets", gaps->n_foreign_packets),
            HS_COUNT("damaged_packets", gaps->n_damaged_packets),
            HS_COUNT("damaged_locations", gaps->n_damaged_locations), HS_END),
    };
    return hs_tool_list(tool, inv, &listing, err);
}

hs_status hs_trace_cmd_info(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_error *err)
{
    struct listing *listing;
    HS_TRY(HS_ALLOC(&listing, 1, err));
    listing->path = inv->arguments[1];
    hs_status status =
        hs_trace_facts_read(&listing->facts, listing->path, hs_tool_budget(tool), err);
    if (status == HS_OK)
        status = print_all(tool, inv, listing, err);
    hs_trace_facts_fini(&listing->facts);
    hs_free(listing);
    return status;
}
