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
    /* The words of it, which every percentage counts beside the heap: 296 bytes are no 14 % of a
     * heap of which most is not read. 0 below one percent of both, and where no runtime is known
     * below HS_UNREAD_LEAST_BYTES: every process has some pages of its own. */
    uint64_t counted_words;
};
#define HS_UNREAD_LEAST_BYTES ((uint64_t)1 << 20)

/* Computes that from the facts of a snapshot; no index is needed. O(rows of memory). */
void hs_unread_find(const struct hs_view *view, struct hs_unread *ret);
/* Returns the words that percentages are of: of the heap, and of the memory that counts beside it;
 * UINT64_MAX where a file's figures have no room. */
uint64_t hs_unread_whole(const struct hs_view *view);

#endif
