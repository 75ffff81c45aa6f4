/* Summing samples by site, root and type. */
#include "analysis/sample_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

const char *hs_keeper_name(enum hs_keeper keeper)
{
    static const char *const names[] = {"root", "shared", "unreached", "not_in_heap"};
    return names[keeper];
}

enum hs_keeper hs_keeper_of(const struct hs_view *view, const struct hs_sample *sample,
                            hs_node root)
{
    if (sample->node == HS_NO_NODE)
        return HS_KEEPER_NOT_IN_HEAP;
    if (root != HS_NO_NODE)
        return HS_KEEPER_ROOT;
    return hs_index_is_reached(view->index, sample->node) ? HS_KEEPER_SHARED : HS_KEEPER_UNREACHED;
}

const char *hs_keeper_text(const struct hs_view *view, enum hs_keeper keeper, hs_node root)
{
    static const char *const texts[] = {
        [HS_KEEPER_SHARED] = "[shared]",
        [HS_KEEPER_UNREACHED] = "[unreached]",
        [HS_KEEPER_NOT_IN_HEAP] = "[not in the heap]",
    };
    if (keeper != HS_KEEPER_ROOT)
        return texts[keeper];
    return hs_view_string(view, hs_snap_root(view->snap, root)->name);
}

/* One sample, by what it is grouped by. */
struct keyed {
    uint64_t root; /* a node of the tree, or behind these a keeper */
    const struct hs_sample *sample;
    uint32_t place, type, sampler, site;
};

static int compare_groups(const struct keyed *a, const struct keyed *b)
{
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->root != b->root)
        return a->root < b->root ? -1 : 1;
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    return a->sampler < b->sampler ? -1 : a->sampler > b->sampler;
}

static int compare_keyed(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    int order = compare_groups(a, b);
    if (order != 0)
        return order;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    return a->sample < b->sample ? -1 : a->sample > b->sample;
}

struct lookup {
    hs_node *nodes, *roots;
    struct hs_node_facts *facts;
};

static void lookup_fini(struct lookup *lookup)
{
    hs_free(lookup->nodes);
    hs_free(lookup->roots);
    hs_free(lookup->facts);
}

/* Looks up retaining roots and types of all samples, as far as they are asked for. */
static hs_status look_up(struct hs_view *view, unsigned keys, struct lookup *lookup,
                         struct hs_error *err)
{
    size_t n = view->totals->n_samples;
    HS_TRY(HS_ALLOC(&lookup->nodes, n, err));
    for (size_t i = 0; i < n; i++)
        lookup->nodes[i] = hs_snap_sample(view->snap, i)->node;
    if (keys & 1U << HS_KEY_ROOT) {
        HS_TRY(HS_ALLOC(&lookup->roots, n, err));
        HS_TRY(hs_view_retaining_roots(view, lookup->nodes, n, lookup->roots, err));
    }
    if (keys & 1U << HS_KEY_TYPE) {
        HS_TRY(HS_ALLOC(&lookup->facts, n, err));
        HS_TRY(hs_view_facts_of(view, lookup->nodes, n, lookup->facts, err));
    }
    return HS_OK;
}

static struct keyed keyed_of(const struct hs_sample_join *join, unsigned keys,
                             const struct lookup *lookup, size_t at)
{
    const struct hs_view *view = join->view;
    const struct hs_sample *sample = hs_snap_sample(view->snap, at);
    struct keyed keyed = {
        .sample = sample,
        .type = UINT32_MAX,
        .sampler = sample->sampler,
        .site = join->sites[at],
    };
    if (keys & 1U << HS_KEY_SITE)
        keyed.place = hs_sample_join_place(join, keyed.site);
    if (lookup->roots != NULL) {
        enum hs_keeper keeper = hs_keeper_of(view, sample, lookup->roots[at]);
        keyed.root = keeper == HS_KEEPER_ROOT ? lookup->roots[at] : view->n_tree + keeper;
    }
    if (lookup->facts != NULL && sample->node != HS_NO_NODE)
        keyed.type = lookup->facts[at].type;
    return keyed;
}

/* Ends the sum of one backtrace of a group, and keeps it if it stands for most. */
static void close_site(struct hs_sample_group *group, uint32_t site, bool is_weighted,
                       const struct hs_estimate *sum, struct hs_estimate *best)
{
    bool is_more = is_weighted ? sum->words > best->words : sum->n_samples > best->n_samples;
    if (sum->n_blocks == 0)
        return;
    group->n_sites += site != HS_NO_SITE;
    if (is_more) {
        *best = *sum;
        group->site = site;
    }
}

