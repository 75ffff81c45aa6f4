/* The dominator tree by types, as rows: blocks of one type whose dominators are of the same types
 * are one group, so that 200,000 links of a list are one row (group_tree.h, which suspects use).
 *
 *     RETAINED       %  OBJECTS     ID  WHAT
 *      5.0 MiB   91.5%        -     #4  server
 *      3.2 MiB   58.2%    20000   #816    shop::Session at .sessions_
 *    625.0 KiB   11.1%    20000   #931      std::string[] at .basket
 */
#ifndef HS_ANALYSIS_DOMINATOR_TYPES_H
#define HS_ANALYSIS_DOMINATOR_TYPES_H

#include "analysis/dominator_rows.h"

struct hs_dominator_type {
    uint32_t type;   /* HS_UNTYPED: the first row, or blocks of which only the size is known */
    uint32_t parent; /* the row; UINT32_MAX of the first */
    uint32_t depth;
    hs_node top;        /* of its blocks the one that retains most; HS_NO_NODE of a set */
    uint64_t n_blocks;  /* 0: the node of the root tree, or the set, that the rows begin at */
    uint64_t own_words; /* of its blocks */
    uint64_t words;     /* with all that hangs on them */
    uint64_t n_hidden;  /* groups directly below that are not rows */
    uint64_t hidden_words;
    char *place; /* owned: where its largest block hangs; NULL: types say nothing of it */
};

struct hs_dominator_types {
    struct hs_dominator_type *rows; /* owned: a group, then those below it, the largest first */
    size_t n;
};

/* Groups what hangs below a node (HS_NO_NODE: the owner set), and selects the groups that have most
 * words. O(nodes below it); the memory of group_tree.h, of the budget. HS_LIMIT, HS_FORMAT. */
hs_status hs_dominator_types_select(struct hs_view *view, hs_node from, uint32_t set,
                                    const struct hs_dominator_query *query,
                                    struct hs_dominator_types *ret, struct hs_error *err);
void hs_dominator_types_fini(struct hs_dominator_types *types);

#endif
