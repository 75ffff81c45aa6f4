#include "analysis/doubt_holder.h"

#include "analysis/chunk_pass.h"
#include "base/alloc.h"
#include "graph/edges.h"

/* Returns the words that hang on doubt right below a block. */
static uint64_t doubtful_below(const struct hs_view *view, hs_node node)
{
    struct hs_row row = hs_index_dominated(view->index, node);
    uint64_t words = 0;

    for (hs_node below; hs_row_next(&row, &below);)
        if (hs_index_tier(view->index, below) == HS_TIER_DOUBTFUL)
            words += hs_index_retained(view->index, below).words;
    return words;
}

static void add_chunk(const struct hs_view *view, const struct hs_chunk *chunk, uint64_t *words)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++)
        if (hs_index_tier(view->index, chunk->first + i) < HS_TIER_DOUBTFUL)
            words[chunk->type[i]] += doubtful_below(view, chunk->first + i);
}

static hs_status add_all(const struct hs_view *view, uint64_t *words, struct hs_error *err)
{
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_TYPES, "looking at doubtful blocks");
    while (hs_chunk_pass_next(&pass, err))
        add_chunk(view, &pass.chunk, words);
    return hs_chunk_pass_end(&pass);
}

hs_status hs_doubt_holder_find(const struct hs_view *view, struct hs_doubt_holder *ret,
                               struct hs_error *err)
{
    hs_auto_free uint64_t *words = NULL;

    *ret = (struct hs_doubt_holder){0};
    if (!hs_snap_has_tiers(view->snap))
        return HS_OK;
    HS_TRY(HS_ALLOC(&words, view->totals->n_types + 1, err));
    HS_TRY(add_all(view, words, err));
    for (uint32_t i = 0; i < view->totals->n_types; i++)
        if (words[i] > ret->words)
            *ret = (struct hs_doubt_holder){.type = i, .words = words[i]};
    return HS_OK;
}
