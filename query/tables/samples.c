/* samples: the sampled allocations that were alive, with their blocks and who retains these; the
 * one that retains most first. */
#include "sample_list.h"
#include "tables.h"
#include "value.h"

enum {
    SAMPLES_SAMPLE,
    SAMPLES_ID,
    SAMPLES_ADDRESS,
    SAMPLES_TYPE,
    SAMPLES_WORDS,
    SAMPLES_N,
    SAMPLES_SAMPLER,
    SAMPLES_ESTIMATED,
    SAMPLES_ERROR,
    SAMPLES_STATE,
    SAMPLES_RETAINED,
    SAMPLES_REACHED,
    SAMPLES_ROOT_ID,
    SAMPLES_ROOT,
    SAMPLES_SITE_ID,
    SAMPLES_SITE
};

static hs_status samples_count(struct hs_sql_source *source, uint64_t *ret, struct hs_error *err)
{
    struct hs_sql_samples *samples;
    HS_TRY(hs_sql_samples_of(source, &samples, err));
    *ret = samples->rows.n;
    return HS_OK;
}

static double samples_estimate(const struct hs_sql_source *source)
{
    return (double)source->view.totals->n_samples;
}

static void put_estimate(struct hs_sql_samples *samples, const struct hs_sample *sample, int column,
                         sqlite3_context *ret)
{
    const struct hs_sampler *sampler = hs_sample_join_sampler(&samples->join, sample);
    struct hs_estimate estimate = {0};
    if (!(sampler->period_words > 0))
        return;
    hs_estimate_add(&estimate, sampler, sample);
    hs_sql_put(ret, column == SAMPLES_ESTIMATED ? hs_estimate_words(&estimate)
                                                : hs_estimate_error_words(&estimate));
}

static hs_status put_texts(struct hs_sql_samples *samples, const struct hs_sample_row *row,
                           int column, sqlite3_context *ret, struct hs_error *err)
{
    const struct hs_view *view = samples->join.view;
    const struct hs_sample *sample = row->sample;
    char place[HS_FRAME_BYTES];
    switch (column) {
    case SAMPLES_TYPE:
        hs_sql_put_name(ret, row->facts.label);
        break;
    case SAMPLES_SAMPLER:
        hs_sql_put_name(ret,
                        hs_sampler_kind_name(hs_sample_join_sampler(&samples->join, sample)->kind));
        break;
    case SAMPLES_STATE:
        hs_sql_put_name(ret, hs_sample_state_name(sample->state));
        break;
    case SAMPLES_ROOT:
        hs_sql_put_name(ret, hs_sample_root_name(view, row));
        break;
    default:
        HS_TRY(hs_sample_join_site_text(&samples->join, samples->join.sites[row->at], place,
                                        sizeof place, err));
        hs_sql_put_text(ret, place);
    }
    return HS_OK;
}

static hs_status samples_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                                struct hs_error *err)
{
    struct hs_sql_samples *samples;
    HS_TRY(hs_sql_samples_of(cursor->source, &samples, err));
    const struct hs_sample_row *row = &samples->rows.rows[cursor->row];
    const struct hs_sample *sample = row->sample;
    uint32_t site = samples->join.sites[row->at];
    bool is_there = sample->node != HS_NO_NODE;
    const uint64_t numbers[] = {
        [SAMPLES_SAMPLE] = sample->id,
        [SAMPLES_ID] = sample->node,
        [SAMPLES_ADDRESS] = is_there ? row->facts.address : HS_NO_NODE,
        [SAMPLES_WORDS] = sample->words,
        [SAMPLES_N] = sample->n_samples,
        [SAMPLES_RETAINED] = is_there ? row->retained_words : HS_NO_NODE,
        [SAMPLES_REACHED] = hs_sample_is_reached(samples->join.view, row),
        [SAMPLES_ROOT_ID] = row->root,
        [SAMPLES_SITE_ID] = site == HS_NO_SITE ? HS_NO_NODE : site,
        [SAMPLES_SITE] = 0,
    };
    switch (column) {
    case SAMPLES_ESTIMATED:
    case SAMPLES_ERROR:
        put_estimate(samples, sample, column, ret);
        return HS_OK;
    case SAMPLES_TYPE:
    case SAMPLES_SAMPLER:
    case SAMPLES_STATE:
    case SAMPLES_ROOT:
    case SAMPLES_SITE:
        return put_texts(samples, row, column, ret, err);
    case SAMPLES_SAMPLE: /* any number is one */
        hs_sql_put(ret, sample->id);
        return HS_OK;
    default:
        hs_sql_put_or(ret, numbers[column], HS_NO_NODE);
        return HS_OK;
    }
}

const struct hs_sql_table hs_sql_table_samples = {
    .name = "samples",
    .columns = "sample INTEGER, id INTEGER, address ADDRESS, type TEXT, words WORDS, "
               "n_samples INTEGER, sampler TEXT, estimated_words WORDS, error_words WORDS, "
               "state TEXT, retained_words WORDS, reached INTEGER, root_id INTEGER, root TEXT, "
               "site_id INTEGER, site TEXT",
    .estimate = samples_estimate,
    .count = samples_count,
    .column = samples_column,
};
