#include "index_build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "dominator/dominators.h"
#include "dominator/reachable.h"
#include "dominator/retained.h"
#include "graph/pages.h"

#define PUT_VALUES 65536
#define SORT_IN_PLACE 16

struct build {
    const struct hs_snap *snap;
    const struct hs_progress *progress;
    struct index_sink *sink;
    struct hs_bitmap held; /* targets of active ephemeron edges */
    bool has_held;
    struct hs_graph graph;
    struct hs_domtree tree;
    struct hs_weights weights;
    uint64_t *sum;    /* by preorder number: one retained size */
    uint32_t *values; /* PUT_VALUES words of 8 bytes, to write from */
};

static void build_drop_sum(struct build *b)
{
    hs_pages_free(b->sum, b->tree.n_nodes, sizeof(uint64_t));
    b->sum = NULL;
}

static void build_fini(struct build *b)
{
    build_drop_sum(b);
    hs_bitmap_fini(&b->held);
    hs_graph_fini(&b->graph);
    hs_domtree_fini(&b->tree);
    hs_weights_fini(&b->weights);
    hs_pages_free(b->values, PUT_VALUES, sizeof(uint64_t));
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

/* ---- sections ---- */

static hs_status put_predecessors(struct build *b, struct hs_error *err)
{
    struct hs_graph reverse;

    HS_TRY(hs_progress_tell(b->progress, "reversing the graph", 0, 0, err));
    HS_TRY(hs_graph_reverse(&b->graph, &reverse, err));
    b->sink->footer.n_predecessors = reverse.n_edges;
    hs_status status = index_sink_put(b->sink, INDEX_PREDECESSOR_BEGIN, reverse.begin,
                                      ((uint64_t)reverse.n_nodes + 1) * sizeof(uint32_t), err);
    if (status == HS_OK)
        status = index_sink_put(b->sink, INDEX_PREDECESSORS, reverse.target,
                                reverse.n_edges * sizeof(uint32_t), err);
    hs_graph_fini(&reverse);
    return status;
}

static hs_status put_reachable(struct build *b, struct hs_error *err)
{
    struct hs_sizes *sizes;
    HS_TRY(hs_reachable_find(&b->graph, &b->tree, &b->weights, b->progress, &sizes, err));
    hs_status status =
        index_sink_put(b->sink, INDEX_REACHABLE, sizes, b->graph.n_tree * sizeof *sizes, err);
    hs_free(sizes);
    return status;
}

/* What a node retains in the dimension at hand. */
static uint64_t build_retained(const struct build *b, uint32_t node)
{
    uint32_t number = b->tree.number[node];
    return number == 0 ? 0 : b->sum[number - 1];
}

/* Writes the sizes of all nodes, or with `among` of these alone. */
static hs_status put_retained(struct build *b, enum index_section section,
                              const struct hs_bitmap *among, uint64_t width, struct hs_error *err)
{
    uint32_t n_nodes = b->tree.n_nodes;
    uint64_t *wide = (void *)b->values;
    size_t n = 0;

    HS_TRY(
        index_sink_begin(b->sink, section, hs_index_section_bytes(&b->sink->footer, section), err));
    for (uint32_t node = 0; node < n_nodes; node++) {
        if (among != NULL && !hs_bitmap_get(among, node))
            continue;
        uint64_t value = build_retained(b, node);
        if (width == sizeof(uint32_t))
            b->values[n++] = (uint32_t)value;
        else
            wide[n++] = value;
        if (n == PUT_VALUES) {
            HS_TRY(index_sink_write(b->sink, b->values, n * width, err));
            n = 0;
        }
    }
    HS_TRY(index_sink_write(b->sink, b->values, n * width, err));
    return index_sink_end(b->sink, err);
}

static hs_status build_sum(struct build *b, enum hs_dimension dimension, struct hs_error *err)
{
    build_drop_sum(b);
    return hs_retained_sum(&b->tree, &b->weights, dimension, &b->sum, err);
}

/* Static data: few blocks retain any, so only those are written. */
static hs_status put_static(struct build *b, struct hs_error *err)
{
    struct index_footer *footer = &b->sink->footer;
    struct hs_bitmap has = {0};

    HS_TRY(hs_bitmap_init(&has, b->tree.n_nodes, err));
    hs_status status = build_sum(b, HS_DIM_STATIC_OBJECTS, err);
    if (status == HS_OK) {
        for (uint32_t node = 0; node < b->tree.n_nodes; node++)
            if (build_retained(b, node) != 0) {
                hs_bitmap_set(&has, node);
                footer->n_static++;
            }
        footer->reached.static_objects = b->sum[0];
        status = index_sink_put(b->sink, INDEX_STATIC_BITS, has.words,
                                hs_index_section_bytes(footer, INDEX_STATIC_BITS), err);
    }
    if (status == HS_OK)
        status = put_retained(b, INDEX_STATIC_OBJECTS, &has, sizeof(uint32_t), err);
    if (status == HS_OK)
        status = build_sum(b, HS_DIM_STATIC_WORDS, err);
    if (status == HS_OK) {
        footer->reached.static_words = b->sum[0];
        status = put_retained(b, INDEX_STATIC_WORDS, &has, index_words_width(b->sum[0]), err);
    }
    hs_bitmap_fini(&has);
    return status;
}

/* ---- the dominator tree, downward ---- */

struct child {
    uint64_t words;
    uint32_t node;
};

static int child_compare(const void *a, const void *b)
{
    const struct child *x = a, *y = b;
    if (x->words != y->words)
        return x->words < y->words ? 1 : -1;
    return x->node < y->node ? -1 : 1;
}

/* By descending retained words; ties stay in node order. */
static void row_insertion_sort(const struct build *b, uint32_t *row, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint32_t node = row[i], at = i;
        uint64_t words = build_retained(b, node);
        for (; at > 0 && build_retained(b, row[at - 1]) < words; at--)
            row[at] = row[at - 1];
        row[at] = node;
    }
}

