/* The steps of hs_passes_run, each of which fills more of the result. */
#ifndef HS_PASS_STEPS_H
#define HS_PASS_STEPS_H

#include "passes/passes.h"

/* The parts of the result, taken from passes->budget: hs_passes_fini frees them and gives back just
 * this much. Bitmaps are counted with their ranks, made by hs_bitmap_index later. */
hs_status pass_bitmap_init(struct hs_budget *budget, uint64_t n_bits, const char *what,
                           struct hs_bitmap *ret, struct hs_error *err);
void pass_bitmap_fini(struct hs_budget *budget, struct hs_bitmap *map);
/* Allocates n zeroed numbers, for region and sequence. */
hs_status pass_array_init(struct hs_budget *budget, uint64_t n, const char *what, uint32_t **ret,
                          struct hs_error *err);
void pass_array_fini(struct hs_budget *budget, uint32_t **array, uint64_t n);

/* Each step tells input->progress of its own phases and pieces, whatever the sweeps tell besides,
 * and leaves what it has made to hs_passes_fini when it fails. passes->{n_nodes, n_tree, budget}
 * are set before the first. */

/* forest and edges: n_positions, order, depths, max_depth, is_head, n_core, core_edges. */
hs_status pass_forest_run(const struct hs_passes_input *input, struct hs_passes *passes,
                          struct hs_error *err);

/* A question to the forest: the nearest common ancestor of two positions of one region. */
struct pass_query {
    uint64_t low, high; /* positions, low <= high */
    uint32_t core;      /* whose attach[] gets the answer */
};
/* Answers all queries into passes->attach: one sweep over the positions with the way from the head
 * as a stack; the ancestor is the deepest on the way to `high` that is not behind `low`. Reorders
 * the queries. */
hs_status pass_answer_run(struct hs_passes *passes, struct pass_query *queries, uint64_t n,
                          const struct hs_progress *progress, struct hs_error *err);
/* Returns the memory taken beside the queries: the path from the head. */
uint64_t pass_answer_bytes(const struct hs_passes *passes);

/* core: is_reached, region, sequence. */
hs_status pass_core_run(const struct hs_passes_input *input, struct hs_passes *passes,
                        struct hs_error *err);

/* attach: attach. */
hs_status pass_attach_run(const struct hs_passes_input *input, struct hs_passes *passes,
                          struct hs_error *err);

#endif
