/* The ranges of options: "A..B", "A..", "..B" or one value, both ends included.
 *
 *     time    1.5s  200ms  10% (of the run)  peak  end    without unit: seconds
 *     life    the same without peak and end                a lifetime, or an interval
 *     size    24  4k  1.5Mi  2GiB                         bytes
 *     count   100  2.5k  10% (of all)
 *     share   10%                                         nothing else
 *
 * and "never" where it is allowed. Text is what a user wrote: any bytes are read without harm. */
#ifndef HS_STATS_RANGE_H
#define HS_STATS_RANGE_H

#include "base/error.h"

enum hs_stats_range_kind {
    HS_RANGE_TIME,
    HS_RANGE_LIFE,
    HS_RANGE_SIZE,
    HS_RANGE_COUNT,
    HS_RANGE_SHARE,
    HS_N_RANGE_KINDS
};

enum hs_stats_bound_kind {
    HS_BOUND_OPEN,
    HS_BOUND_VALUE,   /* nanoseconds, bytes or a count */
    HS_BOUND_PERCENT, /* value in millionths of a percent */
    HS_BOUND_PEAK,
    HS_BOUND_END
};

#define HS_PERCENT_WHOLE ((uint64_t)100000000)

struct hs_stats_bound {
    enum hs_stats_bound_kind kind;
    uint64_t value;
};

struct hs_stats_range {
    struct hs_stats_bound from, to;
    bool is_never; /* then there are no bounds */
    bool is_point; /* one value was given */
};

/* Parses a range. HS_USAGE with a hint of what may stand there; also when it ends before it
 * begins. */
hs_status hs_stats_range_parse(const char *text, enum hs_stats_range_kind kind, bool takes_never,
                               struct hs_stats_range *ret, struct hs_error *err);

/* A range in numbers: [from, to], UINT64_MAX for no end. */
struct hs_stats_span {
    uint64_t from, to;
};

/* The whole of which percents are taken, and the times of peak and end, in the unit of the range.
 */
struct hs_stats_whole {
    uint64_t whole, peak, end;
};

/* Turns a range into numbers. HS_USAGE when it then ends before it begins. */
hs_status hs_stats_range_resolve(const struct hs_stats_range *range,
                                 const struct hs_stats_whole *whole, struct hs_stats_span *ret,
                                 struct hs_error *err);

static inline bool hs_stats_span_has(const struct hs_stats_span *span, uint64_t value)
{
    return span->from <= value && value <= span->to;
}

#endif
