/* The objects that refer to what a name of Python owns by convention. */
#include <stdlib.h>

#include "analysis/neighbours.h"
#include "analysis/reserve.h"
#include "base/alloc.h"
#include "base/bisect.h"

enum { NO_GROUP = UINT16_MAX, MOST_CLIMBED = 1000 };

/* The target of a slot of a root. */
struct target {
    hs_node node;
    uint16_t group;
    bool is_met; /* its words count already */
};

/* A word of `source` leads to a target. */
struct pair {
    hs_node source;
    uint64_t target; /* number of it */
};

struct search {
    struct hs_view *view;
    uint16_t *group_of; /* owned: by node of the root tree */
    struct target *targets;
    size_t n_targets, targets_capacity;
    hs_addr *slots; /* owned: ascending: those of the roots themselves */
    size_t n_slots, slots_capacity;
    struct pair *pairs;
    size_t n_pairs, pairs_capacity;
    struct hs_name_aliases *found; /* borrowed: by group */
};

static void search_fini(struct search *search)
{
    hs_free(search->group_of);
    hs_free(search->targets);
    hs_free(search->slots);
    hs_free(search->pairs);
}

/* ---- what the roots lead to */

static hs_status mark_groups(struct search *search, const struct hs_reserve_roots *groups, size_t n,
                             struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&search->group_of, search->view->n_tree, err));
    for (hs_node node = 0; node < search->view->n_tree; node++)
        search->group_of[node] = NO_GROUP;
    for (size_t i = 0; i < n && i < NO_GROUP; i++)
        for (size_t k = 0; k < groups[i].n; k++)
            search->group_of[groups[i].roots[k]] = (uint16_t)i;
    return HS_OK;
}

static hs_status add_leaf(struct search *search, const struct hs_root *root, uint16_t group,
                          struct hs_error *err)
{
    HS_TRY(HS_GROW(&search->targets, &search->targets_capacity, search->n_targets + 1, err));
    HS_TRY(HS_GROW(&search->slots, &search->slots_capacity, search->n_slots + 1, err));
    search->targets[search->n_targets++] = (struct target){.node = root->target, .group = group};
    search->slots[search->n_slots++] = root->address;
    return HS_OK;
}

static int compare_targets(const void *left, const void *right)
{
    const struct target *a = left, *b = right;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return (int)a->group - (int)b->group;
}

static int compare_addresses(const void *left, const void *right)
{
    hs_addr a = *(const hs_addr *)left, b = *(const hs_addr *)right;
    return (a > b) - (a < b);
}

static hs_status find_targets(struct search *search, struct hs_error *err)
{
    const struct hs_view *view = search->view;
    for (hs_node node = 0; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        hs_node of = hs_view_root_of(view, node);
        bool is_kept = root->level == HS_LEVEL_LEAF && root->target != HS_NO_NODE && !root->weak;
        if (is_kept && root->target >= view->n_tree && of != HS_NO_NODE &&
            search->group_of[of] != NO_GROUP)
            HS_TRY(add_leaf(search, root, search->group_of[of], err));
    }
    size_t n = 0;
    if (search->n_targets > 1)
        qsort(search->targets, search->n_targets, sizeof *search->targets, compare_targets);
    if (search->n_slots > 1)
        qsort(search->slots, search->n_slots, sizeof *search->slots, compare_addresses);
    for (size_t i = 0; i < search->n_targets; i++)
        if (n == 0 || compare_targets(&search->targets[n - 1], &search->targets[i]) != 0)
            search->targets[n++] = search->targets[i];
    search->n_targets = n;
    return HS_OK;
}

/* ---- who refers to it */

static hs_status add_pair(struct search *search, hs_node source, uint64_t target,
                          struct hs_error *err)
{
    if (search->n_pairs == HS_ALIAS_PAIRS)
        return HS_OK;
    HS_TRY(HS_GROW(&search->pairs, &search->pairs_capacity, search->n_pairs + 1, err));
    search->pairs[search->n_pairs++] = (struct pair){source, target};
    return HS_OK;
}

static int compare_pairs(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    return (a->target > b->target) - (a->target < b->target);
}

/* Tells whether it hangs below a root of the group; taken for granted far below. */
static bool hangs_below(const struct search *search, hs_node node, uint16_t group)
{
    const struct hs_view *view = search->view;
    for (unsigned i = 0; i < MOST_CLIMBED && node != HS_NO_NODE; i++) {
        if (node < view->n_tree && search->group_of[node] == group)
            return true;
        node = hs_index_idom(view->index, node);
    }
    return node != HS_NO_NODE;
}

