/* The sampled allocations that were alive, with their blocks and the roots that retain these. */
#ifndef HS_ANALYSIS_SAMPLE_ROWS_H
#define HS_ANALYSIS_SAMPLE_ROWS_H

#include "analysis/view.h"

struct hs_sample_row {
    const struct hs_sample *sample; /* borrowed from the snapshot */
    size_t at;                      /* its number there */
    uint64_t retained_words;        /* of its block; 0 when that is not in the heap */
    struct hs_node_facts facts;     /* of its block */
    hs_node root;                   /* that retains it; HS_NO_NODE: several, or none */
};

struct hs_sample_rows {
    struct hs_sample_row *rows; /* owned: by descending retained words */
    size_t n;
    uint64_t n_others, others_words; /* below the threshold or beyond the limit */
};

/* The samples that a command lists: the `state` of the rows of samples (rows.h). */
struct hs_sample_join;
struct hs_sample_list {
    struct hs_sample_join *join; /* borrowed, as the rows are */
    const struct hs_sample_rows *rows;
};

/* Selects the rows that retain at least `min_words`, at most `max_rows`. O(samples * log samples),
 * each chunk that has one decoded once. */
hs_status hs_sample_rows_select(struct hs_view *view, uint64_t min_words, uint64_t max_rows,
                                struct hs_sample_rows *ret, struct hs_error *err);
void hs_sample_rows_fini(struct hs_sample_rows *rows);

/* The name of the root that retains it; NULL without. Borrowed. */
const char *hs_sample_root_name(const struct hs_view *view, const struct hs_sample_row *row);
/* Tells whether some root reaches the sample's block. */
bool hs_sample_is_reached(const struct hs_view *view, const struct hs_sample_row *row);

#endif
