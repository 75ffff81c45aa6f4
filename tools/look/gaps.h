/* The gaps of a trace, said on standard error. */
#ifndef HS_LOOK_GAPS_H
#define HS_LOOK_GAPS_H

#include "trace/trace.h"

/* Prints one line for each kind of gap that there is, after the last event. */
void hs_trace_tell_gaps(const char *path, const struct hs_trace *trace);

#endif
