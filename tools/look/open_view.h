/* Snapshots as the commands open them: under --memory, with progress, and with the plan that -v
 * asks for. */
#ifndef HS_LOOK_OPEN_VIEW_H
#define HS_LOOK_OPEN_VIEW_H

#include "analysis/view.h"
#include "tool.h"

/* Returns the session that a tool lends to the analysis, for work beside the file `path`. Borrowed
 * as the tool is. */
struct hs_session hs_tool_session(struct hs_tool *tool, const char *path);
hs_status hs_tool_open_view(struct hs_tool *tool, const char *path, enum hs_view_needs needs,
                            struct hs_view *ret, struct hs_error *err);
/* Opens a view with its index, which `rebuild` computes anew. */
hs_status hs_tool_open_view_index(struct hs_tool *tool, const char *path, bool rebuild,
                                  struct hs_view *ret, struct hs_error *err);

#endif
