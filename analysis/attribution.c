#include "analysis/attribution.h"

#include <string.h>

#include "analysis/chunk_pass.h"
#include "analysis/unread.h"
#include "graph/edges.h"

bool hs_root_is_named(const struct hs_view *view, hs_node node)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    const char *name = hs_view_string(view, root->name);

    switch (root->kind) {
    case HS_ROOT_UNCLAIMED:
        return false;
    case HS_ROOT_REGISTER: /* one that a live variable is in */
    case HS_ROOT_STACK:    /* of a precise runtime: a slot that the frame needs */
        return root->tier != HS_TIER_DOUBTFUL && root->function != 0;
    default:
        return !hs_root_is_place(name);
    }
}

static void add_chunk(struct hs_index_in_order *tiers, const struct hs_chunk *chunk,
                      uint64_t *words)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        unsigned tier = hs_index_next(tiers, chunk->first + i);
        if (!(chunk->state[i] & HS_BLOCK_STATIC) && tier < HS_N_TIERS)
            words[tier] += chunk->words[i];
    }
}

hs_status hs_tier_words(const struct hs_view *view, uint64_t words[HS_N_TIERS],
                        struct hs_error *err)
{
    memset(words, 0, HS_N_TIERS * sizeof *words);
    if (!hs_snap_has_tiers(view->snap) || hs_index_policy(view->index) == HS_POLICY_CONSERVATIVE) {
        words[HS_TIER_FIRM] = hs_index_reached_total(view->index).words;
        return HS_OK;
    }
    struct hs_index_in_order tiers = {.index = view->index, .read = hs_index_run_tiers};
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_SIZES, "adding up tiers");
    while (hs_chunk_pass_next(&pass, err))
        add_chunk(&tiers, &pass.chunk, words);
    return hs_chunk_pass_end(&pass);
}

static bool all_named(const struct hs_view *view, uint32_t set)
{
    struct hs_row roots = hs_index_set_roots(view->index, set);
    uint64_t n = 0;

    for (hs_node root; hs_row_next(&roots, &root); n++)
        if (!hs_root_is_named(view, root))
            return false;
    return n != 0;
}

static void add_root(const struct hs_view *view, hs_node node, struct hs_attribution *sum)
{
    uint64_t words = hs_index_retained(view->index, node).words;

    sum->by_1_words += words;
    if (words != 0 && hs_root_is_named(view, node))
        sum->owned_words += words;
}

static void add_set(const struct hs_view *view, uint32_t id, struct hs_attribution *sum)
{
    const struct hs_owner_set set = hs_index_set(view->index, id);
    uint64_t words = set.retained.words;

    if (set.n_roots <= 3)
        sum->by_2_3_words += words;
    else if (set.n_roots <= HS_ATTRIBUTED_ROOTS)
        sum->by_4_8_words += words;
    if (set.n_roots <= HS_ATTRIBUTED_ROOTS && all_named(view, id))
        sum->attributed_words += words;
}

/* Pages that are no heap are no part of the measure, and neither are a few of a heap. */
static uint64_t unread_words(const struct hs_view *view, uint64_t reached_words)
{
    struct hs_unread unread;

    hs_unread_find(view, &unread);
    uint64_t words = unread.sum.unread_bytes / view->facts->word_bytes;
    return words > (reached_words + words) / 100 ? words : 0;
}

static double percent(uint64_t words, const struct hs_attribution *of)
{
    double all = (double)of->reached_words + (double)of->unread_words;

    return all > 0 ? 100.0 * (double)words / all : 0;
}

double hs_owned_percent(const struct hs_attribution *attribution)
{
    return percent(attribution->owned_words, attribution);
}

double hs_attributed_percent(const struct hs_attribution *attribution)
{
    return percent(attribution->attributed_words, attribution);
}

void hs_attribution_find(const struct hs_view *view, struct hs_attribution *ret)
{
    struct hs_attribution sum = {.reached_words = hs_index_reached_total(view->index).words};

    for (hs_node node = 0; node < view->n_tree; node++)
        if (hs_view_root_of(view, node) == node)
            add_root(view, node, &sum);
    sum.attributed_words = sum.owned_words;
    for (uint32_t id = 1; id <= hs_index_n_sets(view->index); id++)
        add_set(view, id, &sum);
    sum.by_more_words = sum.reached_words - sum.by_1_words - sum.by_2_3_words - sum.by_4_8_words;
    sum.unread_words = unread_words(view, sum.reached_words);
    *ret = sum;
}
