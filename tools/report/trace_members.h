/* The members of a page about an allocation trace. */
#ifndef HS_REPORT_TRACE_MEMBERS_H
#define HS_REPORT_TRACE_MEMBERS_H

#include "tool.h"
#include "viewer/page.h"

/* Tells whether the file begins as a trace does. One that cannot be read is none: whoever opens it
 * says why. */
bool hs_trace_is_one(const char *path);

/* Puts "trace", its allocations in columns (viewer/trace_columns.h), and what `trace info`, `top`
 * and `lifetimes` print of it, into a page, in at most so many packed bytes. */
hs_status hs_trace_members_put(struct hs_tool *tool, const char *path, struct hs_page *page,
                               size_t most_packed, struct hs_error *err);

#endif
