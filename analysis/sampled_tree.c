#include "analysis/sampled_tree.h"

#include "base/alloc.h"

static hs_status find_targets(struct hs_sampled_tree *t, const struct hs_site_paths *ways,
                              struct hs_error *err)
{
    struct hs_view *view = ways->join->view;
    hs_auto_free hs_node *nodes = NULL;
    hs_auto_free struct hs_node_facts *facts = NULL;
    HS_TRY(HS_ALLOC(&nodes, ways->n_samples, err));
    HS_TRY(HS_ALLOC(&facts, ways->n_samples, err));
    HS_TRY(HS_ALLOC(&t->targets, ways->n_samples, err));
    for (size_t i = 0; i < ways->n_samples; i++)
        nodes[i] = ways->samples[i]->node;
    HS_TRY(hs_view_facts_of(view, nodes, ways->n_samples, facts, err));
    for (size_t i = 0; i < ways->n_samples; i++) {
        bool is_untyped = nodes[i] != HS_NO_NODE &&
                          hs_snap_type(view->snap, facts[i].type)->form == HS_FORM_BYTES;
        t->targets[i] = (struct hs_path_tree_target){
            .node = nodes[i],
            .words = ways->samples[i]->words,
            .objects = 1,
            .type = is_untyped ? HS_PATH_TREE_UNTYPED : facts[i].type,
        };
    }
    return HS_OK;
}

/* The largest sample below each node. */
static void choose_example(struct hs_sampled_tree *t, uint64_t *words, uint32_t node,
                           uint64_t n_words, uint64_t id)
{
    if (t->sums[node].objects != 0 && words[node] >= n_words)
        return;
    words[node] = n_words;
    t->examples[node] = id;
}

static void sum_closing(const struct hs_estimate *estimate, struct hs_path_tree_sums *ret)
{
    ret->objects = estimate->n_samples;
    ret->words = hs_estimate_words(estimate);
}

static hs_status sum_up(struct hs_sampled_tree *t, const struct hs_site_paths *ways,
                        struct hs_error *err)
{
    const struct hs_path_tree *tree = &t->tree;
    struct hs_estimate unreached = {0}, gone = {0};
    hs_auto_free uint64_t *words = NULL;
    HS_TRY(HS_ALLOC(&words, tree->n, err));
    HS_TRY(HS_ALLOC(&t->estimates, tree->n, err));
    HS_TRY(HS_ALLOC(&t->sums, tree->n, err));
    HS_TRY(HS_ALLOC(&t->errors, tree->n, err));
    HS_TRY(HS_ALLOC(&t->examples, tree->n, err));
    for (size_t i = 0; i < ways->n_samples; i++) {
        const struct hs_sample *sample = ways->samples[i];
        uint32_t end = tree->of_target[i];
        struct hs_estimate *estimate = end != HS_PATH_TREE_NONE     ? &t->estimates[end]
                                       : sample->node == HS_NO_NODE ? &gone
                                                                    : &unreached;
        hs_estimate_add(estimate, hs_sample_join_sampler(ways->join, sample), sample);
        if (end == HS_PATH_TREE_NONE)
            continue;
        choose_example(t, words, end, sample->words, sample->id);
        t->sums[end].objects = 1; /* so that it counts as chosen */
    }
    for (size_t i = tree->n; i-- > 0;) {
        uint32_t parent = tree->nodes[i].parent;
        t->sums[i].objects = t->estimates[i].n_samples;
        t->sums[i].words = hs_estimate_words(&t->estimates[i]);
        t->errors[i] = hs_estimate_error_words(&t->estimates[i]);
        if (parent == HS_PATH_TREE_NONE || t->sums[i].objects == 0)
            continue;
        hs_estimate_join(&t->estimates[parent], &t->estimates[i]);
        choose_example(t, words, parent, words[i], t->examples[i]);
        t->sums[parent].objects = 1;
    }
    sum_closing(&unreached, &t->unreached);
    sum_closing(&gone, &t->gone);
    return HS_OK;
}

static hs_status find(struct hs_sampled_tree *t, const struct hs_site_paths *ways,
                      struct hs_error *err)
{
    HS_TRY(find_targets(t, ways, err));
    HS_TRY(hs_path_tree_make(ways->join->view, t->targets, ways->n_samples, &t->tree, err));
    return sum_up(t, ways, err);
}

hs_status hs_sampled_tree_find(const struct hs_site_paths *ways, struct hs_sampled_tree *ret,
                               struct hs_error *err)
{
    struct hs_sampled_tree t = {0};
    hs_status status = find(&t, ways, err);
    if (status == HS_OK)
        *ret = t;
    else
        hs_sampled_tree_fini(&t);
    return status;
}

void hs_sampled_tree_fini(struct hs_sampled_tree *t)
{
    hs_path_tree_fini(&t->tree);
    hs_free(t->targets);
    hs_free(t->estimates);
    hs_free(t->sums);
    hs_free(t->errors);
    hs_free(t->examples);
}
