/* Names for traces that a preloaded library wrote by itself: they have addresses. */
#ifndef HS_TRACE_NAME_PLACES_H
#define HS_TRACE_NAME_PLACES_H

#include "tool.h"

/* Hints at `trace names` when the places of this trace are addresses. Reads its first packets. */
void hs_trace_names_hint(struct hs_tool *tool, const char *path);

#endif
