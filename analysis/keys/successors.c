#include "successors.h"

#include <sys/mman.h>

#include "analysis/used_edges.h"
#include "base/alloc.h"
#include "graph/sweep.h"

/* The bytes of the mapped file that may be resident at a time: these, or a half of what is left. */
#define NEAR_BYTES ((uint64_t)4 << 20)
#define WRITE_BYTES ((uint64_t)4 << 20)

/* ---- the tiers, as the graph wants them */

static hs_status tiers_read(struct hs_view *view, struct hs_tiers *ret, struct hs_error *err)
{
    HS_TRY(hs_bitmap_init(&ret->firm, view->n_nodes, err));
    HS_TRY(hs_bitmap_init(&ret->sound, view->n_nodes, err));
    struct hs_index_in_order tiers = {.index = view->index, .read = hs_index_run_tiers};
    for (hs_node node = 0; node < view->n_nodes; node++) {
        unsigned tier = node < view->n_tree ? hs_snap_root(view->snap, node)->tier
                                            : hs_index_next(&tiers, node);
        if (tier == HS_TIER_FIRM)
            hs_bitmap_set(&ret->firm, node);
        if (tier <= HS_TIER_RUNTIME)
            hs_bitmap_set(&ret->sound, node);
    }
    return hs_index_check(view->index, err);
}

/* ---- in a file */

static hs_status sink_write(void *context, const void *bytes, size_t n_bytes, struct hs_error *err)
{
    return hs_spill_write(context, bytes, n_bytes, err);
}

static hs_status piece_put(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    return hs_packed_piece(context, piece, err);
}

static hs_status rows_write(struct successors *rows, const struct hs_sweep *sweep,
                            struct hs_error *err)
{
    const struct hs_packed_sink sink = {sink_write, &rows->spill};
    struct hs_packed_writer writer;
    HS_TRY(hs_packed_writer_init(&sink, sweep->n_nodes, &writer, err));
    const struct hs_piece_sink pieces = {piece_put, &writer};
    hs_status status = sweep->run(sweep->context, &pieces, err);
    if (status == HS_OK)
        status = hs_packed_finish(&writer, err);
    hs_packed_writer_fini(&writer);
    return status;
}

static hs_status rows_map(struct successors *rows, uint64_t n_nodes, struct hs_error *err)
{
    uint64_t near_bytes = hs_budget_left_bytes(rows->budget) / 2;
    near_bytes = near_bytes < rows->spill.n_bytes ? near_bytes : rows->spill.n_bytes;
    near_bytes = near_bytes < NEAR_BYTES ? NEAR_BYTES : near_bytes;
    HS_TRY(hs_budget_reserve(rows->budget, near_bytes, "the edges", err));
    rows->reserved_bytes += near_bytes;
    HS_TRY(hs_spill_seal(&rows->spill, err));
    void *bytes = mmap(NULL, rows->spill.n_bytes, PROT_READ, MAP_SHARED, rows->spill.fd, 0);
    if (bytes == MAP_FAILED)
        return hs_fail_errno(err, HS_LIMIT, "cannot map the edges");
    rows->map = (struct hs_map){.bytes = bytes, .n_bytes = rows->spill.n_bytes, .is_file = true};
    HS_TRY(hs_packed_open(rows->map.bytes, rows->map.n_bytes, n_nodes, hs_packed_skip_row,
                          &rows->packed, err));
    rows->packed.is_mapped = true;
    rows->pool = (struct hs_packed_pool){.n_members = 1, .most_bytes = near_bytes};
    return HS_OK;
}

