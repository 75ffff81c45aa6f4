/* The estimate of all live words by each sampler. */
#include "sampled_whole_print.h"

#include <stdio.h>

#include "base/alloc.h"

static hs_status print_one(struct hs_tool *tool, const struct hs_sampler *sampler,
                           const struct hs_sampled_whole *whole, unsigned word_bytes,
                           struct hs_error *err)
{
    char size[HS_SIZE_TEXT_BYTES], error[HS_SIZE_TEXT_BYTES];
    const char *kind = hs_sampler_kind_name(sampler->kind);
    bool as_asked = sampler->kind == HS_SAMPLER_RECORD; /* it draws from the bytes asked for */
    if (sampler->period_words > 0)
        HS_TRY(hs_tool_say(
            tool, err, "estimate of all live %s%s: %s +- %s (sampled, %s)",
            tool->terminal.is_terminal ? "memory" : "words", as_asked ? " asked for" : "",
            hs_tool_amount(tool, hs_estimate_words(&whole->estimate), word_bytes, size),
            hs_tool_amount(tool, hs_estimate_error_words(&whole->estimate), word_bytes, error),
            kind));
    else
        HS_TRY(hs_tool_say(tool, err, "%lu samples of %s; its rate is not known: counts, no words",
                           (unsigned long)whole->estimate.n_samples, kind));
    char since[64] = "", lost[48] = "";
    if (whole->since == HS_SINCE_LATER)
        (void)snprintf(since, sizeof since, "; sampled from %.1f s on", whole->later_seconds);
    else if (whole->since == HS_SINCE_UNKNOWN)
        (void)snprintf(since, sizeof since, "; since when is not known");
    if (sampler->n_lost != 0)
        (void)snprintf(lost, sizeof lost, "; %lu samples lost", (unsigned long)sampler->n_lost);
    return hs_tool_say(tool, err, "  heap: %s%s (exact)%s%s",
                       hs_tool_size(tool, whole->exact_words, word_bytes, size),
                       as_asked ? " with what the allocator adds" : "", since, lost);
}

hs_status hs_sampled_wholes_print(struct hs_tool *tool, const struct hs_sample_join *join,
                                  struct hs_error *err)
{
    hs_auto_free struct hs_sampled_whole *wholes = NULL;
    HS_TRY(hs_sampled_wholes(join, &wholes, err));
    for (uint32_t i = 0; i < join->view->facts->n_samplers; i++)
        if (wholes[i].estimate.n_blocks != 0)
            HS_TRY(print_one(tool, &join->samplers[i], &wholes[i], join->view->facts->word_bytes,
                             err));
    return HS_OK;
}

static hs_status put_one(struct hs_sink *sink, const struct hs_sample_join *join, uint32_t at,
                         const struct hs_sampled_whole *whole, struct hs_error *err)
{
    const struct hs_sampler *sampler = &join->samplers[at];
    const struct hs_estimate period = {.words = sampler->period_words};
    bool is_known = sampler->period_words > 0;
    uint64_t words = hs_estimate_words(&whole->estimate);
    uint64_t error_words = hs_estimate_error_words(&whole->estimate);
    uint64_t since_start =
        whole->since == HS_SINCE_UNKNOWN ? HS_UNKNOWN : whole->since == HS_SINCE_START;
    return hs_sink_pairs(
        sink,
        HS_PAIRS(
            HS_TEXT("sampler", hs_sampler_kind_name(sampler->kind)),
            HS_COUNT("period_words", is_known ? hs_estimate_words(&period) : HS_UNKNOWN),
            HS_COUNT("estimated_words", is_known ? words : HS_UNKNOWN),
            HS_COUNT("error_words", is_known ? error_words : HS_UNKNOWN),
            HS_COUNT("exact_words", whole->exact_words), HS_VALUE("since_start", BOOL, since_start),
            HS_COUNT("n_blocks", whole->estimate.n_blocks),
            HS_COUNT("n_samples", whole->estimate.n_samples), HS_COUNT("n_lost", sampler->n_lost),
            HS_TEXT("trace", hs_or_null(hs_view_string(join->view, sampler->trace)))),
        err);
}

hs_status hs_sampled_wholes_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_sample_join *join = context;
    hs_auto_free struct hs_sampled_whole *wholes = NULL;
    HS_TRY(hs_sampled_wholes(join, &wholes, err));
    for (uint32_t i = 0; i < join->view->facts->n_samplers; i++)
        HS_TRY(put_one(sink, join, i, &wholes[i], err));
    return HS_OK;
}
