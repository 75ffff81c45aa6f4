/* The part of a process of which a snapshot knows nothing: private memory that no allocator claims,
 * such as the heap of a runtime that is not read. */
#ifndef HS_ANALYSIS_UNREAD_H
#define HS_ANALYSIS_UNREAD_H

#include "analysis/view.h"

struct hs_unread {
    struct hs_unread_sum sum; /* zero: not known */
    unsigned percent;
    const char *runtime; /* the first whose heap is not read, borrowed; "": none is known */
    bool is_worth_saying;
};

/* Computes that from the facts of a snapshot; no index is needed. O(rows of memory). */
void hs_unread_find(const struct hs_view *view, struct hs_unread *ret);

#endif
