#include "index_build.h"

#include <assert.h>
#include <string.h>

#include "dominator/dominators.h"
#include "dominator/reachable.h"
#include "dominator/retained.h"
#include "graph/pages.h"
#include "index/tiers.h"
#include "index_owners.h"
#include "index_rows.h"

#define TELL_NODES ((uint32_t)1 << 18) /* between two words to whoever listens */

struct build {
    const struct index_work *work;
    const struct hs_snap *snap;
    const struct hs_progress *progress;
    struct index_writer *writer;
    struct hs_tiers tiers; /* where the policy has any */
    struct hs_bitmap held; /* targets of active ephemeron edges */
    bool has_held;
    struct hs_graph graph;
    struct hs_domtree tree;
    struct hs_weights weights;
    uint32_t n_nodes;
    uint32_t *parent; /* owned: of each node its immediate dominator, once that is all we need */
};

static void build_fini(struct build *b)
{
    hs_tiers_fini(&b->tiers, NULL);
    hs_bitmap_fini(&b->held);
    hs_graph_fini(&b->graph);
    hs_domtree_fini(&b->tree);
    hs_weights_fini(&b->weights);
    hs_pages_free(b->parent, b->n_nodes, sizeof(uint32_t));
}

static hs_status build_tell(struct build *b, const char *phase, uint32_t node, struct hs_error *err)
{
    return node % TELL_NODES == 0 ? hs_progress_tell(b->progress, phase, node, b->n_nodes, err)
                                  : HS_OK;
}

/* ---- tiers ---- */

/* Returns the edges that take part, once the tiers are found. */
static struct hs_edge_choice build_choice(const struct build *b, enum hs_graph_edges edges)
{
    return (struct hs_edge_choice){.edges = edges,
                                   .tiers = b->work->policy->has_tiers ? &b->tiers : NULL,
                                   .pointers_in = index_policy_types(b->work->policy)};
}

static hs_status build_tiers(struct build *b, struct hs_error *err)
{
    const struct hs_tier_search search = {
        .snap = b->snap,
        .pointers_in = index_policy_types(b->work->policy),
        .progress = b->progress,
        .in_memory = true,
    };
    return b->work->policy->has_tiers ? hs_tiers_find(&search, &b->tiers, err) : HS_OK;
}

/* ---- ephemerons ---- */

static void held_add_chunk(struct build *b, const struct hs_chunk *chunk)
{
    for (uint64_t i = 0; i < chunk->n_extra; i++) {
        if (chunk->extra[i].edge_class != HS_EDGE_EPHEMERON)
            continue;
        hs_bitmap_set(&b->held, chunk->extra[i].target);
        b->has_held = true;
    }
}

/* Finds what ephemerons hold: most snapshots have weak pointers, few have these. */
static hs_status held_find(struct build *b, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(b->snap);
    struct hs_chunk chunk = {0};
    hs_status status = HS_OK;

    if (totals->n_extra_edges == 0)
        return HS_OK;
    HS_TRY(hs_bitmap_init(&b->held, totals->n_tree + totals->n_blocks, err));
    for (uint64_t at = 0; at < totals->n_chunks && status == HS_OK; at++) {
        status = hs_snap_load_chunk(b->snap, at, HS_COL_EXTRA, &chunk, err);
        if (status == HS_OK)
            held_add_chunk(b, &chunk);
    }
    hs_chunk_fini(&chunk);
    return status;
}

/* Gives node 0 an edge to every block that an ephemeron holds, behind its other ones, so that these
 * blocks are dominated by no block that is not the only strong way to them. */
static hs_status graph_hold(struct hs_graph *graph, const struct hs_bitmap *held,
                            struct hs_error *err)
{
    uint64_t n = 0;
    for (uint64_t at = hs_bitmap_next(held, 0); at < held->n_bits;
         at = hs_bitmap_next(held, at + 1))
        n++;
    if (n > graph->target_capacity - graph->n_edges)
        return hs_fail(err, HS_FORMAT, "the snapshot has more ephemerons than its trailer says");
    uint32_t *out = graph->target + graph->begin[1];
    memmove(out + n, out, (graph->n_edges - graph->begin[1]) * sizeof *out);
    for (uint64_t at = hs_bitmap_next(held, 0); at < held->n_bits;
         at = hs_bitmap_next(held, at + 1))
        *out++ = (uint32_t)at;
    for (uint32_t i = 1; i <= graph->n_nodes; i++)
        graph->begin[i] += (uint32_t)n;
    graph->n_edges += n;
    return HS_OK;
}

