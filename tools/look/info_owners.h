/* info's figures of who keeps what, where an index is kept: how much has an owner, and how much
 * hangs on doubt. */
#ifndef HS_LOOK_INFO_OWNERS_H
#define HS_LOOK_INFO_OWNERS_H

#include "analysis/owner_summary.h"
#include "tool.h"

/* Prints them as a table. */
hs_status hs_info_owners_print(struct hs_tool *tool, const struct hs_owner_summary *owners,
                               unsigned word_bytes, struct hs_error *err);
/* Members of JSON, null where nothing is known; `pairs` has HS_INFO_OWNER_PAIRS. */
#define HS_INFO_OWNER_PAIRS 9
void hs_info_owners_json(const struct hs_view *view, const struct hs_owner_summary *owners,
                         struct hs_pair *pairs);

#endif
