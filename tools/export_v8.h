/* export --to v8: a .heapsnapshot for Chrome's DevTools and memlab, out of the snapshot alone. */
#ifndef HS_TOOLS_EXPORT_V8_H
#define HS_TOOLS_EXPORT_V8_H

#include "tool.h"

enum { HS_EXPORT_GRAPH, HS_EXPORT_V8 }; /* in the order of the choices of --to */

/* Streams: one chunk of blocks at a time, the columns are read three times. */
hs_status hs_export_v8(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err);

#endif
