/* Dominators out of core, and all that an index has of them, phase by phase. */
#include "index_passes.h"

#include "base/alloc.h"
#include "graph/reverse.h"
#include "index/tiers.h"
#include "index_owners.h"
#include "index_turned.h"
#include "passes/passes.h"

struct passes_build {
    const struct index_work *work;
    struct index_writer *writer;
    struct hs_tiers tiers; /* where the policy has any */
    struct hs_bitmap held; /* by node: targets of active ephemeron edges */
    uint64_t held_bytes;   /* taken for it */
    bool has_held;
    struct hs_passes passes;
};

/* ---- tiers ---- */

/* Returns the edges that take part, once the tiers are found. */
static struct hs_snap_sweep edges_of(const struct passes_build *b, enum hs_graph_edges edges)
{
    return (struct hs_snap_sweep){.snap = b->work->snap,
                                  .edges = edges,
                                  .tiers = b->work->policy->has_tiers ? &b->tiers : NULL,
                                  .pointers_in = index_policy_types(b->work->policy),
                                  .budget = b->work->budget,
                                  .progress = b->work->progress,
                                  .phase = "reading the graph"};
}

static hs_status tiers_find(struct passes_build *b, struct hs_error *err)
{
    const struct hs_tier_search search = {.snap = b->work->snap,
                                          .pointers_in = index_policy_types(b->work->policy),
                                          .budget = b->work->budget,
                                          .progress = b->work->progress};
    return b->work->policy->has_tiers ? hs_tiers_find(&search, &b->tiers, err) : HS_OK;
}

/* ---- ephemerons ---- */

static void held_add_chunk(struct passes_build *b, const struct hs_chunk *chunk)
{
    for (uint64_t i = 0; i < chunk->n_extra; i++) {
        if (chunk->extra[i].edge_class != HS_EDGE_EPHEMERON)
            continue;
        hs_bitmap_set(&b->held, chunk->extra[i].target);
        b->has_held = true;
    }
}

static void held_drop(struct passes_build *b)
{
    hs_bitmap_fini(&b->held);
    hs_budget_release(b->work->budget, b->held_bytes);
    b->held_bytes = 0;
}

uint64_t index_passes_extra_bytes(const struct hs_snap *snap)
{
    uint64_t n_chunks = hs_snap_totals(snap)->n_chunks, most = 0;

    for (uint64_t at = 0; at < n_chunks; at++) {
        uint64_t n_bytes = hs_snap_chunk_bytes(snap, at, HS_COL_EXTRA);
        most = n_bytes > most ? n_bytes : most;
    }
    return most;
}

bool index_passes_has_held(const struct hs_snap *snap)
{
    uint64_t n_chunks = hs_snap_totals(snap)->n_chunks, n_extra;
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_chunk chunk = {0};
    bool has_held = false;

    for (uint64_t at = 0; at < n_chunks && !has_held; at++) {
        (void)hs_snap_chunk_edges(snap, at, &n_extra);
        if (n_extra == 0)
            continue;
        if (hs_snap_load_chunk(snap, at, HS_COL_EXTRA, &chunk, &ignored) != HS_OK)
            has_held = true; /* damaged, which shows again */
        for (uint64_t i = 0; i < chunk.n_extra && !has_held; i++)
            has_held = chunk.extra[i].edge_class == HS_EDGE_EPHEMERON;
    }
    hs_chunk_fini(&chunk);
    return has_held;
}

static hs_status held_read(struct passes_build *b, struct hs_error *err)
{
    uint64_t n_chunks = hs_snap_totals(b->work->snap)->n_chunks;
    uint64_t n_bytes = index_passes_extra_bytes(b->work->snap);
    struct hs_chunk chunk = {0};
    hs_status status = hs_budget_reserve(b->work->budget, n_bytes, "ephemerons", err);

    HS_TRY(status);
    for (uint64_t at = 0; at < n_chunks && status == HS_OK; at++) {
        status = hs_progress_tell(b->work->progress, "looking for ephemerons", at, n_chunks, err);
        if (status == HS_OK)
            status = hs_snap_load_chunk(b->work->snap, at, HS_COL_EXTRA, &chunk, err);
        if (status == HS_OK)
            held_add_chunk(b, &chunk);
    }
    hs_chunk_fini(&chunk);
    hs_budget_release(b->work->budget, n_bytes);
    return status;
}

