#include "analysis/snapshot_figures.h"

uint64_t hs_view_n_roots(const struct hs_view *view)
{
    uint64_t n = 0;
    for (hs_node node = 0; node < view->n_tree; node++)
        n += hs_view_root_of(view, node) == node;
    return n;
}

uint64_t hs_sampler_n_samples(const struct hs_view *view, size_t sampler)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < view->totals->n_samples; i++)
        n += hs_snap_sample(view->snap, i)->sampler == sampler;
    return n;
}

uint64_t hs_sampler_period_bytes(const struct hs_view *view, const struct hs_sampler *sampler)
{
    double bytes = sampler->period_words * view->facts->word_bytes;
    return bytes < 0x1p63 ? (uint64_t)(bytes + 0.5) : 0;
}

static hs_node unclaimed_node(const struct hs_view *view)
{
    for (hs_node node = 1; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (root->level == HS_LEVEL_KIND && root->kind == HS_ROOT_UNCLAIMED)
            return node;
    }
    return HS_NO_NODE;
}

bool hs_unclaimed_words(const struct hs_view *view, uint64_t *ret)
{
    hs_node unclaimed = view->index != NULL ? unclaimed_node(view) : HS_NO_NODE;
    if (unclaimed != HS_NO_NODE)
        *ret = hs_index_retained(view->index, unclaimed).words;
    return unclaimed != HS_NO_NODE;
}
