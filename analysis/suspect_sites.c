/* Where what owners retain and what is lost was allocated. */
#include "analysis/sample_groups.h"
#include "base/alloc.h"
#include "suspect_finds.h"

static double weight_of(const struct hs_sample_join *join, const struct hs_sample_group *group)
{
    return join->is_weighted ? group->estimate.words : (double)group->estimate.n_samples;
}

static bool is_of(const struct hs_sample_group *group, const struct hs_suspect *suspect)
{
    if (suspect->list == HS_SUSPECT_OWNER)
        return group->keeper == HS_KEEPER_ROOT && group->root == suspect->roots[0];
    return suspect->list == HS_SUSPECT_LOST && group->keeper == HS_KEEPER_UNREACHED &&
           group->type == suspect->type;
}

/* The place that stands for most of what is sampled of the suspect. Of lost blocks those of the
 * suspect's type. */
static hs_status find_site(const struct hs_sample_join *join, const struct hs_sample_groups *groups,
                           struct hs_suspect *suspect, struct hs_error *err)
{
    double all = 0, most = 0;
    hs_str place = 0;
    for (size_t i = 0; i < groups->n; i++) {
        const struct hs_sample_group *group = &groups->groups[i];
        if (!is_of(group, suspect))
            continue;
        double weight = weight_of(join, group);
        all += weight;
        if (group->place != 0 && weight > most) {
            most = weight;
            place = group->place;
        }
    }
    if (place == 0 || !(all > 0))
        return HS_OK;
    suspect->site_percent = (uint64_t)(100 * most / all + 0.5);
    return hs_strdup(hs_sample_join_place_text(join, place), &suspect->site, err);
}

static hs_status find_sites(struct hs_sample_join *join, bool of_lost, struct hs_suspects *found,
                            struct hs_error *err)
{
    struct hs_sample_groups groups = {0};
    const struct hs_sample_query query = {
        .keys = 1U << HS_KEY_SITE | 1U << HS_KEY_ROOT | (of_lost ? 1U << HS_KEY_TYPE : 0),
        .max_rows = UINT64_MAX,
    };
    HS_TRY(hs_sample_groups_find(join, &query, &groups, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < found->n && status == HS_OK; i++)
        if ((found->rows[i].list == HS_SUSPECT_LOST) == of_lost)
            status = find_site(join, &groups, &found->rows[i], err);
    hs_sample_groups_fini(&groups);
    return status;
}

hs_status hs_suspect_find_sites(struct hs_view *view, struct hs_suspects *found,
                                struct hs_error *err)
{
    struct hs_sample_join join;
    bool has_lost = false;
    if (view->totals->n_samples == 0 || found->n == 0)
        return HS_OK;
    for (size_t i = 0; i < found->n; i++)
        has_lost |= found->rows[i].list == HS_SUSPECT_LOST;
    HS_TRY(hs_sample_join_open(view, /* path= */ NULL, /* id= */ NULL, &join, err));
    hs_status status = find_sites(&join, /* of_lost= */ false, found, err);
    if (status == HS_OK && has_lost)
        status = find_sites(&join, /* of_lost= */ true, found, err);
    hs_sample_join_close(&join);
    return status;
}
