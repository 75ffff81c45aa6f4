/* The reserve (analysis/reserve.h) under which a suspect's figure is given. */
#include "analysis/block_name.h"
#include "analysis/neighbours.h"
#include "analysis/reason.h"
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

/* Tells whether weak references alone lead to the member on top: nothing of a collector's, so what
 * they keep is memory of an object that has ended (std::make_shared, Rc, Arc). */
static hs_status take_weak(struct hs_view *view, struct hs_suspect *suspect, struct hs_error *err)
{
    enum { MOST_SOURCES = 16 };
    struct hs_links links = {0};
    const char *place;
    bool is_weak = false, is_other = false;
    if (suspect->at.members == 0 || suspect->at.top == HS_NO_NODE ||
        !hs_reserve_is_due(suspect->doubtful_words, suspect->words))
        return HS_OK;
    struct hs_referrers referrers = hs_referrers_of(view, suspect->at.top, MOST_SOURCES);
    hs_status status = hs_referrers_next(&referrers, MOST_SOURCES, &links, err);
    for (size_t i = 0; status == HS_OK && i < links.n; i++) {
        bool is_one = hs_reason_rule(view, links.links[i].reason, &place) == HS_REASON_WEAK_POINTER;
        is_weak |= is_one;
        is_other |= !is_one;
    }
    suspect->is_weakly_held = is_weak && !is_other && referrers.n_more == 0;
    hs_links_fini(&links);
    return status;
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
    HS_TRY(take_weak(view, suspect, err));
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
