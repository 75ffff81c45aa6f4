/* The choice of objects that count: clauses that must all hold, of memtrace_viewer's and
 * Bytehound's meaning.
 *
 *     allocated A..B     born then, both ends included
 *     live T | A..B      alive at T, or at some time of the range
 *     collected A..B     freed then; or never
 *     lifetime A..B      of what was freed; what never was has lived until the end and may live
 *                        longer, so it fits when that reaches A and there is no B
 *     size A..B          bytes without the header
 *     areas              where it was allocated
 *     inside P           some frame of its backtrace, hidden or not, matches by function or file
 *     not inside P       none does */
#ifndef HS_STATS_FILTER_H
#define HS_STATS_FILTER_H

#include "stats/places.h"
#include "stats/range.h"
#include "stats/trace_objects.h"

#define HS_FILTER_MAX_PATTERNS 32 /* inside and not inside together */

struct hs_trace_filter {
    bool has_allocated, has_live, has_collected, has_lifetime, has_size;
    struct hs_stats_range allocated, live, collected, lifetime, size;
    unsigned areas;                                    /* 1 << enum hs_trace_source; 0: all */
    const struct hs_name_pattern *inside, *not_inside; /* borrowed */
    size_t n_inside, n_not_inside;
};

static inline bool hs_trace_filter_is_empty(const struct hs_trace_filter *filter)
{
    return !filter->has_allocated && !filter->has_live && !filter->has_collected &&
           !filter->has_lifetime && !filter->has_size && filter->areas == 0 &&
           filter->n_inside + filter->n_not_inside == 0;
}

/* Sets is_selected of every object; *ret_n is how many are. O(objects + nodes of the stacks), 4
 * bytes per node with patterns. HS_USAGE for ranges that end before they begin, HS_LIMIT. */
hs_status hs_trace_filter_apply(const struct hs_trace_filter *filter,
                                struct hs_trace_objects *objects, const struct hs_places *places,
                                uint32_t word_bytes, uint64_t *ret_n, struct hs_error *err);

#endif
