/* The blocks of a whole heap that retain most, without looking at all of them: what a block retains
 * is no more than its dominator does, so the tree is opened from the top as far as it must be. */
#ifndef HS_QUERY_LARGEST_H
#define HS_QUERY_LARGEST_H

#include "hub.h"

struct hs_sql_largest {
    struct hs_child *found; /* owned: descending retained words, then ascending node */
    size_t n;
    struct hs_budget *budget;
    uint64_t reserved_bytes;
};

/* Finds `most` blocks, or all where there are fewer; those that no root reaches come last. O(n_tree
 * + the children of what is found); 48 bytes each of `most`, of the budget. */
hs_status hs_sql_largest_find(struct hs_sql_source *source, uint64_t most,
                              struct hs_sql_largest *ret, struct hs_error *err);
void hs_sql_largest_fini(struct hs_sql_largest *largest);

#endif
