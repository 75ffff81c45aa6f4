/* info: what is in a snapshot, how complete it is, what was assumed. */
#include <stdio.h>
#include <time.h>

#include "analysis/snapshot_figures.h"
#include "base/append.h"
#include "base/units.h"
#include "commands.h"
#include "info_memory.h"
#include "info_owners.h"
#include "info_suspects.h"

/* The most lines of unreadable mappings in a table; JSON has all. */
enum { UNREADABLE_LINES = 10 };

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

static hs_status put_runtimes(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_view *view = context;
    for (size_t i = 0; i < view->facts->n_runtimes; i++) {
        const struct hs_runtime_fact *runtime = &view->facts->runtimes[i];
        const char *version = hs_or_null(hs_view_string(view, runtime->version));
        HS_TRY(hs_sink_pairs(sink,
                             HS_PAIRS(HS_TEXT("name", hs_view_string(view, runtime->name)),
                                      HS_TEXT("version", version),
                                      HS_TEXT("certainty", hs_certainty_name(runtime->certainty))),
                             err));
    }
    return HS_OK;
}

static hs_status put_proofs(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_view *view = context;
    for (size_t i = 0; i < view->facts->n_proofs; i++) {
        const struct hs_proof *proof = &view->facts->proofs[i];
        HS_TRY(hs_sink_pairs(sink,
                             HS_PAIRS(HS_TEXT("what", hs_view_string(view, proof->what)),
                                      HS_COUNT("expected", proof->expected),
                                      HS_COUNT("found", proof->found),
                                      HS_VALUE("holds", BOOL, proof->holds)),
                             err));
    }
    return HS_OK;
}

static hs_status put_samplers(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_view *view = context;
    for (size_t i = 0; i < view->facts->n_samplers; i++) {
        const struct hs_sampler *sampler = &view->facts->samplers[i];
        const char *trace = hs_or_null(hs_view_string(view, sampler->trace));
        HS_TRY(hs_sink_pairs(
            sink,
            HS_PAIRS(
                HS_TEXT("kind", hs_sampler_kind_name(sampler->kind)),
                HS_COUNT("period_bytes", hs_or_unknown(hs_sampler_period_bytes(view, sampler))),
                HS_COUNT("samples", hs_sampler_n_samples(view, i)),
                HS_COUNT("lost", sampler->n_lost),
                HS_COUNT("begun_ns", hs_or_unknown(sampler->begun_ns)), HS_TEXT("trace", trace)),
            err));
    }
    return HS_OK;
}

static hs_status put_unreadable(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_view *view = context;
    for (size_t i = 0; i < view->facts->n_unreadable; i++)
        HS_TRY(hs_sink_pairs(sink,
                             HS_PAIRS(HS_VALUE("begin", ADDRESS, view->facts->unreadable[i].begin),
                                      HS_VALUE("end", ADDRESS, view->facts->unreadable[i].end)),
                             err));
    return HS_OK;
}

static hs_status put_binaries(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_view *view = context;
    for (size_t i = 0; i < view->facts->n_binaries; i++) {
        const struct hs_binary *binary = &view->facts->binaries[i];
        HS_TRY(hs_sink_pairs(
            sink,
            HS_PAIRS(HS_TEXT("path", hs_view_string(view, binary->path)),
                     HS_TEXT("build_id", hs_or_null(hs_view_string(view, binary->build_id))),
                     HS_VALUE("begin", ADDRESS, binary->begin),
                     HS_VALUE("symbol_table", BOOL, binary->has_symtab),
                     HS_VALUE("debug_information", BOOL, binary->has_debug_info),
                     HS_TEXT("debug_file", hs_or_null(hs_view_string(view, binary->debug_file)))),
            err));
    }
    return HS_OK;
}

static hs_status put_notes(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_view *view = context;
    for (size_t i = 0; i < view->facts->n_notes; i++) {
        const char *text = hs_view_string(view, view->facts->notes[i].text);
        HS_TRY(hs_sink_pairs(
            sink,
            HS_PAIRS(HS_TEXT("text", text), HS_VALUE("gap", BOOL, view->facts->notes[i].is_gap)),
            err));
    }
    return HS_OK;
}

