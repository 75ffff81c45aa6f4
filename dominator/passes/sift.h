/* Rows of sources, sifted until only cycles are left.
 *
 * A node is *settled* when what is asked of it is known. Sources that are settled are *folded* into
 * their target and leave its row; a node without sources left is settled. What is left is read
 * again, as long as each round leaves out enough of it. Nodes that are no source of anything left
 * (*leaves*: shared strings) are put aside with their rows, to be settled at the end, those put
 * aside last first. What remains are cycles, what lies between two of them, and long ways against
 * the order of the nodes: for these the caller has an engine in memory.
 *
 *   caller's rows -> round 0 -> rows -> round 1 -> rows -> ... -> rows: the caller's engine
 *                                  \-> leaves 1     \-> leaves 2 ... -> settled at last
 *
 * Resident: a quarter of a byte per node, and buffers. */
#ifndef HS_SIFT_H
#define HS_SIFT_H

#include "base/bitmap.h"
#include "base/progress.h"
#include "core_rows.h"

#define SIFT_ROUNDS_MAX 64

/* What settled means to the caller. */
struct sift_rule {
    /* Takes a settled source into account; true when the node is settled by that alone. */
    bool (*fold)(void *context, uint32_t node, uint32_t source);
    /* No more sources: marks the node in is_settled, if it is. */
    hs_status (*settle)(void *context, uint32_t node, struct hs_error *err);
    void *context;
    const struct hs_bitmap *is_settled;
};

struct sift {
    struct sift_rule rule;
    struct hs_budget *budget;
    const struct hs_progress *progress;
    const char *phase;
    struct core_rows rows;
    struct core_rows leaves;
    uint64_t leaves_begin[SIFT_ROUNDS_MAX + 1]; /* by round */
    unsigned n_rounds;
    struct hs_bitmap is_source, is_next_source; /* of what was read and what is written */
    uint32_t node;                              /* whose rows are passing */
    bool has_node, has_kept;
    uint64_t n_seen; /* edges that went through rounds, in all */
};

hs_status sift_init(const struct sift_rule *rule, uint32_t n_nodes, struct hs_budget *budget,
                    const struct hs_progress *progress, struct sift *ret, struct hs_error *err);
void sift_fini(struct sift *sift);

/* Round 0: rows in ascending order of nodes, without the nodes themselves among their sources;
 * works in the row. */
hs_status sift_put(struct sift *sift, struct core_row *row, struct hs_error *err);

/* No more rows come. */
hs_status sift_begin(struct sift *sift, struct hs_error *err);
/* The rounds that are worth it, at least one. Then `rows` is what is left. The caller may settle
 * nodes by other means and come back. */
hs_status sift_run(struct sift *sift, struct hs_error *err);

/* Settles the leaves, by sources that are settled now, at the end. */
hs_status sift_leaves(struct sift *sift, struct hs_error *err);

#endif
