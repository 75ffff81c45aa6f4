/* The owners of the memory, as the last lines of info. */
#ifndef HS_LOOK_INFO_SUSPECTS_H
#define HS_LOOK_INFO_SUSPECTS_H

#include "analysis/view.h"
#include "tool.h"

/* Prints the three largest suspects by their sums, from an index that is kept; where there is none,
 * how to ask. Nothing of a file that is cut. */
hs_status hs_info_suspects(struct hs_tool *tool, struct hs_view *view, struct hs_error *err);

#endif
