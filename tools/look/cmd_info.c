/* info: what is in a snapshot, how complete it is, what was assumed. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analysis/view.h"
#include "base/units.h"
#include "commands.h"
#include "info_memory.h"

static const char *const way_names[HS_N_SNAP_WAYS] = {
    [HS_SNAP_WAY_READ] = "read",
    [HS_SNAP_WAY_COPY] = "copy",
    [HS_SNAP_WAY_CORE] = "core",
    [HS_SNAP_WAY_STOPPED] = "stopped",
};
static const char *const way_texts[HS_N_SNAP_WAYS] = {
    [HS_SNAP_WAY_READ] = "stopped until all was read",
    [HS_SNAP_WAY_COPY] = "stopped until a frozen copy was made",
    [HS_SNAP_WAY_CORE] = "a core: nothing was stopped",
    [HS_SNAP_WAY_STOPPED] = "its user had stopped it",
};

static uint64_t n_roots(const struct hs_view *view)
{
    uint64_t n = 0;
    for (hs_node node = 0; node < view->n_tree; node++)
        n += hs_view_root_of(view, node) == node;
    return n;
}

static void put_runtimes(struct hs_json *json, const struct hs_view *view)
{
    hs_json_begin_array(json, "runtimes", HS_JSON_BLOCK);
    for (size_t i = 0; i < view->facts->n_runtimes; i++) {
        const struct hs_runtime *runtime = &view->facts->runtimes[i];
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_string(json, "name", hs_view_string(view, runtime->name));
        hs_json_string(json, "version", hs_or_null(hs_view_string(view, runtime->version)));
        hs_json_string(json, "certainty", hs_certainty_name(runtime->certainty));
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
}

static void put_proofs(struct hs_json *json, const struct hs_view *view)
{
    hs_json_begin_array(json, "proofs", HS_JSON_BLOCK);
    for (size_t i = 0; i < view->facts->n_proofs; i++) {
        const struct hs_proof *proof = &view->facts->proofs[i];
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_string(json, "what", hs_view_string(view, proof->what));
        hs_json_u64(json, "expected", proof->expected);
        hs_json_u64(json, "found", proof->found);
        hs_json_bool(json, "holds", proof->holds);
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
}

static void put_stop(struct hs_json *json, const struct hs_view *view)
{
    const struct hs_snap_facts *facts = view->facts;
    hs_json_string(json, "stop", way_names[facts->stop_way]);
    if (facts->predicted_ns != 0)
        hs_json_u64(json, "predicted_pause_ns", facts->predicted_ns);
    else
        hs_json_null(json, "predicted_pause_ns");
    hs_json_u64(json, "growth_bytes", facts->growth_bytes);
    hs_json_string(json, "why_no_copy", hs_or_null(hs_view_string(view, facts->why_no_copy)));
}

static void put_time(struct hs_json *json, const char *name, uint64_t ns)
{
    if (ns != 0)
        hs_json_u64(json, name, ns);
    else
        hs_json_null(json, name);
}

static uint64_t n_samples_of(const struct hs_view *view, size_t sampler)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < view->totals->n_samples; i++)
        n += hs_snap_sample(view->snap, i)->sampler == sampler;
    return n;
}

/* 0: unknown. */
static uint64_t sampler_period_bytes(const struct hs_view *view, const struct hs_sampler *sampler)
{
    double bytes = sampler->period_words * view->facts->word_bytes;
    return bytes < 0x1p63 ? (uint64_t)(bytes + 0.5) : 0;
}

