/* info's figures of who keeps what, where an index is kept: how much has an owner, and how much
 * hangs on doubt. */
#ifndef HS_LOOK_INFO_OWNERS_H
#define HS_LOOK_INFO_OWNERS_H

#include "analysis/attribution.h"
#include "analysis/doubt_holder.h"
#include "tool.h"

struct hs_info_owners {
    bool is_known; /* there is an index */
    enum hs_policy_kind policy;
    struct hs_attribution attribution;
    uint64_t tier_words[HS_N_TIERS];
    struct hs_doubt_holder holder; /* where much hangs on doubt */
    const char *holder_type;
    uint64_t n_doubtful_edges; /* HS_UNKNOWN before version 3 */
};

hs_status hs_info_owners_find(struct hs_view *view, struct hs_info_owners *ret,
                              struct hs_error *err);
/* For a table. */
hs_status hs_info_owners_print(struct hs_tool *tool, const struct hs_info_owners *owners,
                               struct hs_error *err);
/* Members of JSON, null where nothing is known; `pairs` has HS_INFO_OWNER_PAIRS. */
#define HS_INFO_OWNER_PAIRS 9
void hs_info_owners_json(const struct hs_info_owners *owners, struct hs_pair *pairs);

#endif
