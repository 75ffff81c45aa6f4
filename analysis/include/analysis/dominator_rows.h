/* The dominator tree as rows: a node and what it dominates, a few of the largest children of each.
 */
#ifndef HS_ANALYSIS_DOMINATOR_ROWS_H
#define HS_ANALYSIS_DOMINATOR_ROWS_H

#include "analysis/view.h"

struct hs_dominator_row {
    hs_node node, dominator; /* HS_NO_NODE: none */
    struct hs_node_facts facts;
    struct hs_sizes retained;
    uint32_t depth;    /* below the first row */
    uint64_t n_shown;  /* children that are rows */
    uint64_t n_hidden; /* children that are not */
    uint64_t hidden_words;
};

struct hs_dominator_rows {
    struct hs_dominator_row *rows; /* owned: a node, then its children, the largest first */
    size_t n, capacity;
};

struct hs_dominator_query {
    uint64_t max_depth;
    uint64_t max_children; /* of each node */
    uint64_t min_words;    /* retained, of a child */
    uint64_t max_rows;     /* of all; 0: no limit. The rows that retain most, wherever they are */
    /* The rows are for eyes: what hides beside a shown child takes a line, too, of the same limit,
     * and is shown itself where it is a single child. */
    bool is_table;
};

/* Selects the rows. O(children of the nodes that are shown), with a limit of rows times the
 * logarithm of it. HS_FORMAT when the tree goes round in a circle. */
hs_status hs_dominator_rows_select(struct hs_view *view, hs_node from,
                                   const struct hs_dominator_query *query,
                                   struct hs_dominator_rows *ret, struct hs_error *err);
/* The same below an owner set: a first row for the set, called `label` (borrowed), without a node;
 * then its top units, each with its share of the rows. */
hs_status hs_dominator_rows_of_set(struct hs_view *view, uint32_t set, const char *label,
                                   const struct hs_dominator_query *query,
                                   struct hs_dominator_rows *ret, struct hs_error *err);
void hs_dominator_rows_fini(struct hs_dominator_rows *rows);

#endif
