/* The keys of a snapshot (analysis/keys.h), for the tables that list and compare them. */
#ifndef HS_QUERY_KEY_LIST_H
#define HS_QUERY_KEY_LIST_H

#include "analysis/keys.h"
#include "hub.h"

/* Made when it is first asked for; what that costs stands in analysis/keys.h. */
hs_status hs_sql_keys_of(struct hs_sql_source *source, const struct hs_keys **ret,
                         struct hs_error *err);

#endif
