/* Objects in groups: by where they were allocated, by whom, or by size; with all that a row tells
 * of its group. Looks at the objects that the filter selected. */
#ifndef HS_STATS_TRACE_ROWS_H
#define HS_STATS_TRACE_ROWS_H

#include "stats/places.h"
#include "stats/trace_estimate.h"

enum hs_rows_by {
    HS_ROWS_BY_SITE,     /* the innermost frame that is not hidden: function, file and line */
    HS_ROWS_BY_FUNCTION, /* inside of it, however deep; rows overlap, recursion counts once */
    HS_ROWS_BY_CALLER,   /* the frame outside of the site */
    HS_ROWS_BY_FILE,     /* of the site */
    HS_ROWS_BY_STACK,    /* all frames that are not hidden */
    HS_ROWS_BY_SIZE,     /* words without the header */
    HS_N_ROWS_BY
};

struct hs_trace_row {
    uint64_t label; /* frame, function, frame, string, number of a path, words */
    struct hs_trace_sum all;
    struct hs_trace_sum live;   /* of these, never freed */
    uint64_t first_us, last_us; /* birth of the first and the last object */
    double freed_us;            /* the lifetimes of what was freed, each times its samples */
    uint64_t median_us; /* half of the words lived at most so long; what was never freed counts as
                           longest: HS_NO_QUANTILE when it is half or more */
};
#define HS_ROWS_NO_LABEL UINT64_MAX /* no backtrace, or all of it is hidden */

struct hs_trace_rows {
    struct hs_stats_memory memory;
    enum hs_rows_by by;
    struct hs_trace_row *rows; /* owned; in order of first use */
    size_t n, capacity;
    struct hs_trace_row total; /* of all objects once; label unused */
    struct hs_key_table paths; /* by stack: parent << 32 | frame; path p > 0 is key p - 1 */
    /* The rows that the objects of a stack are in: rows_of[begin[s]] to rows_of[begin[s + 1]]. */
    uint32_t *begin, *rows_of; /* owned; NULL by size */
    size_t begin_capacity, rows_of_capacity;
    uint32_t *row_of_shape; /* owned; by size */
    size_t shapes_capacity;
};

/* Groups the selected objects and sums them, medians included. HS_LIMIT. On failure `ret` can be
 * freed, too. O(objects x rows they are in), several times. */
hs_status hs_trace_rows_init(struct hs_trace_rows *ret, const struct hs_trace_objects *objects,
                             const struct hs_places *places, enum hs_rows_by by,
                             struct hs_budget *budget, struct hs_error *err);
void hs_trace_rows_fini(struct hs_trace_rows *rows);

/* Finds the rows that an object is in: *ret_n of them, borrowed. */
const uint32_t *hs_trace_rows_of(const struct hs_trace_rows *rows,
                                 const struct hs_trace_object *object, size_t *ret_n);

/* Prints the name of a row: appended. By size: "24 bytes" of words of word_bytes. */
hs_status hs_trace_rows_print(const struct hs_trace_rows *rows, const struct hs_places *places,
                              const struct hs_trace_row *row, uint32_t word_bytes,
                              struct hs_buffer *b, struct hs_error *err);

/* The parts of that name; NULL and 0 for what a row does not have (no file by size, no line by
 * function, ...). Borrowed from `places`. */
struct hs_trace_row_place {
    const char *function, *file;
    uint32_t line;
};
struct hs_trace_row_place hs_trace_rows_place(const struct hs_trace_rows *rows,
                                              const struct hs_places *places,
                                              const struct hs_trace_row *row);

/* Returns the mean lifetime of what was freed, in microseconds; HS_NO_QUANTILE when nothing was. */
uint64_t hs_trace_row_mean_us(const struct hs_trace_row *row);

#endif