static void row_sort(const struct build *b, uint32_t *row, uint32_t n, struct child *children)
{
    if (n <= SORT_IN_PLACE) {
        row_insertion_sort(b, row, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        children[i] = (struct child){build_retained(b, row[i]), row[i]};
    qsort(children, n, sizeof *children, child_compare);
    for (uint32_t i = 0; i < n; i++)
        row[i] = children[i].node;
}

static hs_status rows_sort(const struct build *b, struct hs_graph *rows, struct hs_error *err)
{
    uint32_t longest = 0;
    void *children;

    for (uint32_t i = 0; i < rows->n_nodes; i++)
        if (rows->begin[i + 1] - rows->begin[i] > longest)
            longest = rows->begin[i + 1] - rows->begin[i];
    HS_TRY(hs_pages_alloc(longest, sizeof(struct child), &children, err));
    for (uint32_t i = 0; i < rows->n_nodes; i++)
        row_sort(b, rows->target + rows->begin[i], rows->begin[i + 1] - rows->begin[i], children);
    hs_pages_free(children, longest, sizeof(struct child));
    return HS_OK;
}

/* The node of the immediate dominator, HS_NONE for node 0 and what is not reached. */
static uint32_t build_idom(const struct build *b, const uint32_t *order, uint32_t node)
{
    uint32_t number = b->tree.number[node];
    return number <= 1 ? HS_NONE : order[b->tree.idom[number - 1]];
}

static hs_status put_idoms(struct build *b, const uint32_t *order, struct hs_error *err)
{
    HS_TRY(index_sink_begin(b->sink, INDEX_IDOM,
                            hs_index_section_bytes(&b->sink->footer, INDEX_IDOM), err));
    for (uint32_t node = 0; node < b->tree.n_nodes;) {
        size_t n = 0;
        for (; n < PUT_VALUES && node < b->tree.n_nodes; node++)
            b->values[n++] = build_idom(b, order, node);
        HS_TRY(index_sink_write(b->sink, b->values, n * sizeof(uint32_t), err));
    }
    return index_sink_end(b->sink, err);
}

/* Children in node order, by counting. */
static void rows_fill(const struct build *b, const uint32_t *order, struct hs_graph *rows)
{
    uint32_t n = rows->n_nodes;
    for (uint32_t i = 1; i < b->tree.n_reached; i++)
        rows->begin[order[b->tree.idom[i]] + 1]++;
    for (uint32_t i = 0; i < n; i++)
        rows->begin[i + 1] += rows->begin[i];
    for (uint32_t node = 0; node < n; node++) {
        uint32_t idom = build_idom(b, order, node);
        if (idom != HS_NONE)
            rows->target[rows->begin[idom]++] = node;
    }
    memmove(rows->begin + 1, rows->begin, (size_t)n * sizeof(uint32_t));
    rows->begin[0] = 0;
}

/* Needs the retained words in `sum`. */
static hs_status put_dominated(struct build *b, const uint32_t *order, struct hs_error *err)
{
    struct hs_graph rows;
    uint32_t n = b->tree.n_nodes;

    HS_TRY(hs_graph_init(n, 1, b->tree.n_reached - 1, &rows, err));
    rows_fill(b, order, &rows);
    b->sink->footer.n_dominated = b->tree.n_reached - 1;
    hs_status status = rows_sort(b, &rows, err);
    if (status == HS_OK)
        status = index_sink_put(b->sink, INDEX_DOMINATED_BEGIN, rows.begin,
                                ((uint64_t)n + 1) * sizeof(uint32_t), err);
    if (status == HS_OK)
        status = index_sink_put(b->sink, INDEX_DOMINATED, rows.target,
                                (b->tree.n_reached - 1) * sizeof(uint32_t), err);
    hs_graph_fini(&rows);
    return status;
}

static hs_status put_tree(struct build *b, struct hs_error *err)
{
    uint32_t *order;
    HS_TRY(hs_domtree_order(&b->tree, &order, err));
    hs_status status = put_idoms(b, order, err);
    if (status == HS_OK)
        status = put_dominated(b, order, err);
    hs_pages_free(order, b->tree.n_nodes, sizeof(uint32_t));
    return status;
}

/* ---- all of it ---- */

static hs_status build_results(struct build *b, struct hs_error *err)
{
    struct index_footer *footer = &b->sink->footer;

    HS_TRY(hs_progress_tell(b->progress, "adding up retained sizes", 0, 0, err));
    HS_TRY(put_static(b, err));
    HS_TRY(build_sum(b, HS_DIM_OBJECTS, err));
    footer->reached.objects = b->sum[0];
    HS_TRY(put_retained(b, INDEX_OBJECTS, NULL, sizeof(uint32_t), err));
    HS_TRY(build_sum(b, HS_DIM_WORDS, err));
    footer->reached.words = b->sum[0];
    HS_TRY(put_retained(b, INDEX_WORDS, NULL, index_words_width(b->sum[0]), err));
    return put_tree(b, err);
}

/* Reachable sizes do not pass through ephemerons: another graph, and dominators of its own. */
static hs_status build_strong(struct build *b, struct hs_error *err)
{
    build_drop_sum(b);
    hs_domtree_fini(&b->tree);
    HS_TRY(hs_graph_load(b->snap, HS_GRAPH_STRONG, b->progress, &b->graph, err));
    HS_TRY(graph_hold(&b->graph, &b->held, err));
    HS_TRY(hs_domtree_build(&b->graph, b->progress, &b->tree, err));
    return put_reachable(b, err);
}

static hs_status build_all(struct build *b, struct hs_error *err)
{
    void *values;

    HS_TRY(hs_pages_alloc(PUT_VALUES, sizeof(uint64_t), &values, err));
    b->values = values;
    HS_TRY(held_find(b, err));
    HS_TRY(hs_graph_load(b->snap, HS_GRAPH_RETAINING, b->progress, &b->graph, err));
    b->sink->footer.n_nodes = b->graph.n_nodes;
    b->sink->footer.n_tree = b->graph.n_tree;
    HS_TRY(put_predecessors(b, err));
    HS_TRY(hs_domtree_build(&b->graph, b->progress, &b->tree, err));
    HS_TRY(hs_weights_load(b->snap, b->progress, &b->weights, err));
    if (!b->has_held)
        HS_TRY(put_reachable(b, err));
    hs_graph_fini(&b->graph);
    HS_TRY(build_results(b, err));
    return b->has_held ? build_strong(b, err) : HS_OK;
}

hs_status index_build_run(const struct hs_snap *snap, const struct hs_progress *progress,
                          struct index_sink *sink, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    struct index_footer *footer = &sink->footer;
    struct build b = {.snap = snap, .progress = progress, .sink = sink};

    hs_status status = build_all(&b, err);
    /* Loading the weights has checked that they add up to the totals. */
    footer->unreached = (struct hs_sizes){
        .words = totals->heap_words - footer->reached.words,
        .objects =
            b.weights.n_nodes - b.weights.n_tree - b.weights.n_static - footer->reached.objects,
        .static_words = totals->static_words - footer->reached.static_words,
        .static_objects = b.weights.n_static - footer->reached.static_objects,
    };
    build_fini(&b);
    if (status != HS_OK)
        return status;
    assert(footer->unreached.words <= totals->heap_words);
    footer->snap_checksum = totals->checksum;
    footer->snap_bytes = totals->file_bytes;
    return index_sink_finish(sink, err);
}
