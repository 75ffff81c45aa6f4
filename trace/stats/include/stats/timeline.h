/* The live objects at points in time: all objects, and those that the filter selected. */
#ifndef HS_STATS_TIMELINE_H
#define HS_STATS_TIMELINE_H

#include "stats/trace_estimate.h"

struct hs_timeline_point {
    uint64_t at_us;
    struct hs_trace_sum all, selected; /* alive then */
};

/* Puts n_points points evenly from 0 to the end, and the peak where it belongs: their number.
 * `points` has room for one more. */
size_t hs_timeline_place(const struct hs_trace_counts *counts, uint64_t n_points,
                         struct hs_timeline_point *points);
/* Fills in what was alive at points[i].at_us, which ascend. O(objects x log n). */
void hs_timeline_fill(const struct hs_trace_objects *objects, struct hs_timeline_point *points,
                      size_t n);

#endif
