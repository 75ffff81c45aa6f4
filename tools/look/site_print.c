/* Sites as JSON; what was joined with a trace. */
#include "site_print.h"

#include "trace/gaps.h"

static void put_string(struct hs_json *json, const char *key, const char *text)
{
    hs_json_string(json, key, text[0] != 0 ? text : NULL);
}

void hs_frame_json(struct hs_json *json, const char *key, const struct hs_frame *frame)
{
    hs_json_begin_object(json, key, HS_JSON_LINE);
    put_string(json, "function", frame->function);
    put_string(json, "file", frame->file);
    if (frame->line != 0)
        hs_json_u64(json, "line", frame->line);
    else
        hs_json_null(json, "line");
    put_string(json, "module", frame->module);
    if (frame->offset != 0)
        hs_json_address(json, "offset", frame->offset);
    else
        hs_json_null(json, "offset");
    hs_json_end_object(json);
}

void hs_frames_json(struct hs_json *json, const char *key, const struct hs_frame *frames, size_t n)
{
    hs_json_begin_array(json, key, HS_JSON_LINE);
    for (size_t i = 0; i < n; i++)
        hs_frame_json(json, NULL, &frames[i]);
    hs_json_end_array(json);
}

hs_status hs_sample_join_site_json(struct hs_json *json, const char *key,
                                   struct hs_sample_join *join, uint32_t site, struct hs_error *err)
{
    const struct hs_frame *frames;
    size_t n;
    if (site == HS_NO_SITE) {
        hs_json_null(json, key);
        return HS_OK;
    }
    HS_TRY(hs_sample_join_frames(join, site, &frames, &n, err));
    hs_frames_json(json, key, frames, n);
    return HS_OK;
}

/* ---- talk */

static void hint_at_traces(struct hs_tool *tool, const struct hs_sample_join *join)
{
    const struct hs_view *view = join->view;
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        const struct hs_sample *sample = hs_snap_sample(view->snap, i);
        const char *trace = hs_view_string(view, hs_sample_join_sampler(join, sample)->trace);
        if (join->sites[i] != HS_NO_SITE || trace[0] == 0)
            continue;
        hs_tool_hint(tool, "where they were allocated is in the trace: --trace %.300s", trace);
        return;
    }
}

void hs_sample_join_talk(struct hs_tool *tool, const struct hs_sample_join *join)
{
    if (!hs_sample_join_has_trace(join)) {
        hint_at_traces(tool, join);
        return;
    }
    if (join->traced_sampler == UINT32_MAX) {
        hs_talk("the snapshot has no sampler that writes traces: nothing was joined");
        return;
    }
    hs_trace_tell_gaps(join->path, join->trace.trace);
    const uint64_t *n = join->n_in_case;
    hs_talk("%lu samples are in process and trace, %lu only in the process (not flushed yet), %lu "
            "only in the trace (their collection was not flushed)",
            (unsigned long)n[HS_SAMPLE_JOIN_BOTH], (unsigned long)n[HS_SAMPLE_JOIN_UNFLUSHED],
            (unsigned long)join->n_gone);
    if (n[HS_SAMPLE_JOIN_LOST] != 0)
        hs_talk("%lu samples are missing in the trace, which goes on behind them",
                (unsigned long)n[HS_SAMPLE_JOIN_LOST]);
    if (n[HS_SAMPLE_JOIN_MISMATCH] != 0)
        hs_talk("%lu samples differ in process and trace: their backtraces are left out",
                (unsigned long)n[HS_SAMPLE_JOIN_MISMATCH]);
}
