/* The rows of a comparison in the order in which they are shown. */
#ifndef HS_COMPARE_DIFF_ROWS_H
#define HS_COMPARE_DIFF_ROWS_H

#include "analysis/series.h"

struct hs_diff_rows {
    uint32_t *rows;      /* owned: of the series */
    size_t n, n_garbage; /* the last of these: what a collector will free */
};

/* Lists the rows of one list: first those found to grow, then by score, then by how much they
 * changed; a collector's garbage, which comes and goes, last. Without `all` only rows that changed,
 * and of keys only those whose own blocks did. */
hs_status hs_diff_rows_of(const struct hs_series *series, enum hs_key_list list, bool all,
                          struct hs_diff_rows *ret, struct hs_error *err);
void hs_diff_rows_fini(struct hs_diff_rows *rows);

/* Returns "grew", "shrank", "came", "went", "moved" (and came back) or "same". */
const char *hs_diff_row_state(const struct hs_series *series, uint32_t row);

#endif
