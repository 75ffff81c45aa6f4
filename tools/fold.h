/* A path made short: a run of alike steps (same type, left by the same field) is one step with a
 * repeat count, and of a path that is still long the middle is left out. */
#ifndef HS_TOOLS_FOLD_H
#define HS_TOOLS_FOLD_H

#include "view.h"

#define HS_FOLD_MAX_STEPS 18 /* with the root's line and the gap's at most 20 lines */

struct hs_step {
    hs_node node;          /* the first of the run; HS_NO_NODE for the gap */
    uint64_t offset_words; /* the field by which the path goes on; HS_NO_OFFSET at the end */
    uint32_t type;
    uint64_t repeat; /* objects of the run; objects left out for the gap */
};

struct hs_fold {
    struct hs_step *steps; /* owned while adding; HS_FOLD_MAX_STEPS + 1 at most after finish */
    size_t n_steps, capacity;
};

/* The next object of the path, root side first. */
hs_status hs_fold_add(struct hs_fold *fold, const struct hs_step *step, struct hs_error *err);

/* Folds a whole path: nodes[n], root side first, the last one its end. Looks at the nodes in their
 * own order, so a path that jumps about in memory costs a chunk once and not once per step; 36
 * bytes per step meanwhile. On failure `fold` holds what hs_fold_fini frees. */
hs_status hs_fold_path(struct hs_fold *fold, struct hs_view *view, const uint32_t *nodes, size_t n,
                       struct hs_error *err);

/* Leaves out the middle when more than HS_FOLD_MAX_STEPS steps remain. */
void hs_fold_finish(struct hs_fold *fold);
void hs_fold_fini(struct hs_fold *fold);

#endif