static void put_count(struct hs_sink *sink, const char *key, uint64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lu", (unsigned long)value);
    hs_info_line(sink, key, text);
}

static void put_size(struct hs_sink *sink, const char *key, uint64_t words, unsigned word_bytes)
{
    char text[2 * HS_UNIT_TEXT_BYTES + 16], bytes[HS_UNIT_TEXT_BYTES];
    hs_format_bytes(words * word_bytes, bytes);
    (void)snprintf(text, sizeof text, "%lu (%s)", (unsigned long)words, bytes);
    hs_info_line(sink, key, text);
}

/* The pause, what was foreseen, and how the process was kept still. */
static void put_pause(struct hs_sink *sink, const struct hs_view *view)
{
    const struct hs_snap_facts *facts = view->facts;
    char text[256], foreseen[HS_UNIT_TEXT_BYTES], growth[HS_UNIT_TEXT_BYTES];

    hs_format_duration(facts->pause_ns, text);
    if (facts->predicted_ns != 0) {
        hs_format_duration(facts->predicted_ns, foreseen);
        hs_append(text, sizeof text, ", foreseen %s", foreseen);
    }
    hs_info_line(sink, "pause", text);
    if (facts->stop_way != HS_SNAP_WAY_UNKNOWN)
        hs_info_line(sink, "kept still", way_texts[facts->stop_way]);
    if (facts->why_no_copy != 0)
        hs_info_line(sink, "why no copy", hs_view_string(view, facts->why_no_copy));
    if (facts->growth_bytes != 0) {
        hs_format_bytes(facts->growth_bytes, growth);
        hs_info_line(sink, "growth by the copy", growth);
    }
}

