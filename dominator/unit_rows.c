#include "unit_rows.h"

#include <string.h>

#include "graph/pages.h"

void unit_rows_restore(uint32_t *begin, uint32_t n)
{
    memmove(begin + 1, begin, (size_t)n * sizeof(uint32_t));
    begin[0] = 0;
}

void unit_rows_accumulate(uint32_t *begin, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        begin[i + 1] += begin[i];
}

/* Keeps one of equal targets per row; `seen` is zeroed, one entry per node. */
static void rows_unique(struct hs_graph *graph, uint32_t *seen)
{
    uint32_t out = 0, begin = 0;
    for (uint32_t u = 0; u < graph->n_nodes; u++) {
        uint32_t end = graph->begin[u + 1];
        for (uint32_t e = begin; e < end; e++) {
            uint32_t target = graph->target[e];
            if (seen[target] == u + 1)
                continue;
            seen[target] = u + 1;
            graph->target[out++] = target;
        }
        begin = end;
        graph->begin[u + 1] = out;
    }
    graph->n_edges = out;
}

hs_status unit_rows_unique(struct hs_graph *graph, struct hs_error *err)
{
    void *seen;

    HS_TRY(hs_pages_alloc(graph->n_nodes, sizeof(uint32_t), &seen, err));
    rows_unique(graph, seen);
    hs_pages_free(seen, graph->n_nodes, sizeof(uint32_t));
    return HS_OK;
}
