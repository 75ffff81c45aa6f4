/* Inside of sweep.h: how rows become pieces of bounded size. */
#ifndef HS_SWEEP_PARTS_H
#define HS_SWEEP_PARTS_H

#include "graph/sweep.h"

/* The destination of pieces, with a count of the edges that went there. */
struct hs_sweep_out {
    const struct hs_piece_sink *sink;
    uint64_t n_edges, max_edges;
};

/* Emits the rows of the nodes [first, first + n): in one piece, or in several where they are long.
 * begin[0] == 0; begin[] is changed meanwhile. HS_FORMAT when there are more edges than max_edges.
 */
hs_status hs_sweep_emit(struct hs_sweep_out *out, hs_node first, uint32_t n, uint64_t *begin,
                        const hs_node *target, struct hs_error *err);
/* Emits the next part of a row of `of_row` targets. */
hs_status hs_sweep_emit_part(struct hs_sweep_out *out, hs_node node, uint64_t of_row,
                             const hs_node *target, uint64_t n, struct hs_error *err);

static inline struct hs_edge_choice hs_sweep_choice(const struct hs_snap_sweep *source)
{
    return (struct hs_edge_choice){source->edges, source->tiers, source->pointers_in};
}

/* Emits the rows of the tree. */
hs_status hs_sweep_tree(const struct hs_snap_sweep *source, struct hs_sweep_out *out,
                        struct hs_error *err);
/* Emits the rows of all blocks, the first of which is node n_tree. */
hs_status hs_sweep_chunks(const struct hs_snap_sweep *source, struct hs_sweep_out *out,
                          struct hs_error *err);

#endif
