/* The samples of a snapshot with what is known of their sites. */
#include "sample_list.h"

#include "base/alloc.h"
#include "kept.h"

static hs_status make(struct hs_sql_source *source, void *value, struct hs_error *err)
{
    struct hs_sql_samples *samples = value;
    struct hs_view *view = &source->view;
    HS_TRY(hs_sample_join_open(view, /* path= */ NULL, /* id= */ NULL, &samples->join, err));
    HS_TRY(hs_sample_rows_select(view, 0, UINT64_MAX, &samples->rows, err));
    samples->n_sites = hs_snap_n_sites(view->snap);
    HS_TRY(HS_ALLOC(&samples->of_site, samples->n_sites, err));
    for (size_t i = 0; i < samples->rows.n; i++) {
        const struct hs_sample *sample = samples->rows.rows[i].sample;
        if (sample->site < samples->n_sites)
            hs_estimate_add(&samples->of_site[sample->site],
                            hs_sample_join_sampler(&samples->join, sample), sample);
    }
    return HS_OK;
}

static void fini(void *value)
{
    struct hs_sql_samples *samples = value;
    hs_sample_rows_fini(&samples->rows);
    if (samples->join.view != NULL)
        hs_sample_join_close(&samples->join);
    hs_free(samples->of_site);
}

hs_status hs_sql_samples_of(struct hs_sql_source *source, struct hs_sql_samples **ret,
                            struct hs_error *err)
{
    static const struct hs_sql_kept_kind kind = {HS_SQL_KEPT_SAMPLES, sizeof(struct hs_sql_samples),
                                                 make, fini};
    const void *samples;
    HS_TRY(hs_sql_keep(source, &kind, &samples, err));
    *ret = (struct hs_sql_samples *)(uintptr_t)samples;
    return HS_OK;
}