/* Finds what ephemerons hold: most snapshots have weak pointers, few have these. */
static hs_status held_find(struct passes_build *b, struct hs_error *err)
{
    uint64_t n_nodes = b->writer->header.n_nodes;

    if (hs_snap_totals(b->work->snap)->n_extra_edges == 0)
        return HS_OK;
    HS_TRY(hs_budget_reserve(b->work->budget, n_nodes / 8 + 8, "what ephemerons hold", err));
    b->held_bytes = n_nodes / 8 + 8;
    HS_TRY(hs_bitmap_init(&b->held, n_nodes, err));
    HS_TRY(held_read(b, err));
    if (!b->has_held)
        held_drop(b);
    return HS_OK;
}

/* ---- the graph, forward and backward ---- */

static hs_status reverse_into(struct passes_build *b, const struct hs_sweep *forward,
                              const char *phase, bool is_graph, const struct hs_piece_sink *sink,
                              struct hs_error *err)
{
    struct hs_reverse_options options = {
        .budget = b->work->budget, .progress = b->work->progress, .phase = phase};
    size_t n_runs = 0;
    const uint64_t *runs = is_graph ? hs_snap_in_degrees(b->work->snap, &n_runs) : NULL;

    options.in_degrees = n_runs == 0 ? NULL : runs;
    return hs_reverse(forward, &options, sink, err);
}

/* Predecessors are those by all edges, whether they take part or not. */
static hs_status put_predecessors(struct passes_build *b, struct hs_error *err)
{
    const struct hs_piece_sink sink = index_write_sink(b->writer);
    struct hs_snap_sweep source = edges_of(b, HS_GRAPH_RETAINING);
    struct hs_sweep forward;

    source.tiers = NULL;
    HS_TRY(hs_sweep_of_snap(&source, &forward, err));
    HS_TRY(index_write_begin(b->writer, INDEX_PREDECESSORS, err));
    HS_TRY(reverse_into(b, &forward, "reversing the graph", true, &sink, err));
    return index_write_end(b->writer, err);
}

/* ---- what follows from the dominators ---- */

/* A section is begun when its first node is put: what it takes is not needed before. */
static hs_status section_begin(struct index_writer *writer, enum index_section section,
                               struct hs_error *err)
{
    return writer->section == section ? HS_OK : index_write_begin(writer, section, err);
}

static hs_status retained_put(void *context, hs_node node, const struct hs_sizes *retained,
                              struct hs_error *err)
{
    HS_TRY(section_begin(context, INDEX_RETAINED, err));
    return index_write_retained(context, node, retained, err);
}

static hs_status put_retained(struct passes_build *b, struct hs_error *err)
{
    const struct hs_retained_sink sink = {retained_put, b->writer,
                                          index_write_bytes(b->writer, INDEX_RETAINED)};
    const struct hs_weight_source weights = hs_weights_of_snap(b->work->snap);

    HS_TRY(hs_passes_retained(&b->passes, &weights, b->work->progress, &sink, err));
    return index_write_end(b->writer, err);
}

static hs_status idom_put(void *context, hs_node node, hs_node idom, struct hs_error *err)
{
    HS_TRY(section_begin(context, INDEX_IDOM, err));
    return index_write_idom(context, node, idom, err);
}

static hs_status put_idoms(struct passes_build *b, struct hs_error *err)
{
    const struct hs_idom_sink sink = {idom_put, b->writer,
                                      index_write_bytes(b->writer, INDEX_IDOM)};

    HS_TRY(hs_progress_tell(b->work->progress, "writing dominators", 0, 0, err));
    HS_TRY(hs_passes_idoms(&b->passes, &sink, err));
    return index_write_end(b->writer, err);
}

/* Computes sizes and owner sets over the edges of the passes; writes the reachable sizes if
 * `reachable`. */
static hs_status put_sizes(struct passes_build *b, bool reachable,
                           const struct hs_owner_request *owners, struct hs_error *err)
{
    const struct hs_weight_source weights = hs_weights_of_snap(b->work->snap);
    hs_status status = HS_OK;
    struct hs_sizes *sizes;

    HS_TRY(hs_passes_reachable(&b->passes, &weights, owners, b->work->progress, &sizes, err));
    if (reachable)
        status = index_write_reachable(b->writer, sizes, err);
    hs_free(sizes);
    return status;
}

