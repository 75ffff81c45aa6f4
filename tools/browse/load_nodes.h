/* Rows of nodes. */
#ifndef HS_BROWSE_LOAD_NODES_H
#define HS_BROWSE_LOAD_NODES_H

#include "model.h"

/* Appends a node with what it retains; `name` may be NULL. */
hs_status hs_browse_add_node(struct hs_browse *browse, struct hs_browse_level *level, hs_node node,
                             const char *name, uint32_t group, struct hs_error *err);
/* Appends a row "[not read]" where such memory counts in every percentage (analysis/unread.h). */
hs_status hs_browse_add_unread(const struct hs_browse *browse, struct hs_browse_level *level,
                               struct hs_error *err);
/* Lists the types of what a key keeps, by its blocks. */
hs_status hs_browse_load_types_of_key(struct hs_browse *browse, struct hs_browse_level *level,
                                      struct hs_error *err);

#endif
