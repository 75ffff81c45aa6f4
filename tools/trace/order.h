/* The rows of a trace that are printed, in order. */
#ifndef HS_TRACE_ORDER_H
#define HS_TRACE_ORDER_H

#include "base/buffer.h"
#include "look.h"

/* The orders, as --sort has them. */
enum hs_trace_sort {
    HS_TRACE_BY_WORDS,
    HS_TRACE_BY_ALLOCATIONS,
    HS_TRACE_BY_LIVE,     /* words never freed */
    HS_TRACE_BY_LEAKED,   /* their share of the row */
    HS_TRACE_BY_LIFETIME, /* median; never freed is the longest */
    HS_TRACE_BY_NAME
};

struct hs_trace_order {
    size_t *rows; /* owned: indexes; all that the group filters drop or -n cuts are left out */
    size_t n;
};

/* Orders and cuts rows by --sort, the group filters and -n. Rows that are equal stand by words,
 * then as they first came. */
hs_status hs_trace_order_init(struct hs_trace_order *ret, const struct hs_trace_look *look,
                              const struct hs_trace_rows *rows, const struct hs_invocation *inv,
                              struct hs_error *err);
void hs_trace_order_fini(struct hs_trace_order *order);

/* Sums the rows that are left out. */
void hs_trace_order_others(const struct hs_trace_order *order, const struct hs_trace_rows *rows,
                           struct hs_trace_row *ret);

/* Writes the name of a row, NUL-terminated, in a buffer that is used again. */
hs_status hs_trace_order_name(const struct hs_trace_look *look, const struct hs_trace_rows *rows,
                              const struct hs_trace_row *row, struct hs_buffer *name,
                              struct hs_error *err);

#endif
