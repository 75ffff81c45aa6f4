/* Roots that are alike, as one: 3,489 values that C registered, tasks that wait at one line, the
 * elements of an array of pointers. Alike are those of one kind whose names differ in an index or
 * an address at most; variables besides in one unit. */
#ifndef HS_ANALYSIS_ROOT_FOLDS_H
#define HS_ANALYSIS_ROOT_FOLDS_H

#include "analysis/view.h"
#include "base/table.h"

#define HS_FOLD_LEAST_ROOTS 8      /* fewer can be looked at one by one */
#define HS_FOLD_LEAST_THREADS 2    /* of one thread-local variable */
#define HS_FOLD_LARGEST_PERCENT 70 /* one that has more is the answer, not all of them */
#define HS_FOLD_NAME_BYTES 512

struct hs_root_fold {
    hs_node first;
    uint64_t n_roots;
    struct hs_sizes retained; /* the sum of what each retains */
    uint64_t largest_words;
    uint64_t begin; /* of its roots in hs_root_folds.nodes; UINT64_MAX: it is none */
};

struct hs_root_folds {
    struct hs_root_fold *folds; /* owned; also those that are none */
    size_t n, capacity;
    hs_node *nodes;    /* owned: the roots of each fold, ascending */
    uint32_t *of_node; /* owned: by node of the root tree; HS_NO_NUMBER: of none */
    struct hs_table by_name;
    struct hs_budget *budget; /* borrowed */
    uint64_t reserved_bytes;
};

/* Finds the folds with at least so many words. Two passes over the root tree, and a hash of each
 * name; resident: 16 bytes per node of it and 56 per fold. */
hs_status hs_root_folds_find(const struct hs_view *view, uint64_t least_words,
                             struct hs_root_folds *ret, struct hs_error *err);
void hs_root_folds_fini(struct hs_root_folds *folds);

/* Returns how many characters at `at`, within a root's name, say where a variable of C is, which
 * changes from run to run: " at 0x5555", the last of the name; 0: none do. */
size_t hs_root_name_address(const char *at);

/* Writes "slots[*].first" for "slots[17].first", and what stands before an address at the end of a
 * name (" at 0x5555"), cut to HS_FOLD_NAME_BYTES. */
void hs_root_fold_name(const char *name, char text[HS_FOLD_NAME_BYTES]);

#endif
