/* The rest of the core after peeling, as a graph in memory.
 *
 * A resolved node stands for all that was folded into it: its own dominators are known, so that one
 * edge from region[] says what its sources said. The graph has the nodes of the rows, the resolved
 * nodes that dominate these, an edge from each node's region[] (for what is not resolved: where its
 * resolved sources meet), and the rows.
 *
 * Where memory has no room for it, its edges are put into a file, and the search reads them there:
 * it takes longer, and less than what the whole pass takes anyway. */
#include "pass_core.h"

#include <assert.h>
#include <string.h>

#include "dominator/dominators.h"

struct core_graph {
    struct core_work *work;
    struct core_rows *rows;
    struct hs_bitmap is_in; /* by core node; ranks are the graph's numbers */
    uint32_t n_nodes;
    uint64_t n_edges, n_regions;  /* of all, those from a region[] */
    struct hs_graph graph;        /* reserved in the budget */
    struct hs_stored_rows stored; /* instead of it */
    struct link_sink {
        void (*put)(void *sink, uint32_t from, uint32_t to);
        void *sink;
    } links; /* where the edges go that are to be stored */
};

static void graph_fini(struct core_graph *g)
{
    struct hs_budget *budget = g->work->passes->budget;

    if (g->graph.begin != NULL)
        hs_budget_release(budget, hs_graph_bytes(g->n_nodes, g->n_edges));
    hs_graph_fini(&g->graph);
    hs_stored_rows_fini(&g->stored);
    pass_bitmap_fini(budget, &g->is_in);
}

static inline uint32_t graph_number(const struct core_graph *g, uint32_t core)
{
    return (uint32_t)hs_bitmap_rank(&g->is_in, core);
}

/* ---- sweeps over the rows ---- */

static hs_status rows_sweep(struct core_graph *g,
                            hs_status (*put)(void *, struct core_row *, struct hs_error *),
                            struct hs_error *err)
{
    const struct core_row_sink sink = {put, g};
    return core_rows_sweep(g->rows, &g->work->passes->is_reached, &sink, err);
}

/* A node and what is known to dominate it. */
static void node_mark(struct core_graph *g, uint32_t core)
{
    const uint32_t *region = g->work->passes->region;

    for (; core != HS_NONE && !hs_bitmap_get(&g->is_in, core); core = region[core]) {
        hs_bitmap_set(&g->is_in, core);
        g->n_regions += region[core] != HS_NONE;
    }
}

static hs_status row_mark(void *context, struct core_row *row, struct hs_error *err)
{
    struct core_graph *g = context;

    (void)err;
    node_mark(g, row->node);
    for (uint32_t i = 0; i < row->n; i++)
        node_mark(g, row->source[i]);
    g->n_edges += row->n;
    return HS_OK;
}

static hs_status row_count(void *context, struct core_row *row, struct hs_error *err)
{
    struct core_graph *g = context;

    (void)err;
    for (uint32_t i = 0; i < row->n; i++)
        g->graph.begin[graph_number(g, row->source[i]) + 1]++;
    return HS_OK;
}

static hs_status row_fill(void *context, struct core_row *row, struct hs_error *err)
{
    struct core_graph *g = context;
    uint32_t target = graph_number(g, row->node);

    (void)err;
    for (uint32_t i = 0; i < row->n; i++)
        g->graph.target[g->graph.begin[graph_number(g, row->source[i])]++] = target;
    return HS_OK;
}

/* ---- the graph ---- */

/* The edges from region[]: counted, or filled in. */
static void regions_sweep(struct core_graph *g, bool fills)
{
    const uint32_t *region = g->work->passes->region;
    uint32_t *begin = g->graph.begin, target = 0;

    for (uint64_t core = 0; core < g->is_in.n_bits; core = hs_bitmap_next(&g->is_in, core + 1)) {
        if (region[core] != HS_NONE && fills)
            g->graph.target[begin[graph_number(g, region[core])]++] = target;
        else if (region[core] != HS_NONE)
            begin[graph_number(g, region[core]) + 1]++;
        target++;
    }
    assert(target == g->n_nodes);
}

