/* The roots that a listing shows, in order, and the sums that close it:
 *
 *   rows' retained + shared + others + unreached = heap, to the word
 *
 * What is shared is told by sets of roots, or of groups: their sum is `shared_words`.
 *
 * Of a thread or frame that stands in the tree more than once (its stack, its registers, its
 * thread-local variables) there is one row. Its retained size is exact, unless there are more sets
 * of roots than an index tells apart (sets.n_others): then a bound from below. Its reachable size
 * counts what several parts reach more than once: a bound from above. */
#ifndef HS_ANALYSIS_ROOT_ROWS_H
#define HS_ANALYSIS_ROOT_ROWS_H

#include "analysis/root_folds.h"
#include "analysis/set_rows.h"

enum hs_group_by {
    HS_BY_ROOT,
    HS_BY_KIND,
    HS_BY_MODULE,
    HS_BY_UNIT,
    HS_BY_THREAD,
    HS_BY_FRAME
}; /* in the order of the option's choices */

enum hs_root_sort { HS_SORT_RETAINED, HS_SORT_REACHABLE, HS_SORT_NAME };

struct hs_root_query {
    enum hs_group_by group_by;
    enum hs_root_sort sort;
    uint64_t kinds;     /* bit set of enum hs_root_kind */
    uint64_t min_words; /* reachable */
    uint64_t max_rows;
    /* The roots that are one row each fold; borrowed. NULL: every root is a row. By roots alone. */
    const struct hs_root_folds *folds;
};

struct hs_root_row {
    hs_node node;     /* of several parts the first, by kind */
    uint32_t n_parts; /* 0 and 1: one */
    bool is_fold;     /* of n_parts roots that are alike; reachable is not known */
    struct hs_sizes reachable, retained;
};

struct hs_root_rows {
    struct hs_root_row *rows; /* owned */
    size_t n_rows, capacity;
    uint64_t n_others, others_words;
    uint64_t shared_words;
    struct hs_set_rows sets;
};

/* Selects the rows. Weak roots keep nothing and are no rows. O(tree), no block is read. */
hs_status hs_root_rows_select(const struct hs_view *view, const struct hs_root_query *query,
                              struct hs_root_rows *ret, struct hs_error *err);
void hs_root_rows_fini(struct hs_root_rows *rows);

/* The row of one node of the root tree. */
struct hs_root_row hs_root_row_of(const struct hs_view *view, hs_node node);

#endif
