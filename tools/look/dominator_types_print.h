/* The listing of the dominator tree by types, of `dominators --group-by type`. */
#ifndef HS_LOOK_DOMINATOR_TYPES_PRINT_H
#define HS_LOOK_DOMINATOR_TYPES_PRINT_H

#include "analysis/dominator_rows.h"
#include "analysis/object_lookup.h"
#include "tool.h"

/* Prints the groups below an object, or below an owner set. */
hs_status hs_dominator_types_print(struct hs_tool *tool, const struct hs_invocation *inv,
                                   struct hs_view *view, const struct hs_object_spec *from,
                                   const struct hs_dominator_query *query, struct hs_error *err);

#endif
