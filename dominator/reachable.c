#include "dominator/reachable.h"

#include <assert.h>
#include <stdlib.h>

#include "condensed.h"
#include "graph/pages.h"
#include "root_lanes.h"

/* A search alone is worth up to 1/256 of a sweep, and always so many steps. */
#define SOLO_SHARE 256
#define SOLO_MIN 4096
/* Searches that were tried in vain may cost so many sweeps in all. */
#define WASTE_SWEEPS 2

/* Each distinct thing asked: a node of the condensed graph. */
struct reach_work {
    struct condensed condensed;
    uint32_t *query_of; /* by condensed node: 1 + index into queries; 0 = not asked */
    struct root_query *queries;
    bool *is_done;
    uint32_t n_queries;
    uint32_t *seen; /* by condensed node: the last search that met it */
    uint32_t *stack;
    uint32_t *bound; /* by condensed node: no search takes more steps; saturated */
};

static void work_fini(struct reach_work *work)
{
    size_t n = work->condensed.graph.n_nodes;
    hs_pages_free(work->query_of, n, sizeof(uint32_t));
    hs_pages_free(work->seen, n, sizeof(uint32_t));
    hs_pages_free(work->stack, n, sizeof(uint32_t));
    hs_pages_free(work->bound, n, sizeof(uint32_t));
    hs_free(work->queries);
    hs_free(work->is_done);
    condensed_fini(&work->condensed);
}

static hs_status work_alloc(struct reach_work *work, struct hs_error *err)
{
    size_t n = work->condensed.graph.n_nodes, n_tree = work->condensed.n_tree;
    uint32_t **const arrays[] = {&work->query_of, &work->seen, &work->stack, &work->bound};
    void *memory;

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        HS_TRY(hs_pages_alloc(n, sizeof(uint32_t), &memory, err));
        *arrays[i] = memory;
    }
    HS_TRY(hs_alloc(n_tree, sizeof *work->queries, &memory, err));
    work->queries = memory;
    HS_TRY(hs_alloc(n_tree, sizeof *work->is_done, &memory, err));
    work->is_done = memory;
    return HS_OK;
}

/* ---- what to ask ---- */

/* The node whose reach answers for a tree node: its only successor's, when it has but one; HS_NONE
 * when it has none. Own sizes are added afterwards. */
static uint32_t tree_query(const struct condensed *condensed, uint32_t tree_node)
{
    uint32_t n;
    const uint32_t *row = hs_graph_row(&condensed->graph, condensed->of_tree[tree_node], &n);
    if (n == 0)
        return HS_NONE;
    return n == 1 ? row[0] : condensed->of_tree[tree_node];
}

static int query_compare(const void *a, const void *b)
{
    uint32_t x = ((const struct root_query *)a)->node, y = ((const struct root_query *)b)->node;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* All but node 0, which reaches everything. */
static void queries_collect(struct reach_work *work)
{
    for (uint32_t i = 1; i < work->condensed.n_tree; i++) {
        uint32_t node = tree_query(&work->condensed, i);
        if (node == HS_NONE || work->query_of[node] != 0)
            continue;
        work->query_of[node] = 1;
        work->queries[work->n_queries++].node = node;
    }
    qsort(work->queries, work->n_queries, sizeof *work->queries, query_compare);
    for (uint32_t i = 0; i < work->n_queries; i++)
        work->query_of[work->queries[i].node] = 1 + i;
}

/* ---- searches alone ---- */

/* An upper bound on the steps of a search from each node: as if nothing were shared. */
static void bounds_find(struct reach_work *work)
{
    const struct hs_graph *graph = &work->condensed.graph;
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        uint64_t bound = 1;
        for (uint32_t e = graph->begin[i]; e < graph->begin[i + 1]; e++)
            bound += 1 + (uint64_t)work->bound[graph->target[e]];
        work->bound[i] = bound < UINT32_MAX ? (uint32_t)bound : UINT32_MAX;
    }
}