/* Puts a date in UTC, to the second: what does not change with the machine that reads. */
static void put_date(struct hs_sink *sink, const char *key, uint64_t ns)
{
    time_t seconds = (time_t)(ns / UINT64_C(1000000000));
    struct tm parts;
    char text[64];

    if (ns == 0 || gmtime_r(&seconds, &parts) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        return;
    hs_info_line(sink, key, text);
}

static void put_sampler(struct hs_sink *sink, const struct hs_view *view, size_t at)
{
    const struct hs_sampler *sampler = &view->facts->samplers[at];
    const char *trace = hs_view_string(view, sampler->trace);
    uint64_t period_bytes = hs_sampler_period_bytes(view, sampler);
    char text[512], period[HS_UNIT_TEXT_BYTES] = "an unknown number of bytes";

    if (period_bytes != 0)
        hs_format_bytes(period_bytes, period);
    (void)snprintf(text, sizeof text, "%s: %lu samples, one in %s%s%s",
                   hs_sampler_kind_name(sampler->kind),
                   (unsigned long)hs_sampler_n_samples(view, at), period,
                   trace[0] != 0 ? ", trace " : "", trace);
    if (sampler->n_lost != 0)
        hs_append(text, sizeof text, ", %lu lost", (unsigned long)sampler->n_lost);
    hs_info_line(sink, "sampler", text);
}

static void put_process(struct hs_sink *sink, const struct hs_view *view)
{
    const struct hs_snap_facts *facts = view->facts;
    char text[256];
    put_count(sink, "process", facts->pid);
    hs_info_line(sink, "command", hs_view_string(view, facts->command));
    for (size_t i = 0; i < facts->n_runtimes; i++) {
        (void)snprintf(text, sizeof text, "%s %s", hs_view_string(view, facts->runtimes[i].name),
                       facts->runtimes[i].certainty == HS_UNREAD
                           ? "(its heap is not read)"
                           : hs_view_string(view, facts->runtimes[i].version));
        hs_info_line(sink, "runtime", text);
    }
    put_date(sink, "began", facts->started_ns);
    put_date(sink, "taken", facts->taken_ns);
    put_pause(sink, view);
    put_count(sink, "stops tried", facts->n_stop_attempts);
    hs_format_bytes(facts->read_bytes, text);
    hs_info_line(sink, "read", text);
}

static void put_graph(struct hs_sink *sink, const struct hs_view *view)
{
    const struct hs_snap_totals *totals = view->totals;
    char text[HS_UNIT_TEXT_BYTES];
    put_count(sink, "objects", totals->n_blocks - totals->n_static_blocks);
    put_size(sink, "words", totals->heap_words, view->facts->word_bytes);
    put_count(sink, "static objects", totals->n_static_blocks);
    put_size(sink, "static words", totals->static_words, view->facts->word_bytes);
    put_count(sink, "edges", totals->n_edges);
    put_count(sink, "weak and ephemeron edges", totals->n_extra_edges);
    put_count(sink, "roots", hs_view_n_roots(view));
    put_count(sink, "samples", totals->n_samples);
    for (size_t i = 0; i < view->facts->n_samplers; i++)
        put_sampler(sink, view, i);
    hs_format_bytes(totals->file_bytes, text);
    hs_info_line(sink, "file", text);
}

static void put_binary(struct hs_sink *sink, const struct hs_view *view,
                       const struct hs_binary *binary)
{
    const char *debug_file = hs_view_string(view, binary->debug_file);
    char text[1024];
    (void)snprintf(
        text, sizeof text, "%.400s build-id %.80s%s%s%s%.400s", hs_view_string(view, binary->path),
        binary->build_id != 0 ? hs_view_string(view, binary->build_id) : "unknown",
        binary->has_symtab ? "" : ", stripped", binary->has_debug_info ? ", debug information" : "",
        debug_file[0] != 0 ? " in " : "", debug_file);
    hs_info_line(sink, "binary", text);
}

static void put_evidence(struct hs_sink *sink, const struct hs_view *view)
{
    const struct hs_snap_facts *facts = view->facts;
    char text[640];
    for (size_t i = 0; i < facts->n_proofs; i++) {
        const struct hs_proof *proof = &facts->proofs[i];
        (void)snprintf(text, sizeof text, "%s: %s, expected %lu, found %lu",
                       proof->holds ? "holds" : "DOES NOT HOLD", hs_view_string(view, proof->what),
                       (unsigned long)proof->expected, (unsigned long)proof->found);
        hs_info_line(sink, "proof", text);
    }
    for (size_t i = 0; i < facts->n_notes; i++)
        hs_info_line(sink, facts->notes[i].is_gap ? "missing" : "note",
                     hs_view_string(view, facts->notes[i].text));
    size_t n_said = sink->is_table && facts->n_unreadable > UNREADABLE_LINES ? UNREADABLE_LINES
                                                                             : facts->n_unreadable;
    for (size_t i = 0; i < n_said; i++) {
        (void)snprintf(text, sizeof text, "0x%lx-0x%lx", (unsigned long)facts->unreadable[i].begin,
                       (unsigned long)facts->unreadable[i].end);
        hs_info_line(sink, "unreadable", text);
    }
    if (n_said < facts->n_unreadable) {
        (void)snprintf(text, sizeof text, "[%zu others]", facts->n_unreadable - n_said);
        hs_info_line(sink, "unreadable", text);
    }
    for (size_t i = 0; i < facts->n_binaries; i++)
        put_binary(sink, view, &facts->binaries[i]);
}

static hs_status put_lines(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_view *view = context;
    (void)err;
    hs_info_line(sink, "snapshot", view->path);
    hs_info_line(sink, "complete", hs_snap_is_cut(view->snap) ? "no: the file is cut" : "yes");
    put_process(sink, view);
    put_graph(sink, view);
    hs_memory_lines(sink, view, !sink->is_table);
    put_evidence(sink, view);
    hs_memory_hints(sink, view);
    return HS_OK;
}

static hs_status print_all(struct hs_tool *tool, const struct hs_invocation *inv,
                           struct hs_view *view, struct hs_error *err)
{
    const struct hs_snap_facts *facts = view->facts;
    const struct hs_snap_totals *totals = view->totals;
    const struct hs_list lines = {.record = &hs_info_record, .each = put_lines, .context = view};
    const struct hs_list runtimes = {.each = put_runtimes, .context = view};
    const struct hs_list samplers = {.each = put_samplers, .context = view};
    const struct hs_list proofs = {.each = put_proofs, .context = view};
    const struct hs_list unreadable = {.each = put_unreadable, .context = view};
    const struct hs_list binaries = {.each = put_binaries, .context = view};
    const struct hs_list notes = {.each = put_notes, .context = view};
    const struct hs_list memory = {.each = hs_memory_rows, .context = view};
    uint64_t unclaimed_words;
    bool has_unclaimed = hs_unclaimed_words(view, &unclaimed_words);
    struct hs_owner_summary owners;
    struct hs_pair owner_pairs[HS_INFO_OWNER_PAIRS];
    HS_TRY(hs_owner_summary_find(view, &owners, err));
    hs_info_owners_json(view, &owners, owner_pairs);
    const struct hs_listing listing = {
        .rows = &lines,
        .is_one = true,
        .no_total = true,
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.info/1"), HS_TEXT("snapshot", view->path),
            HS_VALUE("complete", BOOL, !hs_snap_is_cut(view->snap)),
            HS_COUNT("format_version", hs_snap_format_version(view->snap)),
            HS_TEXT("tool_version", hs_view_string(view, facts->tool_version)),
            HS_COUNT("pid", facts->pid), HS_TEXT("command", hs_view_string(view, facts->command)),
            HS_COUNT("word_bytes", facts->word_bytes),
            HS_COUNT("objects", totals->n_blocks - totals->n_static_blocks),
            HS_COUNT("static_objects", totals->n_static_blocks), HS_COUNT("edges", totals->n_edges),
            HS_COUNT("extra_edges", totals->n_extra_edges),
            HS_COUNT("roots", hs_view_n_roots(view)), HS_COUNT("samples", totals->n_samples),
            HS_COUNT("words", totals->heap_words), HS_COUNT("static_words", totals->static_words),
            HS_SPLICE(owner_pairs), HS_COUNT("pause_ns", facts->pause_ns),
            HS_TEXT("stop", way_names[facts->stop_way]),
            HS_COUNT("predicted_pause_ns", hs_or_unknown(facts->predicted_ns)),
            HS_COUNT("growth_bytes", facts->growth_bytes),
            HS_TEXT("why_no_copy", hs_or_null(hs_view_string(view, facts->why_no_copy))),
            HS_COUNT("taken_ns", hs_or_unknown(facts->taken_ns)),
            HS_COUNT("started_ns", hs_or_unknown(facts->started_ns)),
            HS_COUNT("stop_attempts", facts->n_stop_attempts),
            HS_COUNT("read_bytes", facts->read_bytes), HS_COUNT("file_bytes", totals->file_bytes),
            HS_ROWS("runtimes", &runtimes), HS_ROWS("samplers", &samplers),
            HS_ROWS("proofs", &proofs), HS_ROWS("unreadable", &unreadable),
            HS_ROWS("build_ids", &binaries), HS_ROWS("notes", &notes),
            HS_COUNT("resident_bytes", hs_or_unknown(facts->resident_bytes)),
            HS_ROWS("memory", &memory),
            has_unclaimed ? (struct hs_pair)HS_COUNT("unclaimed_words", unclaimed_words)
                          : (struct hs_pair)HS_PAIRS_END),
    };
    HS_TRY(hs_tool_list(tool, inv, &listing, err));
    if (hs_tool_format(inv) != HS_FORMAT_TABLE)
        return HS_OK;
    HS_TRY(hs_memory_table(tool, inv, view, err));
    HS_TRY(hs_info_owners_print(tool, &owners, view->facts->word_bytes, err));
    return hs_info_suspects(tool, view, err);
}

static hs_status print_info(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_view *view, struct hs_error *err)
{
    HS_TRY(print_all(tool, inv, view, err));
    if (!hs_snap_is_cut(view->snap))
        return HS_OK;
    /* The figures of what is whole are printed before the cut is reported. */
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
        .session.policy = tool->policy,
    };
    HS_TRY(hs_snap_open(view.path, HS_SNAP_ALLOW_CUT, &view.snap, err));
    view.totals = hs_snap_totals(view.snap);
    view.facts = hs_snap_facts(view.snap);
    view.n_tree = view.totals->n_tree;
    view.n_nodes = view.n_tree + view.totals->n_blocks;
    hs_status status = HS_OK;
    if (!hs_snap_is_cut(view.snap))
        status = hs_view_find_index(&view, err);
    if (status == HS_OK)
        status = print_info(tool, inv, &view, err);
    return hs_view_finish(&view, status, err);
}
