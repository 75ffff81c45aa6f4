/* The report of memory that -v prints: the plan before long work, and at the end what memory was
 * really used, as others than our own count have it. */
#ifndef HS_LOOK_MEMORY_REPORT_H
#define HS_LOOK_MEMORY_REPORT_H

#include "snapshot/reader.h"
#include "tool.h"

/* Prints the plan before an index is computed: engine, memory, disk, time. Nothing without -v. */
void hs_tool_talk_plan(const struct hs_tool *tool, const struct hs_snap *snap);

/* Says how much of the limit was taken, with the allocator's own statistics (of jemalloc; others
 * keep none that compare) and the kernel's high-water mark. */
void hs_talk_memory_report(const struct hs_budget *budget);

#endif
