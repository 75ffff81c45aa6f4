#include "heap_edges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void bench_must(hs_status status, const struct hs_error *err)
{
    if (status == HS_OK)
        return;
    (void)fprintf(stderr, "bench: %s\n", err->message);
    exit(EXIT_FAILURE);
}

void *bench_pages(size_t n, size_t size)
{
    struct hs_error err;
    void *memory;
    bench_must(hs_pages_alloc(n, size, &memory, &err), &err);
    return memory;
}

uint64_t bench_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1DULL;
}

void heap_edges_init(struct heap_edges *edges, size_t capacity)
{
    *edges = (struct heap_edges){.ends = bench_pages(capacity * 2, sizeof(uint32_t)),
                                 .capacity = capacity};
}

void heap_edges_add(struct heap_edges *edges, uint32_t source, uint32_t target)
{
    if (edges->n == edges->capacity) {
        size_t capacity = edges->capacity * 2;
        uint32_t *ends = bench_pages(capacity * 2, sizeof(uint32_t));
        memcpy(ends, edges->ends, edges->n * 2 * sizeof(uint32_t));
        hs_pages_free(edges->ends, edges->capacity * 2, sizeof(uint32_t));
        edges->ends = ends;
        edges->capacity = capacity;
    }
    edges->ends[2 * edges->n] = source;
    edges->ends[2 * edges->n + 1] = target;
    edges->n++;
}

static struct hs_graph edges_by_source(const struct heap_edges *edges, uint32_t n, uint32_t n_tree)
{
    struct hs_error err;
    struct hs_graph graph;

    bench_must(hs_graph_init(n, n_tree, edges->n, &graph, &err), &err);
    for (size_t i = 0; i < edges->n; i++)
        graph.begin[edges->ends[2 * i] + 1]++;
    for (uint32_t i = 0; i < n; i++)
        graph.begin[i + 1] += graph.begin[i];
    for (size_t i = 0; i < edges->n; i++)
        graph.target[graph.begin[edges->ends[2 * i]]++] = edges->ends[2 * i + 1];
    memmove(graph.begin + 1, graph.begin, (size_t)n * sizeof(uint32_t));
    graph.begin[0] = 0;
    graph.n_edges = edges->n;
    return graph;
}

struct hs_graph heap_edges_graph(struct heap_edges *edges, uint32_t n_nodes, uint32_t n_tree)
{
    struct hs_error err;
    struct hs_graph graph = edges_by_source(edges, n_nodes, n_tree), reverse;
    uint32_t out = 0, begin = 0;

    hs_pages_free(edges->ends, edges->capacity * 2, sizeof(uint32_t));
    *edges = (struct heap_edges){0};
    /* Turned round twice, rows ascend. */
    bench_must(hs_graph_reverse(&graph, &reverse, &err), &err);
    hs_graph_fini(&graph);
    bench_must(hs_graph_reverse(&reverse, &graph, &err), &err);
    hs_graph_fini(&reverse);
    for (uint32_t u = 0; u < n_nodes; u++) {
        uint32_t end = graph.begin[u + 1], row = out;
        for (uint32_t e = begin; e < end; e++)
            if (out == row || graph.target[out - 1] != graph.target[e])
                graph.target[out++] = graph.target[e];
        begin = end;
        graph.begin[u + 1] = out;
    }
    graph.n_edges = out;
    return graph;
}
