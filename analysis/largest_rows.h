/* The part of the dominator tree that a limited number of rows shows best. */
#ifndef HS_ANALYSIS_LARGEST_ROWS_H
#define HS_ANALYSIS_LARGEST_ROWS_H

#include "analysis/dominator_rows.h"

/* Chooses at most query->max_rows rows, in the order of struct hs_dominator_rows, without their
 * facts: from `from` down always the node that retains most of those whose parent is a row. With
 * is_table, rows and the lines of what hides are as many at most, but two; a single child that is
 * left over is a row in place of that line. */
hs_status hs_largest_rows(struct hs_view *view, hs_node from,
                          const struct hs_dominator_query *query, struct hs_dominator_rows *rows,
                          struct hs_error *err);

#endif
