/* The sites of what owners retain, what several roots share and what is lost. */
#include <stdlib.h>

#include "analysis/sample_groups.h"
#include "base/alloc.h"
#include "nearest_dominator.h"
#include "suspect_finds.h"

static double weight_of(const struct hs_sample_join *join, const struct hs_sample_group *group)
{
    return join->is_weighted ? group->estimate.words : (double)group->estimate.n_samples;
}

static bool has_root(const struct hs_suspect *suspect, hs_node root)
{
    size_t low = 0, high = suspect->all_roots == NULL ? 0 : (size_t)suspect->n_roots;

    if (high == 0)
        return root == suspect->roots[0];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (suspect->all_roots[middle] < root)
            low = middle + 1;
        else
            high = middle;
    }
    return low < suspect->n_roots && suspect->all_roots[low] == root;
}

static bool is_of(const struct hs_sample_group *group, const struct hs_suspect *suspect)
{
    if (suspect->list == HS_SUSPECT_OWNER)
        return group->keeper == HS_KEEPER_ROOT && has_root(suspect, group->root);
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

/* ---- of owner sets */

/* One sample, by what it is summed by. */
struct shared_sample {
    uint64_t set;
    hs_str place;
    double weight;
};

/* The set of what a node of the root tree and others keep; of a root none. */
static uint64_t set_value(const void *context, hs_node tree_node, hs_node below)
{
    const struct hs_view *view = context;
    (void)tree_node;
    return below == HS_NO_NODE ? HS_NEAREST_NONE : hs_index_set_of(view->index, below);
}

/* Orders samples so that sums are equal whatever the order in which they came. */
static int compare_samples(const void *left, const void *right)
{
    const struct shared_sample *a = left, *b = right;
    if (a->set != b->set)
        return a->set < b->set ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->weight < b->weight ? -1 : a->weight > b->weight;
}

static hs_status look_up_sets(const struct hs_sample_join *join, struct shared_sample *samples,
                              struct hs_error *err)
{
    struct hs_nearest climb;
    hs_status status = HS_OK;
    hs_nearest_init(join->view, set_value, join->view, &climb);
    for (size_t i = 0; i < join->view->totals->n_samples && status == HS_OK; i++) {
        const struct hs_sample *sample = hs_snap_sample(join->view->snap, i);
        const struct hs_sampler *sampler = hs_sample_join_sampler(join, sample);
        samples[i].set = HS_NEAREST_NONE;
        samples[i].place = hs_sample_join_place(join, join->sites[i]);
        samples[i].weight =
            join->is_weighted ? hs_sample_words(sampler, sample, NULL) : (double)sample->n_samples;
        if (sample->node != HS_NO_NODE)
            status = hs_nearest_find(&climb, sample->node, &samples[i].set, err);
    }
    hs_nearest_fini(&climb);
    return status;
}

/* Finds, in the sorted samples[n], the place that stands for most of the set. */
static hs_status take_site(const struct hs_sample_join *join, const struct shared_sample *samples,
                           size_t n, struct hs_suspect *suspect, struct hs_error *err)
{
    double all = 0, most = 0, sum = 0;
    hs_str place = 0;
    for (size_t i = 0; i < n; i++) {
        if (samples[i].set != suspect->set)
            continue;
        bool is_same = i > 0 && samples[i - 1].set == samples[i].set &&
                       samples[i - 1].place == samples[i].place;
        sum = (is_same ? sum : 0) + samples[i].weight;
        all += samples[i].weight;
        if (samples[i].place != 0 && sum > most) {
            most = sum;
            place = samples[i].place;
        }
    }
    if (place == 0 || !(all > 0))
        return HS_OK;
    suspect->site_percent = (uint64_t)(100 * most / all + 0.5);
    return hs_strdup(hs_sample_join_place_text(join, place), &suspect->site, err);
}

static hs_status find_joint_sites(struct hs_sample_join *join, struct hs_suspects *found,
                                  struct hs_error *err)
{
    hs_auto_free struct shared_sample *samples = NULL;
    size_t n = join->view->totals->n_samples;
    HS_TRY(hs_sample_join_reserve(join, sizeof *samples, err));
    HS_TRY(HS_ALLOC(&samples, n, err));
    HS_TRY(look_up_sets(join, samples, err));
    qsort(samples, n, sizeof *samples, compare_samples);
    for (size_t i = 0; i < found->n; i++)
        if (found->rows[i].list == HS_SUSPECT_JOINT)
            HS_TRY(take_site(join, samples, n, &found->rows[i], err));
    return HS_OK;
}

/* ---- */

static bool has_list(const struct hs_suspects *found, enum hs_suspect_list list)
{
    for (size_t i = 0; i < found->n; i++)
        if (found->rows[i].list == list)
            return true;
    return false;
}

hs_status hs_suspect_find_sites(struct hs_view *view, struct hs_suspects *found,
                                struct hs_error *err)
{
    struct hs_sample_join join;
    if (view->totals->n_samples == 0 || found->n == 0)
        return HS_OK;
    HS_TRY(hs_sample_join_open(view, /* path= */ NULL, /* id= */ NULL, &join, err));
    hs_status status = find_sites(&join, /* of_lost= */ false, found, err);
    if (status == HS_OK && has_list(found, HS_SUSPECT_LOST))
        status = find_sites(&join, /* of_lost= */ true, found, err);
    if (status == HS_OK && has_list(found, HS_SUSPECT_JOINT))
        status = find_joint_sites(&join, found, err);
    hs_sample_join_close(&join);
    return status;
}
