#include "analysis/owner_summary.h"

hs_status hs_owner_summary_find(struct hs_view *view, struct hs_owner_summary *ret,
                                struct hs_error *err)
{
    *ret = (struct hs_owner_summary){0};
    if (view->index == NULL)
        return HS_OK;
    ret->is_known = true;
    ret->policy = hs_index_policy(view->index);
    hs_attribution_find(view, &ret->attribution);
    HS_TRY(hs_tier_words(view, ret->tier_words, err));
    if (ret->tier_words[HS_TIER_DOUBTFUL] <
        ret->attribution.reached_words / 100 * HS_MUCH_DOUBT_PERCENT)
        return HS_OK;
    HS_TRY(hs_doubt_holder_find(view, &ret->holder, err));
    ret->holder_type = hs_view_string(view, hs_snap_type(view->snap, ret->holder.type)->name);
    return HS_OK;
}
