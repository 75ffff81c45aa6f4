/* The gaps of a trace, said on standard error. */
#ifndef HS_LOOK_GAPS_H
#define HS_LOOK_GAPS_H

#include "trace/trace.h"

/* After the last event: one line for each kind of gap that there is. */
void hs_trace_tell_gaps(const char *path, const struct hs_trace *trace);

#endif
