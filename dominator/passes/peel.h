/* Rows of sources, peeled until only cycles are left: as in a topological sort, what has no source
 * that is still open is taken off, again and again.
 *
 * A node is *resolved* when what is asked of it is known. Sources that are resolved are *folded*
 * into their target and leave its row; a node without sources left is resolved. What is left is
 * read again, as long as each round removes enough of it. Nodes that are no source of anything left
 * (*leaves*: shared strings) are put aside with their rows, to be resolved at the end, those put
 * aside last first. What remains are cycles, what lies between two of them, and long paths against
 * the order of the nodes: for these the caller has an engine in memory.
 *
 *   caller's rows -> round 0 -> rows -> round 1 -> rows -> ... -> rows: the caller's engine
 *                                  \-> leaves 1     \-> leaves 2 ... -> resolved at last
 *
 * Resident: a quarter of a byte per node, and buffers. */
#ifndef HS_PEEL_H
#define HS_PEEL_H

#include "base/bitmap.h"
#include "base/progress.h"
#include "core_rows.h"

#define PEEL_ROUNDS_MAX 64

/* The caller's meaning of resolved. */
struct peel_rule {
    /* Takes a resolved source into account; true when the node is resolved by that alone. */
    bool (*fold)(void *context, uint32_t node, uint32_t source);
    /* Called when a node has no more sources: marks it in is_resolved, if it is. */
    hs_status (*resolve)(void *context, uint32_t node, struct hs_error *err);
    void *context;
    const struct hs_bitmap *is_resolved;
};

struct peel {
    struct peel_rule rule;
    struct hs_budget *budget;
    const struct hs_progress *progress;
    const char *phase;
    struct core_rows rows;
    struct core_rows leaves;
    uint64_t leaves_begin[PEEL_ROUNDS_MAX + 1]; /* by round */
    unsigned n_rounds;
    struct hs_bitmap is_source, is_next_source; /* of what was read and what is written */
    uint32_t node;                              /* whose rows are passing */
    bool has_node, has_kept;
    uint64_t n_seen; /* edges that went through rounds, in all */
};

hs_status peel_init(const struct peel_rule *rule, uint32_t n_nodes, struct hs_budget *budget,
                    const struct hs_progress *progress, struct peel *ret, struct hs_error *err);
void peel_fini(struct peel *peel);

/* Puts a row of round 0: rows in ascending order of nodes, without the nodes themselves among their
 * sources; works in the row. */
hs_status peel_put(struct peel *peel, struct core_row *row, struct hs_error *err);

/* Begins to peel: no more rows come. */
hs_status peel_begin(struct peel *peel, struct hs_error *err);
/* Runs the rounds that are worth it, at least one. Then `rows` is what is left. The caller may
 * resolve nodes by other means and come back. */
hs_status peel_run(struct peel *peel, struct hs_error *err);

/* Resolves the leaves, by sources that are resolved now, at the end. */
hs_status peel_leaves(struct peel *peel, struct hs_error *err);

#endif
