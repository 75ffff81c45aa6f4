#include "info_owners.h"

#include <string.h>

#include "set_print.h"

hs_status hs_info_owners_print(struct hs_tool *tool, const struct hs_owner_summary *owners,
                               unsigned word_bytes, struct hs_error *err)
{
    const uint64_t *words = owners->tier_words;
    char size[HS_SIZE_TEXT_BYTES], doubtful[HS_SIZE_TEXT_BYTES];

    if (!owners->is_known || owners->attribution.reached_words == 0)
        return HS_OK;
    HS_TRY(hs_print(&tool->out, err, "\n"));
    HS_TRY(hs_attribution_print(tool, &owners->attribution, word_bytes, err));
    if (words[HS_TIER_RUNTIME] == 0 && words[HS_TIER_DOUBTFUL] == 0)
        return HS_OK;
    if (owners->holder.words >= owners->attribution.reached_words / 100 * HS_MUCH_DOUBT_PERCENT &&
        owners->holder.words != 0)
        hs_tool_hint(tool,
                     "%s hang on words of '%s' alone that its type calls no pointers: if "
                     "they are, ask with --pointers-in '%s'",
                     hs_tool_size(tool, owners->holder.words, word_bytes, size),
                     owners->holder_type, owners->holder_type);
    return hs_tool_say(tool, err,
                       "only calls that run, the kernel and tables of runtimes keep %s, only "
                       "doubtful words %s",
                       hs_tool_size(tool, words[HS_TIER_RUNTIME], word_bytes, size),
                       hs_tool_size(tool, words[HS_TIER_DOUBTFUL], word_bytes, doubtful));
}

void hs_info_owners_json(const struct hs_view *view, const struct hs_owner_summary *owners,
                         struct hs_pair *pairs)
{
    uint64_t n_doubtful = view->totals->n_doubtful_edges;
    const struct hs_attribution *a = &owners->attribution;
    bool known = owners->is_known;
    const struct hs_pair members[HS_INFO_OWNER_PAIRS] = {
        HS_COUNT("doubtful_edges", n_doubtful != HS_UNKNOWN_DOUBT ? n_doubtful : HS_UNKNOWN),
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
