/* One sample as JSON and as text. */
#include "sample_print.h"

#include "site_print.h"

hs_status hs_sample_put(struct hs_sink *sink, struct hs_sample_join *join,
                        const struct hs_sample *sample, struct hs_error *err)
{
    const struct hs_sampler *sampler = hs_sample_join_sampler(join, sample);
    size_t at = hs_sample_join_at(join, sample);
    const struct hs_traced *traced = hs_sample_join_traced(join, at);
    bool is_known = sampler->period_words > 0, is_traced = traced != NULL && traced->is_allocated;
    struct hs_site_of of = {join, join->sites[at]};
    const struct hs_list site = {.each = hs_site_frames, .context = &of, .is_line = true};
    struct hs_estimate estimate = {0};
    hs_estimate_add(&estimate, sampler, sample);
    return hs_sink_pairs(
        sink,
        HS_PAIRS(
            HS_COUNT("id", sample->id), HS_TEXT("sampler", hs_sampler_kind_name(sampler->kind)),
            HS_TEXT("state", hs_sample_state_name(sample->state)), HS_COUNT("words", sample->words),
            HS_COUNT("n_samples", sample->n_samples),
            HS_COUNT("estimated_words", is_known ? hs_estimate_words(&estimate) : HS_UNKNOWN),
            HS_COUNT("error_words", is_known ? hs_estimate_error_words(&estimate) : HS_UNKNOWN),
            HS_ROWS("site", of.site != HS_NO_SITE ? &site : NULL),
            HS_TEXT("join", hs_sample_join_case_name(join->cases[at])),
            HS_TEXT("trace", hs_sample_join_case_text(join->cases[at])),
            HS_COUNT("allocated_us", is_traced ? traced->allocated_us : HS_UNKNOWN),
            HS_COUNT("collected_us",
                     is_traced && traced->is_collected ? traced->collected_us : HS_UNKNOWN)),
        err);
}

static hs_status print_backtrace(struct hs_tool *tool, struct hs_sample_join *join, uint32_t site,
                                 struct hs_error *err)
{
    const struct hs_frame *frames;
    size_t n;
    char text[HS_FRAME_BYTES];
    HS_TRY(hs_sample_join_frames(join, site, &frames, &n, err));
    for (size_t i = 0; i < n && i < HS_SAMPLE_FRAMES_SHOWN; i++) {
        hs_frame_text(&frames[i], text, sizeof text);
        HS_TRY(hs_print(&tool->out, err, i == 0 ? "  allocated by " : "            < "));
        HS_TRY(hs_tool_print_clean(tool, text, err));
        HS_TRY(hs_print(&tool->out, err, "\n"));
    }
    if (n > HS_SAMPLE_FRAMES_SHOWN)
        HS_TRY(hs_print(&tool->out, err, "            < [%zu more]\n", n - HS_SAMPLE_FRAMES_SHOWN));
    return HS_OK;
}

hs_status hs_sample_lines(struct hs_tool *tool, struct hs_sample_join *join,
                          const struct hs_sample *sample, struct hs_error *err)
{
    const struct hs_sampler *sampler = hs_sample_join_sampler(join, sample);
    size_t at = hs_sample_join_at(join, sample);
    const struct hs_traced *traced = hs_sample_join_traced(join, at);
    struct hs_out *out = &tool->out;
    char size[HS_SIZE_TEXT_BYTES], error[HS_SIZE_TEXT_BYTES];
    unsigned word_bytes = join->view->facts->word_bytes;
    HS_TRY(hs_print(
        out, err, "sample %lu of %s: %s, %s, alive in the process; %s", (unsigned long)sample->id,
        hs_sampler_kind_name(sampler->kind), hs_tool_size(tool, sample->words, word_bytes, size),
        hs_sample_state_name(sample->state), hs_sample_join_case_text(join->cases[at])));
    if (traced != NULL && traced->is_allocated)
        HS_TRY(hs_print(out, err, ", allocated at t = %.6f s", (double)traced->allocated_us / 1e6));
    HS_TRY(hs_print(out, err, "\n"));
    if (sampler->period_words > 0) {
        struct hs_estimate estimate = {0};
        hs_estimate_add(&estimate, sampler, sample);
        HS_TRY(hs_print(out, err, "  stands for %s +- %s (sampled)\n",
                        hs_tool_amount(tool, hs_estimate_words(&estimate), word_bytes, size),
                        hs_tool_size(tool, hs_estimate_error_words(&estimate), word_bytes, error)));
    }
    if (join->sites[at] == HS_NO_SITE)
        return HS_OK;
    return print_backtrace(tool, join, join->sites[at], err);
}
