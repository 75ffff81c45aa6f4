/* A trace (trace/stats) as JSON in columns, for a page that filters by itself.
 *
 * Its allocations are summed in cells: those of one backtrace and one size that were born between
 * the same two points of time, freed between the same two, and lived as long to a factor of two. So
 * whatever is alive at a point, was born, freed or never freed between two of them, or lived so
 * long, is a sum of whole cells, and has the samples that `heapsnap trace` prints, exactly.
 *
 * What there is no room for stands for itself no longer, and is never lost: allocations of calls
 * that are left out belong to a call "left out" of the nearest caller that is there, at their true
 * site; those of rare sites to none; those of rare sizes to one of all sizes up to twice the least.
 *
 *   {"word_bytes":8,"rate":0.01,"spread":0.99,"is_exact":false,"end_us":9,"peak_us":7,
 *    "n_points":240,"points":[0,..,9],
 *    "left_out":{"call_samples":0,"site_samples":0,"size_samples":0},
 *    "names":[".."],"function_name":[..],"function_file":[..],"function_rank":[..],
 *    "frame_function":[..],"frame_line":[..],
 *    "call_parent":[..],"call_frame":[..],"call_is_cut":[..],
 *    "size_words":[..],"size_most":[..],"size_source":[..],"size_inverse":[..],
 *    "size_inverse_sq":[..],
 *    "cell_call":[..],"cell_size":[..],"cell_born":[..],"cell_died":[..],"cell_life":[..],
 *    "cell_objects":[..],"cell_samples":[..]}
 *
 * A cell's call is written as what it is more than the one before; its call 0 has no backtrace, and
 * call n is row n - 1, whose parent stands before it. A frame of 0 is none, else it is one too
 * many. born is the first point at or after the birth, died after the death (as many as there are
 * points: never), life the bucket of hs_lifetime_bucket, of what was never freed until the end.
 * A size of one number of words has no inverse: that is 1 / (words + header). */
#ifndef HS_VIEWER_TRACE_COLUMNS_H
#define HS_VIEWER_TRACE_COLUMNS_H

#include "base/buffer.h"
#include "stats/places.h"
#include "stats/trace_estimate.h"

struct hs_trace_columns;

/* Borrowed. */
struct hs_trace_columns_of {
    const struct hs_trace_objects *objects;
    const struct hs_places *places; /* ranked */
    const struct hs_trace_scale *scale;
    uint32_t word_bytes;
};

/* The most there is room for: points of time besides the peak (2 to 500), calls, sites, sizes
 * (8000), cells. */
struct hs_trace_columns_room {
    uint64_t n_points;
    size_t n_calls, n_sites, n_sizes, n_cells;
};

/* Makes the columns. O(objects + frames of distinct backtraces). HS_LIMIT. */
hs_status hs_trace_columns_new(const struct hs_trace_columns_of *of, struct hs_budget *budget,
                               struct hs_trace_columns **ret, struct hs_error *err);
/* Takes NULL. */
void hs_trace_columns_free(struct hs_trace_columns *columns);

/* Writes the columns. *ret_fits is false when more cells would be needed; then nothing is written.
 * O(objects), less when it does not fit. */
hs_status hs_trace_columns_write(struct hs_trace_columns *columns,
                                 const struct hs_trace_columns_room *room, struct hs_buffer *buffer,
                                 bool *ret_fits, struct hs_error *err);

#endif