static hs_status put_owners(struct passes_build *b, bool reachable, struct hs_error *err)
{
    struct index_owners owners;

    if (!index_owners_wanted(b->writer))
        return reachable ? put_sizes(b, true, NULL, err) : HS_OK;
    HS_TRY(index_owners_init(b->writer, edges_of(b, HS_GRAPH_STRONG).tiers, b->work->budget,
                             &owners, err));
    hs_status status = put_sizes(b, reachable, &owners.request, err);
    index_owners_fini(&owners);
    return status;
}

static hs_status passes_run(struct passes_build *b, const struct hs_sweep *forward,
                            const struct hs_sweep *backward, struct hs_error *err)
{
    const struct hs_passes_input input = {.forward = *forward,
                                          .backward = *backward,
                                          .budget = b->work->budget,
                                          .progress = b->work->progress};
    return hs_passes_run(&input, &b->passes, err);
}

/* Reverses the edges that take part once more, where not all do. */
static hs_status passes_find_turned(struct passes_build *b, const struct hs_sweep *forward,
                                    struct hs_error *err)
{
    const struct index_turned turned = {.forward = *forward,
                                        .options = {.budget = b->work->budget,
                                                    .progress = b->work->progress,
                                                    .phase = "reversing the graph"}};
    const struct hs_sweep backward = index_turned_sweep(&turned);
    return passes_run(b, forward, &backward, err);
}

static hs_status passes_find(struct passes_build *b, const struct hs_sweep *forward,
                             struct hs_error *err)
{
    struct index_sweep backward;

    if (b->work->policy->has_tiers)
        return passes_find_turned(b, forward, err);

    HS_TRY(index_sweep_open(b->writer, INDEX_PREDECESSORS, b->work->progress,
                            "reading predecessors", &backward, err));
    hs_status status = passes_run(b, forward, &backward.sweep, err);
    index_sweep_close(&backward);
    return status;
}

static hs_status put_results(struct passes_build *b, bool reachable, struct hs_error *err)
{
    const struct hs_snap_sweep source = edges_of(b, HS_GRAPH_RETAINING);
    struct hs_sweep forward;

    HS_TRY(hs_sweep_of_snap(&source, &forward, err));
    HS_TRY(passes_find(b, &forward, err));
    if (!index_write_has(b->writer, INDEX_RETAINED))
        HS_TRY(put_retained(b, err));
    if (!index_write_has(b->writer, INDEX_IDOM))
        HS_TRY(put_idoms(b, err));
    HS_TRY(put_owners(b, reachable, err));
    hs_passes_fini(&b->passes);
    return HS_OK;
}

static hs_status put_dominated(struct passes_build *b, struct hs_error *err)
{
    const struct hs_piece_sink sink = index_write_sink(b->writer);
    struct index_sweep idoms;

    HS_TRY(index_write_begin(b->writer, INDEX_DOMINATED, err));
    HS_TRY(index_sweep_open(b->writer, INDEX_IDOM, b->work->progress, "reading dominators", &idoms,
                            err));
    hs_status status =
        reverse_into(b, &idoms.sweep, "writing the dominator tree", false, &sink, err);
    index_sweep_close(&idoms);
    return status == HS_OK ? index_write_end(b->writer, err) : status;
}

/* ---- reachable sizes where ephemerons hold something ---- */

/* The strong edges reversed, and those from node 0 to what ephemerons hold, in a file that
 * nobody keeps. */
struct strong_rows {
    struct index_output out;
    struct hs_packed_writer writer;
    uint64_t reserved_bytes;
    struct hs_map map;
    struct hs_packed packed;
};

static void strong_rows_close(struct passes_build *b, struct strong_rows *rows)
{
    hs_packed_close(&rows->packed);
    hs_map_close(&rows->map);
    hs_packed_writer_fini(&rows->writer);
    index_output_close(&rows->out, false);
    hs_budget_release(b->work->budget, rows->reserved_bytes);
}

static hs_status strong_sink(void *context, const void *bytes, size_t n_bytes, struct hs_error *err)
{
    return index_output_append(context, bytes, n_bytes, err);
}

static hs_status strong_put(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    return hs_packed_piece(context, piece, err);
}

