/* The number of dominators of a node: the length of the way that up() walks. */
#ifndef HS_QUERY_DEPTHS_H
#define HS_QUERY_DEPTHS_H

#include "hub.h"

#define HS_SQL_NO_DEPTH UINT64_MAX

/* Finds a node's depth. *ret: 0 for the root of all, HS_SQL_NO_DEPTH for what no root reaches. A
 * few ways are climbed; when these together are long, as in a scan over lists, all that is passed
 * is kept: 4 bytes a node of the snapshot, from the budget. Then each node is passed twice in all.
 * HS_LIMIT; HS_FORMAT where the tree goes round in a circle. */
hs_status hs_sql_depth(struct hs_sql_source *source, hs_node node, uint64_t *ret,
                       struct hs_error *err);

#endif
