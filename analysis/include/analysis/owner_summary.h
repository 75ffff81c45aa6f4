/* The shares of a heap that have an owner and that only doubtful words keep, from an index that is
 * kept already. */
#ifndef HS_ANALYSIS_OWNER_SUMMARY_H
#define HS_ANALYSIS_OWNER_SUMMARY_H

#include "analysis/attribution.h"
#include "analysis/doubt_holder.h"

/* The percentage of what is reached that must hang on doubt before a hint says so. */
enum { HS_MUCH_DOUBT_PERCENT = 2 };

struct hs_owner_summary {
    bool is_known; /* there is an index */
    enum hs_policy_kind policy;
    struct hs_attribution attribution;
    uint64_t tier_words[HS_N_TIERS];
    struct hs_doubt_holder holder; /* where much hangs on doubt */
    const char *holder_type;
};

hs_status hs_owner_summary_find(struct hs_view *view, struct hs_owner_summary *ret,
                                struct hs_error *err);

#endif