/* ---- sizes ---- */

/* Records bytes taken beyond the reservation, for who asks for the peak. */
static hs_status tell_peak(const struct build *b, uint64_t n_bytes, struct hs_error *err)
{
    if (n_bytes <= b->work->memory_bytes || hs_budget_left_bytes(b->work->budget) == UINT64_MAX)
        return HS_OK;
    n_bytes -= b->work->memory_bytes;
    HS_TRY(hs_budget_reserve(b->work->budget, n_bytes, "the graph", err));
    hs_budget_release(b->work->budget, n_bytes);
    return HS_OK;
}

/* Computes sizes and owner sets over the edges whose dominators are known; writes the reachable
 * sizes if `reachable`. */
static hs_status put_sizes(struct build *b, enum hs_graph_edges edges, bool reachable,
                           const struct hs_owner_request *owners, struct hs_error *err)
{
    const struct hs_edge_choice choice = build_choice(b, edges);
    const struct hs_row_source source = {.snap = b->snap,
                                         .edges = choice.edges,
                                         .tiers = choice.tiers,
                                         .pointers_in = choice.pointers_in};
    uint64_t held = hs_reachable_input_bytes(b->n_nodes) + hs_tiers_bytes(b->n_nodes);
    uint64_t all = b->work->room_bytes == 0 ? UINT64_MAX : b->work->room_bytes;
    struct hs_budget room = {.limit_bytes = all > held ? all - held : 0};
    const struct hs_reachable_task task = {.source = &source,
                                           .tree = &b->tree,
                                           .weights = &b->weights,
                                           .owners = owners,
                                           .budget = &room};
    hs_status status = HS_OK;
    struct hs_sizes *sizes;

    HS_TRY(hs_reachable_find(&task, b->progress, &sizes, err));
    status = tell_peak(b, held + room.peak_bytes, err);
    if (reachable && status == HS_OK)
        status = index_write_reachable(b->writer, sizes, err);
    hs_free(sizes);
    return status;
}

/* Writes owners, and reachable sizes: these do not pass through ephemerons, ownership does. */
static hs_status put_owners(struct build *b, bool reachable, struct hs_error *err)
{
    struct index_owners owners;

    if (!index_owners_wanted(b->writer))
        return reachable ? put_sizes(b, HS_GRAPH_STRONG, true, NULL, err) : HS_OK;
    HS_TRY(
        index_owners_init(b->writer, build_choice(b, HS_GRAPH_STRONG).tiers, NULL, &owners, err));
    hs_status status = put_sizes(b, b->has_held ? HS_GRAPH_RETAINING : HS_GRAPH_STRONG, reachable,
                                 &owners.request, err);
    index_owners_fini(&owners);
    return status;
}

/* Retained sizes by preorder number. */
struct sums {
    struct hs_retained words, objects;
    struct hs_retained_static static_words, static_objects;
};

static void sums_fini(struct sums *sums)
{
    hs_retained_fini(&sums->words);
    hs_retained_fini(&sums->objects);
    hs_retained_static_fini(&sums->static_words);
    hs_retained_static_fini(&sums->static_objects);
}

static hs_status sums_find(struct build *b, struct sums *sums, struct hs_error *err)
{
    const struct hs_domtree *tree = &b->tree;
    const struct hs_weights *weights = &b->weights;

    HS_TRY(hs_retained_sum(tree, weights, HS_DIM_WORDS, &sums->words, err));
    HS_TRY(hs_retained_sum(tree, weights, HS_DIM_OBJECTS, &sums->objects, err));
    HS_TRY(hs_retained_static_sum(tree, weights, HS_DIM_STATIC_WORDS, &sums->static_words, err));
    HS_TRY(
        hs_retained_static_sum(tree, weights, HS_DIM_STATIC_OBJECTS, &sums->static_objects, err));
    return HS_OK;
}

static uint64_t static_at(const struct hs_retained_static *sums, uint32_t at)
{
    if (sums->n_has == 0 || !hs_bitmap_get(&sums->has, at))
        return 0;
    return sums->sum[hs_bitmap_rank(&sums->has, at)];
}

