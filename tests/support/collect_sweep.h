/* A sweep collected into compressed rows of 64-bit numbers, every promise of its pieces checked:
 * order, sizes, begins, ascending targets, parts of long rows. */
#ifndef HS_TEST_COLLECT_SWEEP_H
#define HS_TEST_COLLECT_SWEEP_H

#include "graph/sweep.h"

struct hs_collected {
    uint64_t n_nodes, n_edges;
    uint64_t *begin;            /* owned; n_nodes + 1 */
    hs_node *target;            /* owned */
    hs_node base;               /* number of the first node (0 but for made-up sweeps) */
    uint64_t n_pieces, n_parts; /* pieces in all; parts of long rows among them */
    /* ---- */
    size_t capacity;
    uint64_t next;     /* node that comes next */
    uint64_t row_left; /* of a long row */
    uint64_t max_targets;
};

/* Room for nodes [base, base + n_nodes). */
void hs_collected_init(struct hs_collected *collected, hs_node base, uint64_t n_nodes);
void hs_collected_fini(struct hs_collected *collected);
/* Aborts when the pieces are malformed. */
struct hs_piece_sink hs_collected_sink(struct hs_collected *collected);
/* Whether all nodes have come. */
bool hs_collected_is_whole(const struct hs_collected *collected);
/* Whether the rows are those of a graph without its self loops (`reversed`: turned round). */
bool hs_collected_equals(const struct hs_collected *collected, const struct hs_graph *graph,
                         bool reversed);

#endif
