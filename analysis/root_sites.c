/* Samples summed by the root that retains them, and by site. */
#include "analysis/root_sites.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "nearest_dominator.h"

#define NO_ROW UINT32_MAX

/* The row that each node of the tree is, or stands below. */
static hs_status rows_of_tree(const struct hs_view *view, const struct hs_root_rows *rows,
                              uint32_t **ret, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(ret, view->n_tree, err));
    for (hs_node node = 0; node < view->n_tree; node++)
        (*ret)[node] = NO_ROW;
    for (size_t i = 0; i < rows->n_rows; i++)
        (*ret)[rows->rows[i].node] = (uint32_t)i;
    for (hs_node node = 1; node < view->n_tree; node++)
        if ((*ret)[node] == NO_ROW)
            (*ret)[node] = (*ret)[hs_snap_root(view->snap, node)->parent];
    return HS_OK;
}

static uint64_t row_of(const void *context, hs_node tree_node, hs_node below)
{
    const uint32_t *rows = context;
    (void)below;
    return rows[tree_node];
}

struct keyed {
    uint32_t row, place, site;
    const struct hs_sample *sample;
};

static int by_key(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->sample < b->sample ? -1 : a->sample > b->sample;
}

/* The samples that a row retains, as many as there are. */
static hs_status climb_all(struct hs_sample_join *join, const uint32_t *rows, struct keyed *keyed,
                           size_t *ret_n, struct hs_error *err)
{
    const struct hs_view *view = join->view;
    struct hs_nearest climb;
    size_t n = 0;
    hs_nearest_init(view, row_of, rows, &climb);
    hs_status status = HS_OK;
    for (size_t i = 0; i < view->totals->n_samples && status == HS_OK; i++) {
        const struct hs_sample *sample = hs_snap_sample(view->snap, i);
        uint64_t row = NO_ROW;
        if (sample->node != HS_NO_NODE)
            status = hs_nearest_find(&climb, sample->node, &row, err);
        if (row >= NO_ROW)
            continue;
        uint32_t site = join->sites[i];
        keyed[n++] = (struct keyed){(uint32_t)row, hs_sample_join_place(join, site), site, sample};
    }
    hs_nearest_fini(&climb);
    *ret_n = n;
    return status;
}

static int by_words(const void *left, const void *right)
{
    const struct hs_root_site *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->estimate.words != b->estimate.words)
        return a->estimate.words < b->estimate.words ? 1 : -1;
    if (a->estimate.n_samples != b->estimate.n_samples)
        return a->estimate.n_samples < b->estimate.n_samples ? 1 : -1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static hs_status sum(struct hs_sample_join *join, const struct keyed *keyed, size_t n,
                     struct hs_root_sites *sites, struct hs_error *err)
{
    struct hs_root_site *site = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct hs_sampler *sampler = hs_sample_join_sampler(join, keyed[i].sample);
        if (site == NULL || site->row != keyed[i].row || site->place != keyed[i].place) {
            HS_TRY(HS_GROW(&sites->sites, &sites->capacity, sites->n + 1, err));
            site = &sites->sites[sites->n++];
            *site = (struct hs_root_site){
                .row = keyed[i].row, .place = keyed[i].place, .site = keyed[i].site};
        }
        hs_estimate_add(&site->estimate, sampler, keyed[i].sample);
        hs_estimate_add(&sites->totals[keyed[i].row], sampler, keyed[i].sample);
    }
    return HS_OK;
}

static hs_status find(struct hs_sample_join *join, const struct hs_root_rows *rows,
                      struct hs_root_sites *sites, struct hs_error *err)
{
    const struct hs_view *view = join->view;
    hs_auto_free uint32_t *rows_of = NULL;
    hs_auto_free struct keyed *keyed = NULL;
    size_t n;
    HS_TRY(hs_sample_join_find_places(join, err));
    HS_TRY(rows_of_tree(view, rows, &rows_of, err));
    HS_TRY(hs_sample_join_reserve(join, sizeof *keyed, err));
    HS_TRY(HS_ALLOC(&keyed, view->totals->n_samples, err));
    HS_TRY(HS_ALLOC(&sites->begin, rows->n_rows + 1, err));
    HS_TRY(HS_ALLOC(&sites->totals, rows->n_rows, err));
    HS_TRY(climb_all(join, rows_of, keyed, &n, err));
    if (n > 1)
        qsort(keyed, n, sizeof *keyed, by_key);
    HS_TRY(sum(join, keyed, n, sites, err));
    if (sites->n > 1)
        qsort(sites->sites, sites->n, sizeof *sites->sites, by_words);
    for (size_t row = 0, at = 0; row <= rows->n_rows; row++) {
        sites->begin[row] = at;
        while (at < sites->n && sites->sites[at].row == row)
            at++;
    }
    return HS_OK;
}

hs_status hs_root_sites_find(struct hs_sample_join *join, const struct hs_root_query *query,
                             const struct hs_root_rows *rows, struct hs_root_sites *ret,
                             struct hs_error *err)
{
    struct hs_root_sites sites = {0};
    if (query->group_by == HS_BY_THREAD || query->group_by == HS_BY_FRAME) {
        (void)hs_fail(err, HS_USAGE, "--sites cannot be told for whole threads or frames");
        return hs_hint(err, "--group-by root, kind, module or unit has sites");
    }
    if (rows->n_rows >= NO_ROW)
        return hs_fail(err, HS_LIMIT, "%zu roots are too many", rows->n_rows);
    hs_status status = find(join, rows, &sites, err);
    if (status == HS_OK)
        *ret = sites;
    else
        hs_root_sites_fini(&sites);
    return status;
}

void hs_root_sites_fini(struct hs_root_sites *sites)
{
    hs_free(sites->sites);
    hs_free(sites->begin);
    hs_free(sites->totals);
    *sites = (struct hs_root_sites){0};
}
