#include "analysis/doubt_holder.h"

#include "base/alloc.h"
#include "graph/edges.h"

/* What hangs on doubt right below a block. */
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
    struct hs_chunk chunk = {0};
    hs_status status = HS_OK;

    for (uint64_t at = 0; at < view->totals->n_chunks && status == HS_OK; at++) {
        status = hs_snap_load_chunk(view->snap, at, HS_COL_TYPES, &chunk, err);
        if (status == HS_OK)
            add_chunk(view, &chunk, words);
        if (status == HS_OK)
            status = hs_progress_tell(view->session.progress, "looking at doubtful blocks", at + 1,
                                      view->totals->n_chunks, err);
    }
    hs_chunk_fini(&chunk);
    return status;
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
