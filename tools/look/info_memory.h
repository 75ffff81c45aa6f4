/* The part of `info` that is about memory: where it was, what of it no allocator claims, and how to
 * get more names for it. All of it is empty for snapshots that tell nothing of memory. */
#ifndef HS_LOOK_INFO_MEMORY_H
#define HS_LOOK_INFO_MEMORY_H

#include "analysis/view.h"
#include "report/listing.h"
#include "tool.h"

/* Writes rows of JSON: owner, state, bytes, resident bytes, blocks. The context is the view. */
hs_status hs_memory_rows(void *context, struct hs_sink *sink, struct hs_error *err);

/* A listing of keys and values: its record, and one line. */
extern const struct hs_record hs_info_record;
void hs_info_line(struct hs_sink *sink, const char *key, const char *value);
/* Prints lines of it; the rows themselves only when they have no table. */
void hs_memory_lines(struct hs_sink *sink, const struct hs_view *view, bool with_rows);
/* Prints one hint for each binary without debug information: where it would be found. */
void hs_memory_hints(struct hs_sink *sink, const struct hs_view *view);

/* Prints the rows as a table; the TOTAL is the process's resident size. */
hs_status hs_memory_table(struct hs_tool *tool, const struct hs_invocation *inv,
                          struct hs_view *view, struct hs_error *err);

#endif
