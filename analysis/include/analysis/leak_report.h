/* Lost blocks in groups, each with what its first block hangs on and how. */
#ifndef HS_ANALYSIS_LEAK_REPORT_H
#define HS_ANALYSIS_LEAK_REPORT_H

#include "analysis/field_path.h"
#include "analysis/leak_groups.h"

enum { HS_LEAK_WEAK_BYTES = 400 };

struct hs_leak_report {
    struct hs_view *view; /* borrowed */
    struct hs_leak_set set;
    struct hs_leak_groups groups;
    struct hs_node_facts *facts; /* owned: of each group's first block and of its head, in pairs */
    char blind[512];             /* why no leak is certain: "..." was not read; empty: some are */
    struct hs_leak_size_reason {
        uint64_t words;
        char text[512];
    } * of_size; /* owned: why blocks of one size are not certain */
    size_t n_of_size, of_size_capacity;
    char (*weak)[HS_LEAK_WEAK_BYTES]; /* owned: by group, what is said of its weak references, or
                                         "". NULL: none has any */
};

/* Finds the set of lost blocks and its groups (hs_leak_set_find, hs_leak_groups_find); roots that
 * the query suppresses count as holding what they lead to. */
hs_status hs_leak_report_find(struct hs_view *view, const struct hs_leak_query *query,
                              struct hs_leak_report *ret, struct hs_error *err);
void hs_leak_report_fini(struct hs_leak_report *report);

/* Tells whether the heap is a collector's alone: what is lost is garbage then, and no leak. */
bool hs_leak_is_garbage(const struct hs_view *view);

/* Returns the reason for which the blocks of a group count as lost, for a person. */
const char *hs_leak_reason_text(const struct hs_leak_report *report,
                                const struct hs_leak_group *group);
/* The type of a group, and of the head on which the first block of group `at` hangs. Borrowed. */
const char *hs_leak_type_name(const struct hs_leak_report *report,
                              const struct hs_leak_group *group);
const char *hs_leak_head_type(const struct hs_leak_report *report, size_t at);
/* Returns the guess at the type of a group's blocks, or NULL; `text` gets the part of the type's
 * name that is known, cut at n_bytes. */
const char *hs_leak_perhaps(const struct hs_leak_report *report, const struct hs_leak_group *group,
                            char *text, size_t n_bytes);
/* Tells whether a lost block is a head: it hangs on no other one. */
bool hs_leak_is_head(const struct hs_leak_report *report, hs_node node);
/* Finds the path from the head on which the group's first block hangs to that block. On failure
 * `fold` holds what hs_path_fold_fini frees. */
hs_status hs_leak_path(const struct hs_leak_report *report, const struct hs_leak_group *group,
                       struct hs_path_fold *fold, struct hs_error *err);
/* Writes that path of group `at` as source would write it, begun by the type of the head; empty
 * when the block hangs on none, or no type says how. `text` has HS_FIELD_PATH_BYTES. */
hs_status hs_leak_expression(const struct hs_leak_report *report, size_t at, char *text,
                             struct hs_error *err);

#endif