static hs_status graph_fill(struct core_graph *g, struct hs_error *err)
{
    uint32_t *begin = g->graph.begin, n = g->n_nodes;

    regions_sweep(g, false);
    HS_TRY(rows_sweep(g, row_count, err));
    for (uint32_t i = 0; i < n; i++)
        begin[i + 1] += begin[i];
    assert(begin[n] == g->n_edges);
    regions_sweep(g, true);
    HS_TRY(rows_sweep(g, row_fill, err));
    memmove(begin + 1, begin, (size_t)n * sizeof *begin);
    begin[0] = 0;
    g->graph.n_edges = g->n_edges;
    return HS_OK;
}

/* The jumps can be made again: they go when there is no room for them beside the search. */
static void tree_drop(struct core_graph *g, uint64_t n_bytes)
{
    struct core_work *work = g->work;

    if (hs_budget_left_bytes(work->passes->budget) >= n_bytes)
        return;
    work->counts.n_climbed += work->tree.n_steps;
    core_tree_fini(&work->tree);
}

static hs_status graph_init(struct core_graph *g, struct hs_error *err)
{
    struct hs_budget *budget = g->work->passes->budget;
    uint64_t n_bytes = hs_graph_bytes(g->n_nodes, g->n_edges);

    tree_drop(g, n_bytes);
    HS_TRY(hs_budget_reserve(budget, n_bytes, "the core's graph", err));
    hs_status status = hs_graph_init(g->n_nodes, 1, g->n_edges, &g->graph, err);
    if (status != HS_OK)
        hs_budget_release(budget, n_bytes);
    return status;
}

static hs_status nodes_find(struct core_graph *g, struct hs_error *err)
{
    struct hs_passes *passes = g->work->passes;
    uint64_t n_in;

    HS_TRY(pass_bitmap_init(passes->budget, passes->n_core, "the core's graph", &g->is_in, err));
    node_mark(g, 0);
    HS_TRY(rows_sweep(g, row_mark, err));
    g->n_edges += g->n_regions;
    HS_TRY(hs_bitmap_index(&g->is_in, &n_in, err));
    g->n_nodes = (uint32_t)n_in;
    return hs_graph_fits(g->n_nodes, g->n_edges, err);
}

/* ---- its edges, for a file ---- */

static hs_status row_link(void *context, struct core_row *row, struct hs_error *err)
{
    const struct core_graph *g = context;
    uint32_t target = graph_number(g, row->node);

    (void)err;
    for (uint32_t i = 0; i < row->n; i++)
        g->links.put(g->links.sink, graph_number(g, row->source[i]), target);
    return HS_OK;
}

static hs_status edges_run(const void *context, void (*put)(void *sink, uint32_t from, uint32_t to),
                           void *sink, struct hs_error *err)
{
    struct core_graph g = *(const struct core_graph *)context;
    const uint32_t *region = g.work->passes->region;
    uint32_t target = 0;

    for (uint64_t core = 0; core < g.is_in.n_bits; core = hs_bitmap_next(&g.is_in, core + 1)) {
        if (region[core] != HS_NONE)
            put(sink, graph_number(&g, region[core]), target);
        target++;
    }
    g.links = (struct link_sink){put, sink};
    return rows_sweep(&g, row_link, err);
}

/* ---- the answer ---- */

static void order_fill(const struct core_graph *g, const struct hs_domtree *tree, uint32_t *order)
{
    uint32_t at = 0;

    for (uint64_t core = 0; core < g->is_in.n_bits; core = hs_bitmap_next(&g->is_in, core + 1)) {
        uint32_t number = tree->number[at++];
        if (number != 0)
            order[number - 1] = (uint32_t)core;
    }
}

/* Resolves in preorder: dominators before what they dominate. */
static hs_status tree_resolve(struct core_graph *g, const struct hs_domtree *tree,
                              const uint32_t *order, struct hs_error *err)
{
    struct hs_passes *passes = g->work->passes;

    for (uint32_t i = 1; i < tree->n_reached; i++) {
        uint32_t core = order[i], above = order[tree->idom[i]];
        if (hs_bitmap_get(&passes->is_reached, core)) {
            assert(passes->region[core] == above);
            continue;
        }
        passes->region[core] = above;
        HS_TRY(core_work_resolve(g->work, core, err));
    }
    return HS_OK;
}

