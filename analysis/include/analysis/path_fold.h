/* A path made short: a run of alike steps (same type, left by the same field) is one step with a
 * repeat count, and of a path that is still long the middle is left out. */
#ifndef HS_ANALYSIS_PATH_FOLD_H
#define HS_ANALYSIS_PATH_FOLD_H

#include "analysis/view.h"

#define HS_PATH_FOLD_MAX_STEPS 18    /* with the root's line and the gap's at most 20 lines */
#define HS_PATH_FOLD_KEPT_STEPS 1024 /* until some in the middle are only counted any more */

struct hs_path_step {
    hs_node node;          /* the first of the run; HS_NO_NODE for the gap */
    uint64_t offset_words; /* the field by which the path goes on; HS_NO_OFFSET at the end */
    uint32_t type;
    uint8_t edge_class; /* of that field; HS_N_EDGE_CLASSES at the end */
    uint8_t reason;     /* enum hs_reason: why it is no more than guessed */
    uint8_t tier;       /* enum hs_tier: what the step is worth; HS_TIER_NONE at the end */
    uint64_t repeat;    /* objects of the run; objects left out for the gap */
};

struct hs_path_fold {
    struct hs_path_step *steps; /* owned; HS_PATH_FOLD_MAX_STEPS + 1 at most after finish */
    size_t n_steps, capacity;
    uint64_t n_left_out; /* objects behind the first half of HS_PATH_FOLD_MAX_STEPS that are counted
                            only */
};

/* Adds the next object of the path, root side first. */
hs_status hs_path_fold_add(struct hs_path_fold *fold, const struct hs_path_step *step,
                           struct hs_error *err);

/* Folds a whole path: nodes[n], root side first, the last one its end. Looks at the nodes in their
 * own order, HS_PATH_FOLD_PIECE of them at a time, so a path that jumps about in memory costs a
 * chunk once for each piece and not once per step; 48 bytes per step of a piece meanwhile. On
 * failure `fold` holds what hs_path_fold_fini frees. */
#define HS_PATH_FOLD_PIECE ((size_t)1 << 18)
hs_status hs_path_fold_nodes(struct hs_path_fold *fold, struct hs_view *view, const hs_node *nodes,
                             size_t n, struct hs_error *err);

/* Leaves out the middle when more than HS_PATH_FOLD_MAX_STEPS steps remain. */
void hs_path_fold_finish(struct hs_path_fold *fold);
void hs_path_fold_fini(struct hs_path_fold *fold);

#endif
