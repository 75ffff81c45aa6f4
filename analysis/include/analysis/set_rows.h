/* The memory that several roots, or several groups of roots, keep together: by the exact set of
 * those that reach it (dominator/owner_sets.h). */
#ifndef HS_ANALYSIS_SET_ROWS_H
#define HS_ANALYSIS_SET_ROWS_H

#include "analysis/view.h"

struct hs_set_row {
    uint32_t id; /* of the index; 0 for a set of groups, which has none */
    struct hs_sizes retained;
    uint64_t n_members; /* roots or groups */
    size_t first;       /* of groups: index of the first in hs_set_rows.members */
};

struct hs_set_rows {
    struct hs_set_row *rows; /* owned; descending retained words */
    size_t n, capacity;
    hs_node *members; /* owned: of sets of groups, ascending in each */
    size_t n_members, members_capacity;
    struct hs_sizes others; /* of sets that have no id because there are too many */
    uint64_t n_others;
};

/* The nodes of the root tree that make a group. */
struct hs_set_groups {
    const uint32_t *part_of; /* by tree node: the node at the groups' level, or above; HS_NONE above
                                that level */
    const uint32_t *group_of; /* by such a node: the first part of its group */
    /* Adds memory that roots of several parts of one group keep, which no part retains alone; may
     * be NULL. */
    void (*add)(void *context, hs_node group, const struct hs_sizes *sizes);
    void *context;
};

/* The sets of the index as they are. O(sets). *ret: hs_set_rows_fini. */
hs_status hs_set_rows_all(const struct hs_view *view, struct hs_set_rows *ret,
                          struct hs_error *err);
/* The same by groups: sets whose roots are in the same groups are one. O(roots of all sets + sets *
 * log sets). Sets without a list of roots are counted among the others. */
hs_status hs_set_rows_of_groups(const struct hs_view *view, const struct hs_set_groups *groups,
                                struct hs_set_rows *ret, struct hs_error *err);
void hs_set_rows_fini(struct hs_set_rows *rows);

/* Returns the words of all sets, those without an id included. */
uint64_t hs_set_rows_words(const struct hs_set_rows *rows);

/* The members of a row one by one; false at the end. Zero the walk first. */
struct hs_set_walk {
    struct hs_row roots;
    size_t at;
    bool is_open;
};
bool hs_set_member_next(const struct hs_view *view, const struct hs_set_rows *rows, size_t row,
                        struct hs_set_walk *walk, hs_node *ret);

#endif
