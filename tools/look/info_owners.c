#include "info_owners.h"

#include <string.h>

#include "set_print.h"

/* Less is not worth a hint. */
enum { MUCH_PERCENT = 2 };

hs_status hs_info_owners_find(struct hs_view *view, struct hs_info_owners *ret,
                              struct hs_error *err)
{
    *ret = (struct hs_info_owners){.n_doubtful_edges = HS_UNKNOWN};
    if (view->totals->n_doubtful_edges != HS_UNKNOWN_DOUBT)
        ret->n_doubtful_edges = view->totals->n_doubtful_edges;
    if (view->index == NULL)
        return HS_OK;
    ret->is_known = true;
    ret->policy = hs_index_policy(view->index);
    hs_attribution_find(view, &ret->attribution);
    HS_TRY(hs_tier_words(view, ret->tier_words, err));
    if (ret->tier_words[HS_TIER_DOUBTFUL] < ret->attribution.reached_words / 100 * MUCH_PERCENT)
        return HS_OK;
    HS_TRY(hs_doubt_holder_find(view, &ret->holder, err));
    ret->holder_type = hs_view_string(view, hs_snap_type(view->snap, ret->holder.type)->name);
    return HS_OK;
}

hs_status hs_info_owners_print(struct hs_tool *tool, const struct hs_info_owners *owners,
                               struct hs_error *err)
{
    const uint64_t *words = owners->tier_words;

    if (!owners->is_known || owners->attribution.reached_words == 0)
        return HS_OK;
    HS_TRY(hs_print(&tool->out, err, "\n"));
    HS_TRY(hs_attribution_print(tool, &owners->attribution, err));
    if (words[HS_TIER_RUNTIME] == 0 && words[HS_TIER_DOUBTFUL] == 0)
        return HS_OK;
    if (owners->holder.words >= owners->attribution.reached_words / 100 * MUCH_PERCENT &&
        owners->holder.words != 0)
        hs_tool_hint(tool,
                     "%lu words hang on words of '%s' alone that its type calls no pointers: if "
                     "they are, ask with --pointers-in '%s'",
                     (unsigned long)owners->holder.words, owners->holder_type, owners->holder_type);
    return hs_tool_say(
        tool, err, "only a runtime's own tables keep %lu words, only doubtful words %lu",
        (unsigned long)words[HS_TIER_RUNTIME], (unsigned long)words[HS_TIER_DOUBTFUL]);
}

void hs_info_owners_json(const struct hs_info_owners *owners, struct hs_pair *pairs)
{
    const struct hs_attribution *a = &owners->attribution;
    bool known = owners->is_known;
    const struct hs_pair members[HS_INFO_OWNER_PAIRS] = {
        HS_COUNT("doubtful_edges", owners->n_doubtful_edges),
        HS_TEXT("policy", known ? hs_policy_name(owners->policy) : NULL),
        HS_COUNT("reached_words", known ? a->reached_words : HS_UNKNOWN),
        HS_COUNT("owned_words", known ? a->owned_words : HS_UNKNOWN),
        HS_COUNT("attributed_words", known ? a->attributed_words : HS_UNKNOWN),
        HS_COUNT("unread_words", known ? a->unread_words : HS_UNKNOWN),
        HS_COUNT("runtime_words", known ? owners->tier_words[HS_TIER_RUNTIME] : HS_UNKNOWN),
        HS_COUNT("doubtful_words", known ? owners->tier_words[HS_TIER_DOUBTFUL] : HS_UNKNOWN),
        HS_PAIRS_END,
    };
    memcpy(pairs, members, sizeof members);
}
