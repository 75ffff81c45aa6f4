/* The merged paths of all samples of a site, and by node of the tree what they stand for. */
#ifndef HS_ANALYSIS_SAMPLED_TREE_H
#define HS_ANALYSIS_SAMPLED_TREE_H

#include "analysis/path_tree.h"
#include "analysis/site_paths.h"

struct hs_sampled_tree {
    struct hs_path_tree tree;
    struct hs_path_tree_target *targets; /* owned: by sample */
    struct hs_estimate *estimates;       /* owned: by node, as all below */
    struct hs_path_tree_sums *sums;      /* owned: samples as objects, estimated words */
    uint64_t *errors;                    /* owned: of the estimates */
    uint64_t *examples;                  /* owned: the id of the largest sample at or below it */
    struct hs_path_tree_sums unreached, gone; /* no root reaches them; they are not in the heap */
};

/* Merges the paths. O(samples x length of paths). HS_LIMIT. */
hs_status hs_sampled_tree_find(const struct hs_site_paths *ways, struct hs_sampled_tree *ret,
                               struct hs_error *err);
void hs_sampled_tree_fini(struct hs_sampled_tree *tree);

#endif
