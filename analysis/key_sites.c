#include "key_sites.h"

#include "analysis/estimate.h"
#include "analysis/sample_join.h"
#include "base/alloc.h"
#include "key_format.h"
#include "key_merge.h"

/* Returns the key of the unreached; 0, the whole heap, when there is none. */
static uint32_t unreached_key(const struct hs_keys *keys)
{
    for (uint32_t i = 1; i < keys->n; i++)
        if (keys->keys[i].form == HS_KEY_UNREACHED)
            return i;
    return 0;
}

static uint64_t whole_words(double words)
{
    const double most = (double)HS_KEPT_FILE_VALUE_MOST / 2;
    if (!(words > 0))
        return 0;
    return words >= most ? (uint64_t)most : (uint64_t)(words + 0.5);
}

static hs_status add_samples(const struct hs_sample_join *join, const struct hs_keys *keys,
                             struct key_merge *merge, struct hs_error *err)
{
    const struct hs_view *view = join->view;
    uint32_t unreached = unreached_key(keys);
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        const struct hs_sample *sample = hs_snap_sample(view->snap, i);
        if (sample->node == HS_NO_NODE || sample->node < view->n_tree)
            continue;
        uint32_t key = keys->of_block[sample->node - view->n_tree];
        double words = hs_sample_words(hs_sample_join_sampler(join, sample), sample, NULL);
        const struct hs_key_row row = {
            .parent = key == HS_NO_KEY ? unreached : key,
            .objects = sample->n_samples < UINT32_MAX ? sample->n_samples : UINT32_MAX,
            .words = whole_words(words),
        };
        hs_str place = hs_sample_join_place(join, join->sites[i]);
        HS_TRY(key_merge_add(merge, hs_sample_join_place_text(join, place), &row, err));
    }
    return HS_OK;
}

hs_status key_sites_add(struct hs_view *view, const struct hs_keys *keys,
                        struct hs_snap_keys *table, struct hs_error *err)
{
    struct key_merge merge = {.table = table, .list = HS_KEY_LIST_SITES};
    struct hs_sample_join join;
    HS_TRY(hs_sample_join_open(view, NULL, NULL, &join, err));
    hs_status status = hs_sample_join_find_places(&join, err);
    if (status == HS_OK)
        status = add_samples(&join, keys, &merge, err);
    key_merge_end(&merge);
    hs_sample_join_close(&join);
    return status;
}
