/* Sites as JSON; what was joined with a trace. */
#include "site_print.h"

#include "gaps.h"

hs_status hs_frame_put(struct hs_sink *sink, const struct hs_frame *frame, struct hs_error *err)
{
    return hs_sink_pairs(sink,
                         HS_PAIRS(HS_TEXT("function", hs_or_null(frame->function)),
                                  HS_TEXT("file", hs_or_null(frame->file)),
                                  HS_COUNT("line", hs_or_unknown(frame->line)),
                                  HS_TEXT("module", hs_or_null(frame->module)),
                                  HS_VALUE("offset", ADDRESS, hs_or_unknown(frame->offset))),
                         err);
}

hs_status hs_site_frames(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_site_of *of = context;
    const struct hs_frame *frames;
    size_t n;
    HS_TRY(hs_sample_join_frames(of->join, of->site, &frames, &n, err));
    for (size_t i = 0; i < n; i++)
        HS_TRY(hs_frame_put(sink, &frames[i], err));
    return HS_OK;
}

hs_status hs_site_frame(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_site_of *of = context;
    const struct hs_frame *frames;
    size_t n = 0;
    if (of->site != HS_NO_SITE)
        HS_TRY(hs_sample_join_frames(of->join, of->site, &frames, &n, err));
    return n == 0 ? HS_OK : hs_frame_put(sink, &frames[hs_site_frame_at(frames, n)], err);
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
