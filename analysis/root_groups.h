/* What a group of several nodes of the root tree retains although none of them does alone.
 *
 * In the dominator tree such blocks stand below a node above the group: paths lead to them from
 * more than one part of it. The highest ones (`heads`) are looked at together: a head belongs to a
 * group when each of its sources does, where a source belongs to whatever its own head or part
 * belongs to. That is spread from the parts until nothing changes, each head changing twice at
 * most.
 *
 *   part of group 1 -> a -> head <- b <- part of group 1      head is the group's
 *   part of group 1 -> c -> head <- d <- a root               head is nobody's
 *
 * Cost: 28 bytes per head, 4 per edge between them, and the edges into heads, twice; blocks are not
 * read. */
#ifndef HS_ANALYSIS_ROOT_GROUPS_H
#define HS_ANALYSIS_ROOT_GROUPS_H

#include "analysis/root_rows.h"

/* `row_of`, by node of the tree: 1 + the row that the node is a part of, or 0. Adds to the rows'
 * retained sizes what their parts keep together; the sum of the words added is *ret_words. */
hs_status hs_root_groups_complete(const struct hs_view *view, const uint32_t *row_of,
                                  struct hs_root_rows *rows, uint64_t *ret_words,
                                  struct hs_error *err);

#endif
