/* Sweeps: over a snapshot, over a graph in memory; and rows as pieces. */
#include "graph/sweep.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "sweep_parts.h"

/* ---- snapshots ---- */

static hs_status snap_run(const void *context, const struct hs_piece_sink *sink,
                          struct hs_error *err)
{
    const struct hs_snap_sweep *source = context;
    struct hs_sweep sweep;

    HS_TRY(hs_sweep_of_snap(source, &sweep, err));
    struct hs_sweep_out out = {.sink = sink, .max_edges = sweep.max_edges};
    HS_TRY(hs_sweep_tree(source, &out, err));
    return hs_sweep_chunks(source, &out, err);
}

hs_status hs_sweep_of_snap(const struct hs_snap_sweep *source, struct hs_sweep *ret,
                           struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(source->snap);
    uint64_t n_nodes, max_edges;

    assert(totals->n_tree >= 1);
    if (!hs_add_fits(totals->n_tree, totals->n_blocks, &n_nodes) ||
        !hs_add_fits(totals->n_edges, totals->n_extra_edges, &max_edges) ||
        !hs_add_fits(max_edges, totals->n_tree, &max_edges) ||
        !hs_add_fits(max_edges, totals->n_tree, &max_edges) ||
        !hs_add_fits(max_edges, source->held == NULL ? 0 : totals->n_blocks, &max_edges))
        return hs_fail(err, HS_LIMIT, "the snapshot has too many nodes or edges");
    assert(source->held == NULL || source->held->n_bits == n_nodes);
    *ret = (struct hs_sweep){.run = snap_run,
                             .context = source,
                             .n_nodes = n_nodes,
                             .n_tree = totals->n_tree,
                             .max_edges = max_edges,
                             .large_bytes = hs_sweep_slot_bytes(source) - HS_SWEEP_SLOT_BYTES};
    return HS_OK;
}

/* ---- graphs in memory ---- */

/* Emits the rows of [first, first + n), which have n_targets in all, made 64 bits wide. */
static hs_status graph_emit(const struct hs_graph *graph, uint32_t first, uint32_t n,
                            uint64_t *begin, struct hs_sweep_out *out, struct hs_error *err)
{
    hs_auto_free hs_node *target = NULL;
    uint64_t at = 0;

    HS_TRY(HS_ALLOC(&target, (size_t)graph->begin[first + n] - graph->begin[first] + 1, err));
    begin[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_row, last = first + i;
        const uint32_t *row = hs_graph_row(graph, first + i, &n_row);
        for (uint32_t e = 0; e < n_row; e++) {
            target[at] = row[e];
            at += row[e] != last && row[e] != first + i;
            last = row[e];
        }
        begin[i + 1] = at;
    }
    return hs_sweep_emit(out, first, n, begin, target, err);
}

static hs_status graph_run(const void *context, const struct hs_piece_sink *sink,
                           struct hs_error *err)
{
    const struct hs_graph *graph = context;
    struct hs_sweep_out out = {.sink = sink, .max_edges = graph->n_edges};
    hs_auto_free uint64_t *begin = NULL;

    HS_TRY(HS_ALLOC(&begin, (size_t)HS_PIECE_NODES + 1, err));
    for (uint32_t first = 0; first < graph->n_nodes;) {
        uint32_t n = 1;
        while (n < HS_PIECE_NODES && n < graph->n_nodes - first &&
               graph->begin[first + n + 1] - graph->begin[first] <= HS_PIECE_TARGETS)
            n++;
        HS_TRY(graph_emit(graph, first, n, begin, &out, err));
        first += n;
    }
    return HS_OK;
}

struct hs_sweep hs_sweep_of_graph(const struct hs_graph *graph)
{
    return (struct hs_sweep){.run = graph_run,
                             .context = graph,
                             .n_nodes = graph->n_nodes,
                             .n_tree = graph->n_tree,
                             .max_edges = graph->n_edges};
}