static hs_status sums_put(struct build *b, const struct sums *sums, struct hs_error *err)
{
    HS_TRY(index_write_begin(b->writer, INDEX_RETAINED, err));
    for (uint32_t node = 0; node < b->n_nodes; node++) {
        struct hs_sizes sizes = {0};
        uint32_t number = b->tree.number[node];
        HS_TRY(build_tell(b, "writing retained sizes", node, err));
        if (number != 0)
            sizes = (struct hs_sizes){
                .words = hs_retained_at(&sums->words, number - 1),
                .objects = hs_retained_at(&sums->objects, number - 1),
                .static_words = static_at(&sums->static_words, number - 1),
                .static_objects = static_at(&sums->static_objects, number - 1),
            };
        HS_TRY(index_write_retained(b->writer, node, &sizes, err));
    }
    return index_write_end(b->writer, err);
}

static hs_status put_retained(struct build *b, struct hs_error *err)
{
    struct sums sums = {0};

    if (b->weights.n_static != hs_snap_totals(b->snap)->n_static_blocks)
        return hs_fail(err, HS_FORMAT, "the snapshot has other static blocks than it says");
    HS_TRY(hs_progress_tell(b->progress, "adding up retained sizes", 0, 0, err));
    hs_status status = sums_find(b, &sums, err);
    if (status == HS_OK)
        status = sums_put(b, &sums, err);
    sums_fini(&sums);
    return status;
}

/* ---- the dominator tree, upward and downward ---- */

/* The immediate dominator of a node with a preorder number. */
static uint32_t build_idom(const struct build *b, const uint32_t *order, uint32_t node)
{
    uint32_t at = b->tree.number[node];
    return at <= 1 ? HS_NONE : order[b->tree.idom[at - 1]];
}

static hs_status idoms_put(struct build *b, const uint32_t *order, struct hs_error *err)
{
    HS_TRY(index_write_begin(b->writer, INDEX_IDOM, err));
    for (uint32_t node = 0; node < b->n_nodes; node++) {
        uint32_t idom = build_idom(b, order, node);
        HS_TRY(build_tell(b, "writing dominators", node, err));
        HS_TRY(index_write_idom(b->writer, node, idom == HS_NONE ? HS_NO_NODE : idom, err));
    }
    return index_write_end(b->writer, err);
}

static hs_status put_idoms(struct build *b, struct hs_error *err)
{
    uint32_t *order;

    HS_TRY(hs_domtree_order(&b->tree, &order, err));
    hs_status status = idoms_put(b, order, err);
    hs_pages_free(order, b->n_nodes, sizeof(uint32_t));
    return status;
}

/* Puts immediate dominators as nodes in place of the preorder numbers: leaves `parent` of the
 * tree. */
static hs_status build_parents(struct build *b, struct hs_error *err)
{
    uint32_t *order;

    HS_TRY(hs_domtree_order(&b->tree, &order, err));
    for (uint32_t node = 0; node < b->n_nodes; node++)
        b->tree.number[node] = build_idom(b, order, node);
    hs_pages_free(order, b->n_nodes, sizeof(uint32_t));
    b->parent = HS_STEAL(b->tree.number);
    hs_domtree_fini(&b->tree);
    return HS_OK;
}

static hs_status put_parents(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    struct build *b = context;
    (void)err;
    for (uint32_t i = 0; i < piece->n; i++)
        b->parent[piece->first + i] = piece->begin[i] == piece->begin[i + 1]
                                          ? HS_NONE
                                          : (uint32_t)piece->target[piece->begin[i]];
    return HS_OK;
}

/* The same of an earlier run. */
static hs_status load_parents(struct build *b, struct hs_error *err)
{
    const struct hs_piece_sink sink = {put_parents, b};
    struct index_sweep sweep;
    void *parent;

    HS_TRY(hs_dense_pages(b->n_nodes, sizeof(uint32_t), &parent, err));
    b->parent = parent;
    HS_TRY(index_sweep_open(b->writer, INDEX_IDOM, b->progress, "reading dominators", &sweep, err));
    hs_status status = sweep.sweep.run(sweep.sweep.context, &sink, err);
    index_sweep_close(&sweep);
    return status;
}

static hs_status put_dominated(struct build *b, struct hs_error *err)
{
    if (b->parent == NULL)
        HS_TRY(load_parents(b, err));
    HS_TRY(index_rows_put_dominated(b->writer, b->parent, b->progress, err));
    hs_pages_free(b->parent, b->n_nodes, sizeof(uint32_t));
    b->parent = NULL;
    return HS_OK;
}

/* ---- all of it ---- */

/* Computes reachable sizes over another graph with its own dominators, where ephemerons hold
 * something. */
