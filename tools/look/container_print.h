/* The listing of containers by type, of `types --group-by container`. */
#ifndef HS_LOOK_CONTAINER_PRINT_H
#define HS_LOOK_CONTAINER_PRINT_H

#include "analysis/view.h"
#include "tool.h"

enum { HS_GROUP_BY_CONTAINER = 3 }; /* among the choices of HS_OPT_TYPE_GROUP_BY */

/* Prints the containers of a view, by what their bodies are. */
hs_status hs_containers_print(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_view *view, struct hs_error *err);

#endif
