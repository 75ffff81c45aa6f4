/* The pieces of the attach pass.
 *
 * Core nodes with the same region[] c are *siblings*. A way from c to one of them, w, leaves the
 * region of c at a *point*, into a sibling, and goes on through siblings and what they dominate. So
 * a source of w lies in c's region itself, and is a point of w, or under a sibling, and makes an
 * edge between siblings. w's immediate dominator is the nearest common ancestor, in the region's
 * tree, of the points of all siblings from which edges between siblings lead to w, its own
 * included; and that is the nearest common ancestor of the first and the last of them in preorder,
 * `low` and `high`. */
#ifndef HS_PASS_ATTACH_H
#define HS_PASS_ATTACH_H

#include "graph/ids.h"
#include "pass_core.h"

/* Questions asked at a time, whatever the budget. */
#define ATTACH_QUERIES_MIN 4096

struct pass_attach_counts {
    uint64_t n_edges;   /* between siblings that went through rounds, each time */
    uint64_t n_climbed; /* steps to siblings */
    uint32_t n_in_graph;
    uint64_t n_in_graph_edges;
    uint64_t n_spread; /* edges followed there */
    uint64_t n_queries;
    uint32_t n_batches;
};

/* passes->attach[] is `low` until it is the answer; no number: no point yet. */
struct attach_work {
    struct hs_passes *passes;
    const struct hs_progress *progress;
    struct core_tree tree; /* of all reached core nodes; for the feed only */
    struct hs_ids high;
    struct hs_bitmap is_resolved; /* low and high are final, or low is the head of the region */
    struct hs_bitmap is_single;   /* by core node: its region is itself alone */
    struct pass_attach_counts counts;
};

/* Makes low and high final for all nodes of the rows, which go round in cycles; closes the rows. */
hs_status attach_spread_run(struct attach_work *work, struct core_rows *rows, struct hs_error *err);

/* Turns low and high into answers. */
hs_status attach_ask_run(struct attach_work *work, struct hs_error *err);

/* Runs pass_attach_run, with its counts. */
hs_status pass_attach_counted(const struct hs_passes_input *input, struct hs_passes *passes,
                              struct pass_attach_counts *ret, struct hs_error *err);

#endif