/* The group of keyed[0..n), alike but for their sites, by which they are sorted. */
static struct hs_sample_group sum_group(const struct hs_sample_join *join,
                                        const struct keyed *keyed, size_t n)
{
    struct hs_sample_group group = {
        .place = keyed->place,
        .type = keyed->type,
        .sampler = keyed->sampler,
        .site = HS_NO_SITE,
        .root = HS_NO_NODE,
    };
    if (keyed->root < join->view->n_tree)
        group.root = keyed->root;
    else
        group.keeper = (enum hs_keeper)(keyed->root - join->view->n_tree);
    struct hs_estimate of_site = {0}, best = {0};
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && keyed[i].site != keyed[i - 1].site) {
            close_site(&group, keyed[i - 1].site, join->is_weighted, &of_site, &best);
            of_site = (struct hs_estimate){0};
        }
        hs_estimate_add(&of_site, hs_sample_join_sampler(join, keyed[i].sample), keyed[i].sample);
        hs_estimate_add(&group.estimate, hs_sample_join_sampler(join, keyed[i].sample),
                        keyed[i].sample);
    }
    close_site(&group, keyed[n - 1].site, join->is_weighted, &of_site, &best);
    return group;
}

static hs_status sum_groups(const struct hs_sample_join *join, const struct keyed *keyed, size_t n,
                            struct hs_sample_groups *groups, struct hs_error *err)
{
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && compare_groups(&keyed[begin], &keyed[end]) == 0;)
            end++;
        HS_TRY(HS_GROW(&groups->groups, &groups->capacity, groups->n + 1, err));
        groups->groups[groups->n++] = sum_group(join, keyed + begin, end - begin);
    }
    return HS_OK;
}

static int by_words(const void *left, const void *right)
{
    const struct hs_sample_group *a = left, *b = right;
    if (a->estimate.words != b->estimate.words)
        return a->estimate.words < b->estimate.words ? 1 : -1;
    if (a->estimate.n_samples != b->estimate.n_samples)
        return a->estimate.n_samples < b->estimate.n_samples ? 1 : -1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->root != b->root)
        return a->root < b->root ? -1 : 1;
    if (a->keeper != b->keeper)
        return a->keeper < b->keeper ? -1 : 1;
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    return a->sampler < b->sampler ? -1 : a->sampler > b->sampler;
}

static int by_samples(const void *left, const void *right)
{
    const struct hs_sample_group *a = left, *b = right;
    if (a->estimate.n_samples != b->estimate.n_samples)
        return a->estimate.n_samples < b->estimate.n_samples ? 1 : -1;
    return by_words(left, right);
}

static void sort_and_fold(const struct hs_sample_join *join, const struct hs_sample_query *query,
                          struct hs_sample_groups *groups)
{
    if (groups->n > 1)
        qsort(groups->groups, groups->n, sizeof *groups->groups,
              join->is_weighted ? by_words : by_samples);
    for (size_t i = 0; i < groups->n; i++) {
        const struct hs_estimate *estimate = &groups->groups[i].estimate;
        hs_estimate_join(&groups->total, estimate);
        groups->total_words += hs_estimate_words(estimate);
        bool is_small = join->is_weighted && hs_estimate_words(estimate) < query->min_words;
        if (i < query->max_rows && !is_small)
            continue;
        groups->n_others++;
        hs_estimate_join(&groups->others, estimate);
        groups->others_words += hs_estimate_words(estimate);
    }
    groups->n -= groups->n_others;
}

hs_status hs_sample_groups_find(struct hs_sample_join *join, const struct hs_sample_query *query,
                                struct hs_sample_groups *ret, struct hs_error *err)
{
    const unsigned keys = query->keys;
    size_t n = join->view->totals->n_samples;
    hs_auto_free struct keyed *keyed = NULL;
    struct hs_sample_groups groups = {0};
    struct lookup lookup = {0};
    if (keys & 1U << HS_KEY_SITE)
        HS_TRY(hs_sample_join_find_places(join, err));
    HS_TRY(hs_sample_join_reserve(join, sizeof *keyed + 2 * sizeof(hs_node) + sizeof *lookup.facts,
                                  err));
    HS_TRY(HS_ALLOC(&keyed, n, err));
    hs_status status = look_up(join->view, keys, &lookup, err);
    for (size_t i = 0; i < n && status == HS_OK; i++)
        keyed[i] = keyed_of(join, keys, &lookup, i);
    lookup_fini(&lookup);
    if (status == HS_OK && n > 1)
        qsort(keyed, n, sizeof *keyed, compare_keyed);
    if (status == HS_OK)
        status = sum_groups(join, keyed, n, &groups, err);
    if (status != HS_OK) {
        hs_sample_groups_fini(&groups);
        return status;
    }
    sort_and_fold(join, query, &groups);
    *ret = groups;
    return HS_OK;
}

void hs_sample_groups_fini(struct hs_sample_groups *groups)
{
    hs_free(groups->groups);
    *groups = (struct hs_sample_groups){0};
}