static hs_status strong_rows_make(struct passes_build *b, const struct hs_sweep *forward,
                                  struct strong_rows *rows, struct hs_error *err)
{
    const struct hs_packed_sink sink = {strong_sink, &rows->out};
    const struct hs_piece_sink pieces = {strong_put, &rows->writer};
    uint64_t n_bytes = hs_packed_table_bytes(forward->n_nodes) + INDEX_WRITE_BYTES;
    const uint8_t *bytes;

    HS_TRY(index_output_open_unnamed(b->work->budget, &rows->out, err));
    HS_TRY(hs_budget_reserve(b->work->budget, n_bytes, "strong predecessors", err));
    rows->reserved_bytes = n_bytes;
    HS_TRY(hs_packed_writer_init(&sink, forward->n_nodes, &rows->writer, err));
    HS_TRY(reverse_into(b, forward, "reversing strong edges", true, &pieces, err));
    HS_TRY(hs_packed_finish(&rows->writer, err));
    n_bytes = rows->writer.n_bytes;
    hs_packed_writer_fini(&rows->writer);
    hs_budget_release(b->work->budget, hs_packed_table_bytes(forward->n_nodes));
    rows->reserved_bytes = INDEX_WRITE_BYTES; /* for what is read of the map */
    HS_TRY(index_output_view(&rows->out, 0, n_bytes, &rows->map, &bytes, err));
    HS_TRY(
        hs_packed_open(bytes, n_bytes, forward->n_nodes, hs_packed_skip_row, &rows->packed, err));
    rows->packed.is_mapped = true;
    return HS_OK;
}

static hs_status put_strong_with(struct passes_build *b, const struct hs_sweep *forward,
                                 struct strong_rows *rows, struct hs_error *err)
{
    const struct hs_packed_rows backward = {
        .packed = &rows->packed,
        .n_tree = forward->n_tree,
        .max_edges = forward->max_edges,
        .progress = b->work->progress,
        .phase = "reading predecessors",
    };

    HS_TRY(strong_rows_make(b, forward, rows, err));
    const struct hs_sweep sweep = hs_sweep_of_packed(&backward);
    return passes_run(b, forward, &sweep, err);
}

/* Writes reachable sizes, which do not pass through ephemerons: they are of another graph with
 * other dominators, in which what an ephemeron holds is dominated by no block that is not the only
 * strong way to it. */
static hs_status put_strong(struct passes_build *b, struct hs_error *err)
{
    struct hs_snap_sweep source = edges_of(b, HS_GRAPH_STRONG);
    source.held = &b->held;
    source.phase = "reading strong edges";
    struct strong_rows rows = {0};
    struct hs_sweep forward;

    HS_TRY(hs_sweep_of_snap(&source, &forward, err));
    hs_status status = put_strong_with(b, &forward, &rows, err);
    strong_rows_close(b, &rows);
    held_drop(b);
    return status == HS_OK ? put_sizes(b, true, NULL, err) : status;
}

/* ---- all of it ---- */

static hs_status build_all(struct passes_build *b, struct hs_error *err)
{
    const struct index_writer *writer = b->writer;
    bool reachable = !index_write_has(writer, INDEX_REACHABLE);

    if (!index_write_has(writer, INDEX_PREDECESSORS))
        HS_TRY(put_predecessors(b, err));
    if (reachable)
        HS_TRY(held_find(b, err));
    bool results = (reachable && !b->has_held) || !index_write_has(writer, INDEX_RETAINED) ||
                   !index_write_has(writer, INDEX_IDOM) || index_owners_wanted(writer);
    if (results || reachable)
        HS_TRY(tiers_find(b, err));
    if (results)
        HS_TRY(put_results(b, reachable && !b->has_held, err));
    if (!index_write_has(writer, INDEX_DOMINATED))
        HS_TRY(put_dominated(b, err));
    return reachable && b->has_held ? put_strong(b, err) : HS_OK;
}

hs_status index_passes_build(const struct index_work *work, struct index_writer *writer,
                             struct hs_error *err)
{
    struct passes_build b = {.work = work, .writer = writer};

    hs_status status = build_all(&b, err);
    hs_passes_fini(&b.passes);
    hs_tiers_fini(&b.tiers, work->budget);
    held_drop(&b);
    return status;
}

/* Beside the buckets of the edges: places and depths of nodes, what is written by position to come
 * back by node, edges into core nodes. */
uint64_t index_passes_disk_bytes(const struct hs_sweep *forward)
{
    return hs_reverse_disk_bytes(forward) + 24 * forward->n_nodes + 12 * forward->max_edges;
}