static void put_samplers(struct hs_json *json, const struct hs_view *view)
{
    hs_json_begin_array(json, "samplers", HS_JSON_BLOCK);
    for (size_t i = 0; i < view->facts->n_samplers; i++) {
        const struct hs_sampler *sampler = &view->facts->samplers[i];
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_string(json, "kind", hs_sampler_kind_name(sampler->kind));
        uint64_t period_bytes = sampler_period_bytes(view, sampler);
        if (period_bytes != 0)
            hs_json_u64(json, "period_bytes", period_bytes);
        else
            hs_json_null(json, "period_bytes");
        hs_json_u64(json, "samples", n_samples_of(view, i));
        hs_json_u64(json, "lost", sampler->n_lost);
        put_time(json, "begun_ns", sampler->begun_ns);
        hs_json_string(json, "trace", hs_or_null(hs_view_string(view, sampler->trace)));
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
}

static void put_counts(struct hs_json *json, const struct hs_view *view)
{
    const struct hs_snap_totals *totals = view->totals;
    hs_json_u64(json, "objects", totals->n_blocks - totals->n_static_blocks);
    hs_json_u64(json, "static_objects", totals->n_static_blocks);
    hs_json_u64(json, "edges", totals->n_edges);
    hs_json_u64(json, "extra_edges", totals->n_extra_edges);
    hs_json_u64(json, "roots", n_roots(view));
    hs_json_u64(json, "samples", totals->n_samples);
    hs_json_u64(json, "words", totals->heap_words);
    hs_json_u64(json, "static_words", totals->static_words);
    hs_json_u64(json, "pause_ns", view->facts->pause_ns);
    put_stop(json, view);
    put_time(json, "taken_ns", view->facts->taken_ns);
    put_time(json, "started_ns", view->facts->started_ns);
    hs_json_u64(json, "stop_attempts", view->facts->n_stop_attempts);
    hs_json_u64(json, "read_bytes", view->facts->read_bytes);
    hs_json_u64(json, "file_bytes", totals->file_bytes);
}

static void put_lists(struct hs_json *json, const struct hs_view *view)
{
    hs_json_begin_array(json, "unreadable", HS_JSON_BLOCK);
    for (size_t i = 0; i < view->facts->n_unreadable; i++) {
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_address(json, "begin", view->facts->unreadable[i].begin);
        hs_json_address(json, "end", view->facts->unreadable[i].end);
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
    hs_json_begin_array(json, "build_ids", HS_JSON_BLOCK);
    for (size_t i = 0; i < view->facts->n_binaries; i++) {
        const struct hs_binary *binary = &view->facts->binaries[i];
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_string(json, "path", hs_view_string(view, binary->path));
        hs_json_string(json, "build_id", hs_or_null(hs_view_string(view, binary->build_id)));
        hs_json_address(json, "begin", binary->begin);
        hs_json_bool(json, "symbol_table", binary->has_symtab);
        hs_json_bool(json, "debug_information", binary->has_debug_info);
        hs_json_string(json, "debug_file", hs_or_null(hs_view_string(view, binary->debug_file)));
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
    hs_json_begin_array(json, "notes", HS_JSON_BLOCK);
    for (size_t i = 0; i < view->facts->n_notes; i++) {
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_string(json, "text", hs_view_string(view, view->facts->notes[i].text));
        hs_json_bool(json, "gap", view->facts->notes[i].is_gap);
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
}

static hs_status print_json(struct hs_tool *tool, const struct hs_view *view, bool is_compact,
                            struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, is_compact ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.info/1");
    hs_json_string(&json, "snapshot", view->path);
    hs_json_bool(&json, "complete", !hs_snap_is_cut(view->snap));
    hs_json_u64(&json, "format_version", hs_snap_format_version(view->snap));
    hs_json_string(&json, "tool_version", hs_view_string(view, view->facts->tool_version));
    hs_json_u64(&json, "pid", view->facts->pid);
    hs_json_string(&json, "command", hs_view_string(view, view->facts->command));
    hs_json_u64(&json, "word_bytes", view->facts->word_bytes);
    put_counts(&json, view);
    put_runtimes(&json, view);
    put_samplers(&json, view);
    put_proofs(&json, view);
    put_lists(&json, view);
    hs_memory_json(&json, view);
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

static const struct hs_column columns[] = {
    {"key", "WHAT", HS_COLUMN_STRING, 0},
    {"value", "VALUE", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};

static void put_text(struct hs_sheet *sheet, const char *key, const char *value)
{
    hs_sheet_string(sheet, key);
    hs_sheet_string(sheet, value);
}

static void put_count(struct hs_sheet *sheet, const char *key, uint64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lu", (unsigned long)value);
    put_text(sheet, key, text);
}

static void put_size(struct hs_sheet *sheet, const char *key, uint64_t words, unsigned word_bytes)
{
    char text[2 * HS_UNIT_TEXT_BYTES + 16], bytes[HS_UNIT_TEXT_BYTES];
    hs_format_bytes(words * word_bytes, bytes);
    (void)snprintf(text, sizeof text, "%lu (%s)", (unsigned long)words, bytes);
    put_text(sheet, key, text);
}

/* The pause, what was foreseen, and how the process was kept still. */
static void put_pause(struct hs_sheet *sheet, const struct hs_view *view)
{
    const struct hs_snap_facts *facts = view->facts;
    char text[256], foreseen[HS_UNIT_TEXT_BYTES], growth[HS_UNIT_TEXT_BYTES];

    hs_format_duration(facts->pause_ns, text);
    if (facts->predicted_ns != 0) {
        size_t n = strlen(text);
        hs_format_duration(facts->predicted_ns, foreseen);
        (void)snprintf(text + n, sizeof text - n, ", foreseen %s", foreseen);
    }
    put_text(sheet, "pause", text);
    if (facts->stop_way != HS_SNAP_WAY_UNKNOWN)
        put_text(sheet, "kept still", way_texts[facts->stop_way]);
    if (facts->why_no_copy != 0)
        put_text(sheet, "why no copy", hs_view_string(view, facts->why_no_copy));
    if (facts->growth_bytes != 0) {
        hs_format_bytes(facts->growth_bytes, growth);
        put_text(sheet, "growth by the copy", growth);
    }
}

/* UTC, to the second: what does not change with the machine that reads. */
static void put_date(struct hs_sheet *sheet, const char *key, uint64_t ns)
{
    time_t seconds = (time_t)(ns / UINT64_C(1000000000));
    struct tm parts;
    char text[64];

    if (ns == 0 || gmtime_r(&seconds, &parts) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        return;
    put_text(sheet, key, text);
}

static void put_sampler(struct hs_sheet *sheet, const struct hs_view *view, size_t at)
{
    const struct hs_sampler *sampler = &view->facts->samplers[at];
    const char *trace = hs_view_string(view, sampler->trace);
    uint64_t period_bytes = sampler_period_bytes(view, sampler);
    char text[512], period[HS_UNIT_TEXT_BYTES] = "an unknown number of bytes";

    if (period_bytes != 0)
        hs_format_bytes(period_bytes, period);
    (void)snprintf(text, sizeof text, "%s: %lu samples, one in %s%s%s",
                   hs_sampler_kind_name(sampler->kind), (unsigned long)n_samples_of(view, at),
                   period, trace[0] != 0 ? ", trace " : "", trace);
    size_t n = strlen(text);
    if (sampler->n_lost != 0)
        (void)snprintf(text + n, sizeof text - n, ", %lu lost", (unsigned long)sampler->n_lost);
    put_text(sheet, "sampler", text);
}

static void put_process(struct hs_sheet *sheet, const struct hs_view *view)
{
    const struct hs_snap_facts *facts = view->facts;
    char text[256];
    put_count(sheet, "process", facts->pid);
    put_text(sheet, "command", hs_view_string(view, facts->command));
    for (size_t i = 0; i < facts->n_runtimes; i++) {
        (void)snprintf(text, sizeof text, "%s %s", hs_view_string(view, facts->runtimes[i].name),
                       hs_view_string(view, facts->runtimes[i].version));
        put_text(sheet, "runtime", text);
    }
    put_date(sheet, "began", facts->started_ns);
    put_date(sheet, "taken", facts->taken_ns);
    put_pause(sheet, view);
    put_count(sheet, "stops tried", facts->n_stop_attempts);
    hs_format_bytes(facts->read_bytes, text);
    put_text(sheet, "read", text);
}

static void put_graph(struct hs_sheet *sheet, const struct hs_view *view)
{
    const struct hs_snap_totals *totals = view->totals;
    char text[HS_UNIT_TEXT_BYTES];
    put_count(sheet, "objects", totals->n_blocks - totals->n_static_blocks);
    put_size(sheet, "words", totals->heap_words, view->facts->word_bytes);
    put_count(sheet, "static objects", totals->n_static_blocks);
    put_size(sheet, "static words", totals->static_words, view->facts->word_bytes);
    put_count(sheet, "edges", totals->n_edges);
    put_count(sheet, "weak and ephemeron edges", totals->n_extra_edges);
    put_count(sheet, "roots", n_roots(view));
    put_count(sheet, "samples", totals->n_samples);
    for (size_t i = 0; i < view->facts->n_samplers; i++)
        put_sampler(sheet, view, i);
    hs_format_bytes(totals->file_bytes, text);
    put_text(sheet, "file", text);
}

static void put_binary(struct hs_sheet *sheet, const struct hs_view *view,
                       const struct hs_binary *binary)
{
    const char *debug_file = hs_view_string(view, binary->debug_file);
    char text[1024];
    (void)snprintf(
        text, sizeof text, "%.400s build-id %.80s%s%s%s%.400s", hs_view_string(view, binary->path),
        binary->build_id != 0 ? hs_view_string(view, binary->build_id) : "unknown",
        binary->has_symtab ? "" : ", stripped", binary->has_debug_info ? ", debug information" : "",
        debug_file[0] != 0 ? " in " : "", debug_file);
    put_text(sheet, "binary", text);
}

static void put_evidence(struct hs_sheet *sheet, const struct hs_view *view)
{
    const struct hs_snap_facts *facts = view->facts;
    char text[640];
    for (size_t i = 0; i < facts->n_proofs; i++) {
        const struct hs_proof *proof = &facts->proofs[i];
        (void)snprintf(text, sizeof text, "%s: %s, expected %lu, found %lu",
                       proof->holds ? "holds" : "DOES NOT HOLD", hs_view_string(view, proof->what),
                       (unsigned long)proof->expected, (unsigned long)proof->found);
        put_text(sheet, "proof", text);
    }
    for (size_t i = 0; i < facts->n_notes; i++)
        put_text(sheet, facts->notes[i].is_gap ? "missing" : "note",
                 hs_view_string(view, facts->notes[i].text));
    for (size_t i = 0; i < facts->n_unreadable; i++) {
        (void)snprintf(text, sizeof text, "0x%lx-0x%lx", (unsigned long)facts->unreadable[i].begin,
                       (unsigned long)facts->unreadable[i].end);
        put_text(sheet, "unreadable", text);
    }
    for (size_t i = 0; i < facts->n_binaries; i++)
        put_binary(sheet, view, &facts->binaries[i]);
}

static hs_status print_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                             const struct hs_view *view, struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    options.no_total = true;
    options.limit = 0;
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, sizeof columns / sizeof *columns, &options, err));
    put_text(&sheet, "snapshot", view->path);
    put_text(&sheet, "complete", hs_snap_is_cut(view->snap) ? "no: the file is cut" : "yes");
    put_process(&sheet, view);
    put_graph(&sheet, view);
    hs_memory_lines(&sheet, view, options.format != HS_SHEET_TABLE);
    put_evidence(&sheet, view);
    hs_memory_hints(&sheet, view);
    hs_status status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    if (status == HS_OK && options.format == HS_SHEET_TABLE)
        status = hs_memory_table(tool, inv, view, err);
    return status;
}

static hs_status print_info(struct hs_tool *tool, const struct hs_invocation *inv,
                            const struct hs_view *view, struct hs_error *err)
{
    enum hs_format format = hs_tool_format(inv);
    if (format == HS_FORMAT_JSON || format == HS_FORMAT_NDJSON)
        HS_TRY(print_json(tool, view, format == HS_FORMAT_NDJSON, err));
    else
        HS_TRY(print_sheet(tool, inv, view, err));
    if (!hs_snap_is_cut(view->snap))
        return HS_OK;
    /* What is whole has been asked for and is printed; the cut is reported all the same. */
    HS_TRY(hs_tool_commit(tool, err));
    (void)hs_fail(err, HS_FORMAT, "'%s' is cut: it ends after %lu bytes without a trailer",
                  view->path, (unsigned long)view->totals->file_bytes);
    return hs_hint(err, "the figures above count what is whole; take the dump again");
}

hs_status hs_cmd_info(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_view view = {
        .path = inv->arguments[0],
        .session.budget = hs_tool_budget(tool),
        .session.progress = &tool->progress,
    };
    HS_TRY(hs_snap_open(view.path, HS_SNAP_ALLOW_CUT, &view.snap, err));
    view.totals = hs_snap_totals(view.snap);
    view.facts = hs_snap_facts(view.snap);
    view.n_tree = view.totals->n_tree;
    hs_status status = HS_OK;
    if (hs_unclaimed_node(&view) != HS_NO_NODE && !hs_snap_is_cut(view.snap))
        status = hs_view_find_index(&view, err);
    if (status == HS_OK)
        status = print_info(tool, inv, &view, err);
    return hs_view_finish(&view, status, err);
}
