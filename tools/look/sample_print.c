/* One sample as JSON and as text. */
#include "sample_print.h"

#include "site_print.h"

static void put_traced(struct hs_json *json, const struct hs_traced *traced)
{
    bool is_known = traced != NULL && traced->is_allocated;
    if (is_known)
        hs_json_u64(json, "allocated_us", traced->allocated_us);
    else
        hs_json_null(json, "allocated_us");
    if (is_known && traced->is_collected)
        hs_json_u64(json, "collected_us", traced->collected_us);
    else
        hs_json_null(json, "collected_us");
}

hs_status hs_sample_json(struct hs_json *json, const char *key, struct hs_sample_join *join,
                         const struct hs_sample *sample, struct hs_error *err)
{
    const struct hs_sampler *sampler = hs_sample_join_sampler(join, sample);
    size_t at = hs_sample_join_at(join, sample);
    struct hs_estimate estimate = {0};
    hs_estimate_add(&estimate, sampler, sample);
    hs_json_begin_object(json, key, HS_JSON_LINE);
    hs_json_u64(json, "id", sample->id);
    hs_json_string(json, "sampler", hs_sampler_kind_name(sampler->kind));
    hs_json_string(json, "state", hs_sample_state_name(sample->state));
    hs_json_u64(json, "words", sample->words);
    hs_json_u64(json, "n_samples", sample->n_samples);
    if (sampler->period_words > 0) {
        hs_json_u64(json, "estimated_words", hs_estimate_words(&estimate));
        hs_json_u64(json, "error_words", hs_estimate_error_words(&estimate));
    } else {
        hs_json_null(json, "estimated_words");
        hs_json_null(json, "error_words");
    }
    HS_TRY(hs_sample_join_site_json(json, "site", join, join->sites[at], err));
    hs_json_string(json, "join", hs_sample_join_case_name(join->cases[at]));
    hs_json_string(json, "trace", hs_sample_join_case_text(join->cases[at]));
    put_traced(json, hs_sample_join_traced(join, at));
    hs_json_end_object(json);
    return HS_OK;
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
    HS_TRY(hs_print(out, err, "sample %lu of %s: %lu words, %s, alive in the process; %s",
                    (unsigned long)sample->id, hs_sampler_kind_name(sampler->kind),
                    (unsigned long)sample->words, hs_sample_state_name(sample->state),
                    hs_sample_join_case_text(join->cases[at])));
    if (traced != NULL && traced->is_allocated)
        HS_TRY(hs_print(out, err, ", allocated at t = %.6f s", (double)traced->allocated_us / 1e6));
    HS_TRY(hs_print(out, err, "\n"));
    if (sampler->period_words > 0) {
        struct hs_estimate estimate = {0};
        hs_estimate_add(&estimate, sampler, sample);
        HS_TRY(hs_print(out, err, "  stands for %lu +- %lu words (sampled)\n",
                        (unsigned long)hs_estimate_words(&estimate),
                        (unsigned long)hs_estimate_error_words(&estimate)));
    }
    if (join->sites[at] == HS_NO_SITE)
        return HS_OK;
    return print_backtrace(tool, join, join->sites[at], err);
}
