/* Samples: the sampled allocations that were alive, the one that retains most first. */
#include "samples.h"

static struct hs_row_value estimated(const struct hs_sampler *sampler,
                                     const struct hs_sample *sample)
{
    struct hs_estimate estimate = {0};
    hs_estimate_add(&estimate, sampler, sample);
    return sampler->period_words > 0 ? number(hs_estimate_words(&estimate)) : none;
}

static struct hs_row_value estimated_error(const struct hs_sampler *sampler,
                                           const struct hs_sample *sample)
{
    struct hs_estimate estimate = {0};
    hs_estimate_add(&estimate, sampler, sample);
    return sampler->period_words > 0 ? number(hs_estimate_error_words(&estimate)) : none;
}

static void get_one(struct hs_rows *rows, uint64_t at, unsigned column, struct hs_row_value *ret)
{
    const struct hs_sample_list *list = rows->state;
    const struct hs_sample_join *join = list->join;
    const struct hs_view *view = rows->view;
    const struct hs_sample_row *row = &list->rows->rows[at];
    const struct hs_sample *sample = row->sample;
    const struct hs_sampler *sampler = hs_sample_join_sampler(join, sample);
    bool is_there = sample->node != HS_NO_NODE;
    HS_ROWS_SWITCH(SAMPLES)
}

static hs_status find(struct hs_rows *rows, struct hs_error *err)
{
    struct sample_state *samples = rows->state;
    HS_TRY(hs_sample_state_find(rows, err));
    rows->n = samples->rows.n;
    return HS_OK;
}

HS_ROWS_COLUMNS(SAMPLES);
const struct hs_noun hs_noun_samples = {
    HS_ROWS_NOUN(samples),
    .state_bytes = sizeof(struct sample_state),
    .find = find,
    .fini = hs_sample_state_fini,
};
