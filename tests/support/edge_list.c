/* links: hs_graph */
#include "edge_list.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

static void must(hs_status status, const struct hs_error *err)
{
    if (status == HS_OK)
        return;
    (void)fprintf(stderr, "edge list: %s\n", err->message);
    abort();
}

void hs_edge_list_add(struct hs_edge_list *list, uint32_t source, uint32_t target)
{
    struct hs_error err;
    void *ends = list->ends;
    must(hs_grow(&ends, &list->capacity, 2 * list->n_edges + 2, sizeof *list->ends, &err), &err);
    list->ends = ends;
    list->ends[2 * list->n_edges] = source;
    list->ends[2 * list->n_edges + 1] = target;
    list->n_edges++;
}

void hs_edge_list_fini(struct hs_edge_list *list)
{
    hs_free(list->ends);
    *list = (struct hs_edge_list){0};
}

/* Rows in the order of the list. */
static struct hs_graph list_graph(const struct hs_edge_list *list, uint32_t n_nodes,
                                  uint32_t n_tree)
{
    struct hs_error err;
    struct hs_graph graph = {0};

    must(hs_graph_init(n_nodes, n_tree, list->n_edges, &graph, &err), &err);
    graph.n_edges = list->n_edges;
    for (size_t i = 0; i < list->n_edges; i++)
        graph.begin[list->ends[2 * i] + 1]++;
    for (uint32_t i = 0; i < n_nodes; i++)
        graph.begin[i + 1] += graph.begin[i];
    for (size_t i = list->n_edges; i-- > 0;) /* begin + 1 moves from the end of the row down */
        graph.target[--graph.begin[list->ends[2 * i] + 1]] = list->ends[2 * i + 1];
    for (uint32_t i = 0; i < n_nodes; i++)
        graph.begin[i] = graph.begin[i + 1];
    graph.begin[n_nodes] = (uint32_t)list->n_edges;
    return graph;
}

static void graph_drop_duplicates(struct hs_graph *graph)
{
    uint32_t out = 0, begin = 0;
    for (uint32_t u = 0; u < graph->n_nodes; u++) {
        uint32_t end = graph->begin[u + 1], row = out;
        for (uint32_t e = begin; e < end; e++)
            if (out == row || graph->target[out - 1] != graph->target[e])
                graph->target[out++] = graph->target[e];
        begin = end;
        graph->begin[u + 1] = out;
    }
    graph->n_edges = out;
}

struct hs_graph hs_edge_list_graph(const struct hs_edge_list *list, uint32_t n_nodes,
                                   uint32_t n_tree, bool keep_duplicates)
{
    struct hs_error err;
    struct hs_graph graph = list_graph(list, n_nodes, n_tree), reverse = {0};

    /* Turned round twice, the rows ascend. */
    must(hs_graph_reverse(&graph, &reverse, &err), &err);
    hs_graph_fini(&graph);
    must(hs_graph_reverse(&reverse, &graph, &err), &err);
    hs_graph_fini(&reverse);
    if (!keep_duplicates)
        graph_drop_duplicates(&graph);
    return graph;
}

uint64_t hs_random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1DULL;
}

uint32_t hs_random_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(((hs_random_next(state) >> 32) * n) >> 32);
}

/* Inner nodes 1 ..: 2 kinds, 3 modules, 5 units; then the leaves. Returns the tree's size. */
static uint32_t random_tree(uint64_t *random, const struct hs_random_shape *shape,
                            struct hs_edge_list *list)
{
    enum { KINDS = 1, MODULES = 3, UNITS = 6, LEAVES = 11 };

    if (shape->flat)
        return 1;
    for (uint32_t i = KINDS; i < LEAVES; i++) {
        uint32_t parent = i < MODULES ? 0 : i < UNITS ? KINDS + i % 2 : MODULES + i % 3;
        hs_edge_list_add(list, parent, i);
    }
    for (uint32_t i = 0; i < shape->n_leaves; i++)
        hs_edge_list_add(list, UNITS + hs_random_below(random, LEAVES - UNITS), LEAVES + i);
    return LEAVES + shape->n_leaves;
}

struct hs_graph hs_random_graph(uint64_t seed, const struct hs_random_shape *shape)
{
    uint64_t random = seed * 2 + 1;
    struct hs_edge_list list = {0};
    uint32_t n_tree = random_tree(&random, shape, &list);
    uint32_t n = shape->n_blocks;

    for (int i = 0; i < 8; i++)
        (void)hs_random_next(&random);
    for (uint32_t i = 0; i < shape->n_leaves; i++) {
        uint32_t leaf = shape->flat ? 0 : n_tree - 1 - i;
        if (shape->flat || hs_random_below(&random, 8) != 0)
            hs_edge_list_add(&list, leaf, n_tree + hs_random_below(&random, n));
    }
    for (uint32_t i = 0; i < shape->n_edges; i++) {
        uint32_t u = hs_random_below(&random, n), v = hs_random_below(&random, n);
        if (shape->local && hs_random_below(&random, 16) != 0)
            v = (u + hs_random_below(&random, 9) + n - 3) % n;
        hs_edge_list_add(&list, n_tree + u, n_tree + v);
        if (shape->keep_duplicates && i % 5 == 0)
            hs_edge_list_add(&list, n_tree + u, n_tree + v);
    }
    struct hs_graph graph = hs_edge_list_graph(&list, n_tree + n, n_tree, shape->keep_duplicates);
    hs_edge_list_fini(&list);
    return graph;
}

struct hs_graph hs_held_graph(const struct hs_graph *graph, uint64_t seed, uint32_t n_held)
{
    struct hs_edge_list list = {0};
    uint64_t random = seed + 7;
    for (uint32_t u = 0; u < graph->n_nodes; u++)
        for (uint32_t e = graph->begin[u]; e < graph->begin[u + 1]; e++)
            hs_edge_list_add(&list, u, graph->target[e]);
    for (uint32_t i = 0; i < n_held; i++)
        hs_edge_list_add(&list, 0,
                         graph->n_tree + hs_random_below(&random, graph->n_nodes - graph->n_tree));
    struct hs_graph ret = hs_edge_list_graph(&list, graph->n_nodes, graph->n_tree, false);
    hs_edge_list_fini(&list);
    return ret;
}