static hs_status build_strong(struct build *b, struct hs_error *err)
{
    const struct hs_edge_choice choice = build_choice(b, HS_GRAPH_STRONG);
    HS_TRY(hs_graph_load_chosen(b->snap, &choice, b->progress, &b->graph, err));
    HS_TRY(graph_hold(&b->graph, &b->held, err));
    HS_TRY(hs_domtree_consume(&b->graph, b->progress, &b->tree, err));
    HS_TRY(hs_weights_load(b->snap, b->progress, &b->weights, err));
    return put_sizes(b, HS_GRAPH_STRONG, true, NULL, err);
}

/* Computes all results that follow from the dominators of the retaining graph. */
static hs_status build_results(struct build *b, bool reachable, struct hs_error *err)
{
    HS_TRY(hs_domtree_consume(&b->graph, b->progress, &b->tree, err));
    HS_TRY(hs_weights_load(b->snap, b->progress, &b->weights, err));
    if (!index_write_has(b->writer, INDEX_RETAINED))
        HS_TRY(put_retained(b, err));
    if (!index_write_has(b->writer, INDEX_IDOM))
        HS_TRY(put_idoms(b, err));
    HS_TRY(put_owners(b, reachable, err));
    hs_weights_fini(&b->weights);
    return build_parents(b, err);
}

/* Predecessors are those by all edges, whether they take part or not. */
static hs_status put_predecessors(struct build *b, struct hs_error *err)
{
    HS_TRY(hs_graph_load(b->snap, HS_GRAPH_RETAINING, b->progress, &b->graph, err));
    HS_TRY(index_write_note_single(b->writer, err));
    HS_TRY(index_rows_put_predecessors(b->writer, &b->graph, b->progress, err));
    if (b->work->policy->has_tiers)
        hs_graph_fini(&b->graph);
    return HS_OK;
}

/* The graph that dominators are of: where all edges take part it is that of the predecessors. */
static hs_status load_used(struct build *b, struct hs_error *err)
{
    const struct hs_edge_choice choice = build_choice(b, HS_GRAPH_RETAINING);
    if (b->graph.n_nodes != 0)
        return HS_OK;
    return hs_graph_load_chosen(b->snap, &choice, b->progress, &b->graph, err);
}

static hs_status build_all(struct build *b, struct hs_error *err)
{
    bool reachable = !index_write_has(b->writer, INDEX_REACHABLE);

    if (reachable || index_owners_wanted(b->writer))
        HS_TRY(held_find(b, err));
    bool results = (reachable && !b->has_held) || !index_write_has(b->writer, INDEX_RETAINED) ||
                   !index_write_has(b->writer, INDEX_IDOM) || index_owners_wanted(b->writer);
    if (results || reachable)
        HS_TRY(build_tiers(b, err));
    if (!index_write_has(b->writer, INDEX_PREDECESSORS))
        HS_TRY(put_predecessors(b, err));
    if (results)
        HS_TRY(load_used(b, err));
    if (results)
        HS_TRY(build_results(b, reachable && !b->has_held, err));
    hs_graph_fini(&b->graph);
    if (!index_write_has(b->writer, INDEX_DOMINATED))
        HS_TRY(put_dominated(b, err));
    return reachable && b->has_held ? build_strong(b, err) : HS_OK;
}

hs_status index_build_run(const struct index_work *work, struct index_writer *writer,
                          struct hs_error *err)
{
    struct build b = {.work = work,
                      .snap = work->snap,
                      .progress = work->progress,
                      .writer = writer,
                      .n_nodes = (uint32_t)writer->header.n_nodes};

    HS_TRY(hs_graph_fits(writer->header.n_nodes, hs_snap_totals(work->snap)->n_edges, err));
    hs_status status = build_all(&b, err);
    build_fini(&b);
    return status;
}

/* Bytes that are alive at a time: the graph is 4 per node and edge up to the end of the search,
 * beside which there are 8 more per node: when it is reversed, and in the search. Then 20 per
 * node for two numbers of the tree, a weight and two sums, or 12 and what reachable sizes want. And
 * a bit for each node with one predecessor. */
uint64_t index_build_bytes(const struct hs_reachable_counts *counts, uint64_t n_edges)
{
    uint64_t n = counts->n_nodes, search = 12 * n + 4 * n_edges, sums = 20 * n;
    uint64_t sizes = hs_reachable_input_bytes(n) + hs_reachable_bytes(counts);
    uint64_t most = search > sums ? search : sums;
    return (most > sizes ? most : sizes) + hs_tiers_bytes(n) + n / 8;
}