static hs_status find_pairs(struct search *search, struct hs_error *err)
{
    struct hs_view *view = search->view;
    for (size_t i = 0; i < search->n_targets; i++) {
        struct hs_row row = hs_index_predecessors(view->index, search->targets[i].node);
        hs_node source;
        unsigned n_looks = 0, n_others = 0; /* what it owns itself may be thousands of tasks */
        while (n_looks++ < HS_ALIAS_LOOKS && n_others < HS_ALIAS_SOURCES &&
               hs_row_next(&row, &source))
            if (source >= view->n_tree && hs_index_is_reached(view->index, source) &&
                !hangs_below(search, source, search->targets[i].group)) {
                n_others++;
                HS_TRY(add_pair(search, source, i, err));
            }
        HS_TRY(hs_row_check(&row, err));
    }
    if (search->n_pairs > 1)
        qsort(search->pairs, search->n_pairs, sizeof *search->pairs, compare_pairs);
    return HS_OK;
}

static bool is_slot(const struct search *search, hs_addr address)
{
    size_t at = HS_FIRST_NOT(i, (size_t)0, search->n_slots, search->slots[i] < address);
    return at < search->n_slots && search->slots[at] == address;
}

/* Counts the words of the source that lead to the target by a guessed edge, which one to what a
 * name owns is; not those of the names themselves. */
static hs_status count_links(struct search *search, const struct hs_node_facts *source,
                             hs_node target, struct hs_links *links, uint64_t *ret,
                             struct hs_error *err)
{
    struct hs_view *view = search->view;
    links->n = 0;
    HS_TRY(hs_links_between(view, source->node, target, links, err));
    for (size_t i = 0; i < links->n; i++) {
        const struct hs_link *link = &links->links[i];
        hs_addr at = source->address + link->offset_words * view->facts->word_bytes;
        *ret += link->edge_class == HS_EDGE_GUESSED && !is_slot(search, at);
    }
    return HS_OK;
}

/* `n_of_source`: by group, of the source that is looked at. */
static hs_status look_at(struct search *search, const struct hs_node_facts *source,
                         struct target *target, uint64_t *n_of_source, struct hs_links *links,
                         struct hs_error *err)
{
    struct hs_name_aliases *found = &search->found[target->group];
    uint64_t n = 0;
    HS_TRY(count_links(search, source, target->node, links, &n, err));
    if (n == 0 || hangs_below(search, source->node, target->group))
        return HS_OK;
    found->n_links += n;
    if (!target->is_met)
        found->words += hs_index_retained(search->view->index, target->node).words;
    target->is_met = true;
    n_of_source[target->group] += n;
    if (n_of_source[target->group] > found->most) {
        found->most = n_of_source[target->group];
        found->referrer = source->node;
    }
    return HS_OK;
}

static hs_status look_at_all(struct search *search, uint64_t *n_of_source, size_t n_groups,
                             struct hs_links *links, struct hs_error *err)
{
    struct hs_node_facts source = {.node = HS_NO_NODE};
    bool is_object = false;
    for (size_t i = 0; i < search->n_pairs; i++) {
        const struct pair *pair = &search->pairs[i];
        if (pair->source != source.node) {
            HS_TRY(hs_view_facts(search->view, pair->source, &source, err));
            source.node = pair->source;
            is_object = hs_snap_type(search->view->snap, source.type)->form == HS_FORM_PYTHON;
            for (size_t k = 0; k < n_groups; k++)
                n_of_source[k] = 0;
        }
        if (is_object)
            HS_TRY(
                look_at(search, &source, &search->targets[pair->target], n_of_source, links, err));
    }
    return HS_OK;
}

static bool has_python(const struct hs_view *view)
{
    for (uint32_t type = 0; type < view->totals->n_types; type++)
        if (hs_snap_type(view->snap, type)->form == HS_FORM_PYTHON)
            return true;
    return false;
}

static hs_status find(struct search *search, const struct hs_reserve_roots *groups, size_t n,
                      struct hs_error *err)
{
    hs_auto_free uint64_t *n_of_source = NULL;
    struct hs_links links = {0};
    HS_TRY(HS_ALLOC(&n_of_source, n, err));
    HS_TRY(mark_groups(search, groups, n, err));
    HS_TRY(find_targets(search, err));
    HS_TRY(find_pairs(search, err));
    hs_status status = look_at_all(search, n_of_source, n, &links, err);
    hs_links_fini(&links);
    return status;
}

hs_status hs_name_aliases_find(struct hs_view *view, const struct hs_reserve_roots *groups,
                               size_t n, struct hs_name_aliases *ret, struct hs_error *err)
{
    struct search search = {.view = view, .found = ret};
    for (size_t i = 0; i < n; i++)
        ret[i] = (struct hs_name_aliases){.referrer = HS_NO_NODE};
    if (n == 0 || !has_python(view))
        return HS_OK;
    hs_status status = find(&search, groups, n, err);
    search_fini(&search);
    return status;
}