/* True when the search ended within the given steps; *steps counts nodes and edges. */
static bool query_search(struct reach_work *work, uint32_t query, uint64_t max_steps,
                         uint64_t *steps)
{
    const struct hs_graph *graph = &work->condensed.graph;
    struct hs_sizes sum = {0};
    uint32_t n = 0;

    *steps = 0;
    work->stack[n++] = work->queries[query].node;
    work->seen[work->queries[query].node] = query + 1;
    while (n != 0 && *steps < max_steps) {
        uint32_t node = work->stack[--n];
        hs_sizes_add(&sum, &work->condensed.sizes[node]);
        uint32_t end = graph->begin[node + 1];
        *steps += 1 + end - graph->begin[node];
        for (uint32_t e = graph->begin[node]; e < end; e++) {
            uint32_t target = graph->target[e];
            if (work->seen[target] == query + 1)
                continue;
            work->seen[target] = query + 1;
            work->stack[n++] = target;
        }
    }
    work->queries[query].sizes = sum;
    return n == 0;
}

/* Answers what is cheap alone: what is surely small, and what turns out to be while it may be
 * tried. */
static void queries_search(struct reach_work *work)
{
    const struct hs_graph *graph = &work->condensed.graph;
    uint64_t sweep = graph->n_nodes + graph->n_edges;
    uint64_t most = sweep / SOLO_SHARE > SOLO_MIN ? sweep / SOLO_SHARE : SOLO_MIN;
    uint64_t wasted = 0;

    for (uint32_t i = 0; i < work->n_queries; i++) {
        uint64_t steps;
        bool surely = work->bound[work->queries[i].node] < most;
        if (!surely && wasted >= WASTE_SWEEPS * sweep)
            continue;
        /* A search ends at the first look after the limit, so a bound below it always suffices. */
        work->is_done[i] = query_search(work, i, most, &steps);
        assert(!surely || work->is_done[i]);
        wasted += work->is_done[i] ? 0 : steps;
    }
}

/* The rest, with all answers back in their place. */
static hs_status queries_together(struct reach_work *work, const struct hs_progress *progress,
                                  struct hs_error *err)
{
    struct root_lanes_options options = {.progress = progress};
    hs_auto_free struct root_query *rest = NULL;
    uint32_t n = 0;
    void *memory;

    HS_TRY(hs_alloc(work->n_queries, sizeof *rest, &memory, err));
    rest = memory;
    for (uint32_t i = 0; i < work->n_queries; i++)
        if (!work->is_done[i])
            rest[n++] = work->queries[i];
    HS_TRY(root_lanes_run(&work->condensed, rest, n, &options, err));
    for (uint32_t i = 0; i < n; i++)
        work->queries[work->query_of[rest[i].node] - 1] = rest[i];
    return HS_OK;
}

/* ---- answers ---- */

static void answers_fill(const struct reach_work *work, struct hs_sizes *answers)
{
    const struct condensed *condensed = &work->condensed;

    for (uint32_t i = 0; i < condensed->graph.n_nodes; i++)
        hs_sizes_add(&answers[0], &condensed->sizes[i]);
    for (uint32_t i = 1; i < condensed->n_tree; i++) {
        uint32_t own = condensed->of_tree[i], node = tree_query(condensed, i);
        if (node != own)
            answers[i] = condensed->sizes[own];
        if (node == HS_NONE)
            continue;
        assert(work->query_of[node] != 0);
        hs_sizes_add(&answers[i], &work->queries[work->query_of[node] - 1].sizes);
    }
}

static hs_status reachable_find(struct reach_work *work, const struct hs_progress *progress,
                                struct hs_sizes **ret, struct hs_error *err)
{
    void *memory;

    HS_TRY(work_alloc(work, err));
    queries_collect(work);
    bounds_find(work);
    queries_search(work);
    HS_TRY(queries_together(work, progress, err));
    HS_TRY(hs_alloc(work->condensed.n_tree, sizeof **ret, &memory, err));
    answers_fill(work, memory);
    *ret = memory;
    return HS_OK;
}

hs_status hs_reachable_find(const struct hs_graph *graph, const struct hs_domtree *tree,
                            const struct hs_weights *weights, const struct hs_progress *progress,
                            struct hs_sizes **ret, struct hs_error *err)
{
    struct reach_work work = {0};

    assert(graph->n_nodes == tree->n_nodes && graph->n_nodes == weights->n_nodes);
    hs_status status = condensed_make(graph, tree, weights, progress, &work.condensed, err);
    if (status == HS_OK)
        status = reachable_find(&work, progress, ret, err);
    work_fini(&work);
    return status;
}