static hs_status open_in_file(struct hs_view *view, const struct hs_edge_choice *choice,
                              struct successors *rows, struct hs_error *err)
{
    const struct hs_snap_sweep source = {.snap = view->snap,
                                         .edges = choice->edges,
                                         .tiers = choice->tiers,
                                         .pointers_in = choice->pointers_in,
                                         .budget = rows->budget,
                                         .progress = view->session.progress,
                                         .phase = "reading edges"};
    uint64_t n_bytes = hs_packed_table_bytes(view->n_nodes) + WRITE_BYTES;
    struct hs_sweep sweep;
    HS_TRY(hs_budget_reserve(rows->budget, n_bytes, "the edges", err));
    rows->reserved_bytes = n_bytes;
    HS_TRY(hs_sweep_of_snap(&source, &sweep, err));
    HS_TRY(hs_spill_open(rows->budget, "the edges", &rows->spill, err));
    HS_TRY(rows_write(rows, &sweep, err));
    return rows_map(rows, view->n_nodes, err);
}

/* ---- either way */

static hs_status open_in_memory(struct hs_view *view, const struct hs_edge_choice *choice,
                                struct successors *rows, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(rows->budget, n_bytes, "the edges", err));
    rows->reserved_bytes = n_bytes;
    rows->in_memory = true;
    return hs_graph_load_chosen(view->snap, choice, view->session.progress, &rows->graph, err);
}

static hs_status open_chosen(struct hs_view *view, const struct hs_edge_choice *choice,
                             bool in_file, struct successors *rows, struct hs_error *err)
{
    uint64_t n_edges = view->totals->n_edges + view->totals->n_extra_edges + view->n_tree * 2;
    if (!in_file && view->n_nodes < HS_NONE - 1 && n_edges < HS_NONE - 1) {
        const struct hs_snap_sweep source = {.snap = view->snap,
                                             .edges = choice->edges,
                                             .tiers = choice->tiers,
                                             .pointers_in = choice->pointers_in};
        uint64_t n_bytes = hs_graph_bytes(view->n_nodes, n_edges);
        /* A large chunk, and its rows before they are in the graph. */
        uint64_t slot = hs_sweep_slot_bytes(&source), large = slot - HS_SWEEP_SLOT_BYTES;
        if (n_bytes + large + large / 2 <= hs_budget_left_bytes(rows->budget) / 4 * 3)
            return open_in_memory(view, choice, rows, n_bytes, err);
    }
    return open_in_file(view, choice, rows, err);
}

hs_status successors_open(struct hs_view *view, bool in_file, struct successors *ret,
                          struct hs_error *err)
{
    struct successors rows = {.budget = view->session.budget};
    struct hs_edge_choice choice = {.edges = HS_GRAPH_RETAINING};
    struct hs_tiers tiers = {0};
    bool has_tiers = hs_used_edges_by_tier(view, &choice.pointers_in);
    uint64_t n_bytes = has_tiers ? view->n_nodes / 4 + 16 : 0;
    HS_TRY(hs_budget_reserve(rows.budget, n_bytes, "tiers of blocks", err));
    hs_status status = has_tiers ? tiers_read(view, &tiers, err) : HS_OK;
    if (has_tiers)
        choice.tiers = &tiers;
    if (status == HS_OK)
        status = open_chosen(view, &choice, in_file, &rows, err);
    hs_bitmap_fini(&tiers.firm);
    hs_bitmap_fini(&tiers.sound);
    hs_budget_release(rows.budget, n_bytes);
    if (status == HS_OK)
        *ret = rows;
    else
        successors_close(&rows);
    return status;
}

void successors_close(struct successors *rows)
{
    hs_graph_fini(&rows->graph);
    hs_packed_close(&rows->packed);
    hs_map_close(&rows->map);
    hs_spill_close(&rows->spill);
    hs_budget_release(rows->budget, rows->reserved_bytes);
    *rows = (struct successors){0};
}

hs_status successors_of(struct successors *rows, hs_node node, struct successor_row *ret,
                        struct hs_error *err)
{
    if (!rows->in_memory) {
        rows->pool.members = &rows->packed; /* wherever they are by now */
        rows->packed.pool = &rows->pool;
        ret->at = NULL;
        return hs_packed_row_of(&rows->packed, node, &ret->packed, err);
    }
    uint32_t n;
    ret->at = hs_graph_row(&rows->graph, (uint32_t)node, &n);
    ret->end = ret->at + n;
    return HS_OK;
}
