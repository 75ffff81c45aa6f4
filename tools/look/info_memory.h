/* The part of `info` that is about memory: where it was, what of it no allocator claims, and how to
 * get more names for it. All of it is empty for snapshots that tell nothing of memory. */
#ifndef HS_LOOK_INFO_MEMORY_H
#define HS_LOOK_INFO_MEMORY_H

#include "analysis/view.h"
#include "report/sheet.h"
#include "tool.h"

/* The node above the roots of kind unclaimed; HS_NO_NODE when there are none. */
hs_node hs_unclaimed_node(const struct hs_view *view);

/* The keys resident_bytes, memory and, when the view has an index, unclaimed_words. */
void hs_memory_json(struct hs_json *json, const struct hs_view *view);

/* Lines of a sheet of keys and values; the rows themselves only when they have no table. */
void hs_memory_lines(struct hs_sheet *sheet, const struct hs_view *view, bool with_rows);
/* One for each binary without debug information: where it would be found. */
void hs_memory_hints(struct hs_sheet *sheet, const struct hs_view *view);

/* Owner, state, bytes, resident bytes, blocks; the TOTAL is the process's resident size. */
hs_status hs_memory_table(struct hs_tool *tool, const struct hs_invocation *inv,
                          const struct hs_view *view, struct hs_error *err);

#endif
