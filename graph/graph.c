/* Compressed sparse rows: made from a snapshot's chunks, and reversed. */
#include "graph/graph.h"

#include <assert.h>
#include <string.h>

#include "graph/pages.h"
#include "graph/rows.h"

hs_status hs_graph_init(uint64_t n_nodes, uint64_t n_tree, uint64_t capacity, struct hs_graph *ret,
                        struct hs_error *err)
{
    void *begin, *target;

    assert(n_tree >= 1 && n_tree <= n_nodes);
    HS_TRY(hs_graph_fits(n_nodes, capacity, err));
    HS_TRY(hs_dense_pages(n_nodes + 1, sizeof(uint32_t), &begin, err));
    hs_status status = hs_dense_pages(capacity, sizeof(uint32_t), &target, err);
    if (status != HS_OK) {
        hs_pages_free(begin, n_nodes + 1, sizeof(uint32_t));
        return status;
    }
    *ret = (struct hs_graph){.n_nodes = (uint32_t)n_nodes,
                             .n_tree = (uint32_t)n_tree,
                             .begin = begin,
                             .target = target,
                             .target_capacity = capacity};
    return HS_OK;
}

void hs_graph_fini(struct hs_graph *graph)
{
    if (graph == NULL || graph->begin == NULL)
        return;
    hs_pages_free(graph->begin, (size_t)graph->n_nodes + 1, sizeof(uint32_t));
    hs_pages_free(graph->target, graph->target_capacity, sizeof(uint32_t));
    *graph = (struct hs_graph){0};
}

/* ---- from a snapshot ---- */

/* Appends rows behind those that are there; the sweep has seen to it that they fit. */
static hs_status graph_append(void *context, const struct hs_rows *rows, struct hs_error *err)
{
    struct hs_graph *graph = context;
    uint32_t *begin = graph->begin + rows->first, base = *begin, n = rows->begin[rows->n];

    (void)err;
    assert(n <= graph->target_capacity - base);
    for (uint32_t i = 1; i <= rows->n; i++)
        begin[i] = base + rows->begin[i];
    if (n != 0)
        memcpy(graph->target + base, rows->target, n * sizeof *rows->target);
    return HS_OK;
}

static hs_status graph_load(const struct hs_snap *snap, const struct hs_edge_choice *choice,
                            const struct hs_progress *progress, struct hs_graph *graph,
                            struct hs_error *err)
{
    const struct hs_row_source source = {.snap = snap,
                                         .edges = choice->edges,
                                         .tiers = choice->tiers,
                                         .pointers_in = choice->pointers_in};
    const struct hs_row_sink sink = {graph_append, graph};
    struct hs_row_counts counts;

    HS_TRY(hs_rows_count(&source, &counts, err));
    HS_TRY(hs_graph_init(counts.n_nodes, counts.n_tree, counts.max_edges, graph, err));
    HS_TRY(hs_rows_sweep(&source, progress, &sink, err));
    graph->n_edges = graph->begin[graph->n_nodes];
    return HS_OK;
}

hs_status hs_graph_load_chosen(const struct hs_snap *snap, const struct hs_edge_choice *choice,
                               const struct hs_progress *progress, struct hs_graph *ret,
                               struct hs_error *err)
{
    struct hs_graph graph = {0};
    hs_status status = graph_load(snap, choice, progress, &graph, err);

    if (status == HS_OK)
        *ret = graph;
    else
        hs_graph_fini(&graph);
    return status;
}

hs_status hs_graph_load(const struct hs_snap *snap, enum hs_graph_edges edges,
                        const struct hs_progress *progress, struct hs_graph *ret,
                        struct hs_error *err)
{
    const struct hs_edge_choice choice = {.edges = edges};
    return hs_graph_load_chosen(snap, &choice, progress, ret, err);
}

/* ---- reversal ---- */

void hs_graph_reverse_begin(const struct hs_graph *graph, uint32_t *begin)
{
    for (uint64_t e = 0; e < graph->n_edges; e++)
        begin[graph->target[e]]++;
    for (uint32_t v = 0, sum = 0; v <= graph->n_nodes; v++) {
        uint32_t n = begin[v];
        begin[v] = sum;
        sum += n;
    }
}

void hs_graph_reverse_range(const struct hs_graph *graph, uint32_t *begin, uint32_t first,
                            uint32_t end, uint32_t *sources)
{
    uint32_t base = begin[first], n = end - first;

    for (uint32_t u = 0; u < graph->n_nodes; u++)
        for (uint32_t e = graph->begin[u]; e < graph->begin[u + 1]; e++) {
            uint32_t target = graph->target[e];
            if (target - first < n) /* wraps where it is smaller */
                sources[begin[target]++ - base] = u;
        }
}

hs_status hs_graph_reverse(const struct hs_graph *graph, struct hs_graph *ret, struct hs_error *err)
{
    struct hs_graph reverse;
    uint32_t n = graph->n_nodes;

    HS_TRY(hs_graph_init(n, graph->n_tree, graph->n_edges, &reverse, err));
    reverse.n_edges = graph->n_edges;
    hs_graph_reverse_begin(graph, reverse.begin);
    hs_graph_reverse_range(graph, reverse.begin, 0, n, reverse.target);
    /* Each row's begin has moved to its end, which is the begin of the next. */
    memmove(reverse.begin + 1, reverse.begin, (size_t)n * sizeof(uint32_t));
    reverse.begin[0] = 0;
    assert(reverse.begin[n] == graph->n_edges);
    *ret = reverse;
    return HS_OK;
}