static hs_status region_return(struct hs_passes *passes, struct hs_parked *region, hs_status status,
                               struct hs_error *err)
{
    if (status == HS_OK)
        status = core_work_region_fetch(passes, region, err);
    hs_parked_close(region);
    return status;
}

/* Searches the core; when memory is short, region[] is on disk meanwhile. */
static hs_status graph_search(struct core_graph *g, struct hs_domtree *ret, struct hs_error *err)
{
    struct hs_passes *passes = g->work->passes;
    uint64_t room = hs_domtree_room_bytes(g->n_nodes, g->n_edges);
    struct hs_parked region = {0};

    tree_drop(g, room);
    bool is_parked = hs_budget_left_bytes(passes->budget) < room;
    if (is_parked)
        HS_TRY(core_work_region_park(passes, &region, err));
    hs_status status =
        hs_domtree_consume_within(&g->graph, passes->budget, g->work->progress, ret, err);
    return is_parked ? region_return(passes, &region, status, err) : status;
}

static hs_status stored_search(struct core_graph *g, struct hs_domtree *ret, struct hs_error *err)
{
    const struct hs_unit_edge_source edges = {edges_run, g};
    struct hs_passes *passes = g->work->passes;
    struct hs_parked region = {0};

    HS_TRY(hs_progress_tell(g->work->progress, "storing the core's graph", 0, 0, err));
    tree_drop(g, UINT64_MAX);
    HS_TRY(hs_stored_rows_make(g->n_nodes, &edges, passes->budget, "the core's graph", &g->stored,
                               err));
    core_rows_close(g->rows);
    HS_TRY(core_work_region_park(passes, &region, err));
    hs_status status = hs_domtree_consume_stored(&g->stored, g->work->progress, ret, err);
    return region_return(passes, &region, status, err);
}

/* Tells whether the graph has room, and the search of it, whatever it meets. */
static bool graph_fits(const struct core_graph *g)
{
    const struct core_work *work = g->work;
    uint64_t n_bytes = hs_graph_bytes(g->n_nodes, g->n_edges);
    uint64_t left = hs_budget_left_bytes(work->passes->budget);
    uint64_t region_bytes = (uint64_t)work->passes->n_core * sizeof(uint32_t);

    if (left == UINT64_MAX)
        return true;
    left += work->tree.n_nodes * sizeof *work->tree.jump; /* may be dropped */
    return left >= n_bytes &&
           left + region_bytes >= n_bytes + hs_domtree_least_bytes(g->n_nodes, g->n_edges);
}

static hs_status graph_tree(struct core_graph *g, struct hs_domtree *ret, struct hs_error *err)
{
    if (!graph_fits(g))
        return stored_search(g, ret, err);
    HS_TRY(graph_init(g, err));
    HS_TRY(graph_fill(g, err));
    core_rows_close(g->rows);
    return graph_search(g, ret, err);
}

static hs_status graph_answer(struct core_graph *g, struct hs_error *err)
{
    struct hs_budget *budget = g->work->passes->budget;
    struct hs_domtree tree = {0};
    uint32_t *order = NULL;

    hs_status status = graph_tree(g, &tree, err);
    if (status == HS_OK)
        status = pass_array_init(budget, g->n_nodes, "the core's dominators", &order, err);
    if (status == HS_OK) {
        order_fill(g, &tree, order);
        hs_domtree_drop_number(&tree);
        status = tree_resolve(g, &tree, order, err);
    }
    pass_array_fini(budget, &order, g->n_nodes);
    hs_domtree_fini(&tree);
    return status;
}

hs_status core_graph_resolve(struct core_work *work, struct core_rows *rows, struct hs_error *err)
{
    struct core_graph g = {.work = work, .rows = rows};

    if (rows->n_edges == 0)
        return HS_OK;
    hs_status status = nodes_find(&g, err);
    if (status == HS_OK)
        status = graph_answer(&g, err);
    work->counts.n_in_graph = g.n_nodes;
    work->counts.n_in_graph_edges = g.n_edges;
    graph_fini(&g);
    return status;
}
