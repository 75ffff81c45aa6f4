/* The reserve (analysis/reserve.h) under which a suspect's figure is given. */
#include "analysis/block_name.h"
#include "analysis/reserve.h"
#include "base/alloc.h"
#include "suspect_finds.h"

static hs_status find_aliases(struct hs_view *view, struct hs_suspects *found,
                              struct hs_name_aliases *aliases, struct hs_error *err)
{
    hs_auto_free struct hs_reserve_roots *groups = NULL;
    HS_TRY(HS_ALLOC(&groups, found->n, err));
    for (size_t i = 0; i < found->n; i++)
        if (found->rows[i].list == HS_SUSPECT_OWNER)
            groups[i] = found->rows[i].all_roots != NULL
                            ? (struct hs_reserve_roots){found->rows[i].all_roots,
                                                        (size_t)found->rows[i].n_roots}
                            : (struct hs_reserve_roots){found->rows[i].roots, 1};
    return hs_name_aliases_find(view, groups, found->n, aliases, err);
}

static hs_status take_aliases(struct hs_view *view, const struct hs_name_aliases *aliases,
                              struct hs_suspect *suspect, struct hs_error *err)
{
    if (!hs_reserve_is_due(aliases->words, suspect->words))
        return HS_OK;
    suspect->reserve = HS_RESERVE_CONVENTION;
    suspect->n_aliases = aliases->n_links;
    return hs_block_name(view, aliases->referrer, &suspect->alias, err);
}

static hs_status find_one(struct hs_view *view, const struct hs_name_aliases *aliases,
                          struct hs_suspect *suspect, struct hs_error *err)
{
    bool is_counted = true;
    if (suspect->list != HS_SUSPECT_OWNER && suspect->list != HS_SUSPECT_JOINT)
        return HS_OK;
    if (suspect->tier == HS_TIER_DOUBTFUL) {
        suspect->reserve = HS_RESERVE_DOUBTFUL;
        return HS_OK;
    }
    if (suspect->list == HS_SUSPECT_OWNER)
        HS_TRY(take_aliases(view, aliases, suspect, err));
    else
        HS_TRY(hs_set_is_counted(view, suspect->set, &is_counted, err));
    if (suspect->list == HS_SUSPECT_OWNER && suspect->reserve == HS_RESERVE_NONE)
        is_counted = !hs_reserve_is_due(suspect->plain_words, suspect->words);
    if (!is_counted)
        suspect->reserve = HS_RESERVE_ALIAS;
    if (suspect->reserve == HS_RESERVE_NONE &&
        (suspect->certainty == HS_CONSERVATIVE ||
         hs_reserve_is_due(suspect->doubtful_words, suspect->words) ||
         hs_reserve_is_untyped(suspect->untyped_words, suspect->words)))
        suspect->reserve = HS_RESERVE_DOUBTFUL;
    return HS_OK;
}

hs_status hs_suspect_find_reserves(struct hs_view *view, struct hs_suspects *found,
                                   struct hs_error *err)
{
    hs_auto_free struct hs_name_aliases *aliases = NULL;
    HS_TRY(HS_ALLOC(&aliases, found->n, err));
    HS_TRY(find_aliases(view, found, aliases, err));
    for (size_t i = 0; i < found->n; i++)
        HS_TRY(find_one(view, &aliases[i], &found->rows[i], err));
    return HS_OK;
}
