/* What pass_forest makes, made in memory of a small graph and without its cleverness, so that the
 * passes behind it can be tested alone. Everything that fails aborts. */
#ifndef HS_TEST_MADE_FOREST_H
#define HS_TEST_MADE_FOREST_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "passes/core_edges.h"
#include "passes/pass_steps.h"

struct made_forest {
    struct hs_budget budget;
    struct hs_passes passes;
    uint64_t *order;   /* owned: the node of each position */
    uint32_t *core_of; /* owned: by node: its core node, when it is one; else HS_NONE */
};

static inline void made_check(hs_status status)
{
    if (status != HS_OK)
        abort();
}

static inline void *made_zeroed(size_t n, size_t size)
{
    struct hs_error err;
    void *memory;
    made_check(hs_alloc(n, size, &memory, &err));
    return memory;
}

/* Sources of each node, each once and without itself. */
static inline struct hs_graph made_sources(const struct hs_graph *graph)
{
    struct hs_error err;
    struct hs_graph reverse;
    uint32_t out = 0, begin = 0;

    made_check(hs_graph_reverse(graph, &reverse, &err));
    for (uint32_t v = 0; v < reverse.n_nodes; v++) {
        uint32_t end = reverse.begin[v + 1], first = out;
        for (uint32_t e = begin; e < end; e++) {
            uint32_t source = reverse.target[e];
            if (source != v && (out == first || reverse.target[out - 1] != source))
                reverse.target[out++] = source;
        }
        begin = end;
        reverse.begin[v + 1] = out;
    }
    reverse.n_edges = out;
    return reverse;
}

static inline uint32_t made_degree(const struct hs_graph *sources, uint32_t node)
{
    return sources->begin[node + 1] - sources->begin[node];
}

static inline bool made_is_core(const struct hs_graph *sources, uint32_t node)
{
    return node == 0 || made_degree(sources, node) > 1;
}

/* Positions in order, with their depths: a search from each core node over single nodes. */
static inline uint64_t made_positions(struct made_forest *made, const struct hs_graph *graph,
                                      const struct hs_graph *sources, uint32_t *depth)
{
    uint64_t *stack = made_zeroed(graph->n_edges + 1, sizeof *stack), n_positions = 0;

    for (uint32_t root = 0; root < graph->n_nodes; root++) {
        made->core_of[root] = made_is_core(sources, root) ? made->passes.n_core++ : HS_NONE;
        if (made->core_of[root] == HS_NONE)
            continue;
        size_t n = 0;
        stack[n++] = root;
        while (n != 0) {
            uint64_t top = stack[--n], node = (uint32_t)top;
            depth[n_positions] = (uint32_t)(top >> 32);
            made->order[n_positions++] = node;
            for (uint32_t e = graph->begin[node + 1]; e-- > graph->begin[node];) {
                uint32_t child = graph->target[e];
                bool again = e > graph->begin[node] && graph->target[e - 1] == child;
                if (child != node && !again && !made_is_core(sources, child))
                    stack[n++] = ((top >> 32) + 1) << 32 | child;
            }
        }
    }
    hs_free(stack);
    return n_positions;
}

static inline void made_put(struct hs_passes *passes, struct core_edges *edges)
{
    struct hs_error err;

    /* Insertion: records of tests are short, or in order. */
    for (uint32_t i = 1; i < edges->n; i++) {
        uint64_t source = edges->source[i];
        uint32_t at = i;
        for (; at != 0 && edges->source[at - 1] > source; at--)
            edges->source[at] = edges->source[at - 1];
        edges->source[at] = source;
    }
    if (edges->n != 0)
        made_check(core_edges_put(&passes->core_edges, edges, &err));
    edges->n = 0;
}

static inline void made_edges(struct made_forest *made, const struct hs_graph *sources,
                              uint32_t per_record)
{
    struct core_edges *edges = made_zeroed(1, sizeof *edges);
    uint64_t *position = made_zeroed(sources->n_nodes, sizeof *position);

    for (uint64_t i = 0; i < made->passes.n_positions; i++)
        position[made->order[i]] = i + 1;
    for (uint32_t v = 1; v < sources->n_nodes; v++) {
        if (made->core_of[v] == HS_NONE)
            continue;
        edges->core = made->core_of[v];
        for (uint32_t e = sources->begin[v]; e < sources->begin[v + 1]; e++) {
            if (position[sources->target[e]] == 0)
                continue;
            edges->source[edges->n++] = position[sources->target[e]] - 1;
            if (edges->n == per_record)
                made_put(&made->passes, edges);
        }
        made_put(&made->passes, edges);
    }
    hs_free(position);
    hs_free(edges);
}

/* Rows of `graph` ascend. Records get at most per_record <= CORE_EDGES_MAX sources. */
static inline void made_forest_init(const struct hs_graph *graph, uint32_t per_record,
                                    struct made_forest *made)
{
    struct hs_error err;
    uint64_t n_set;

    *made = (struct made_forest){0};
    /* Thousands of short files: in memory where that is possible. */
    hs_budget_init(UINT64_MAX, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL, 1, &made->budget);
    struct hs_passes *passes = &made->passes;
    passes->budget = &made->budget;
    passes->n_nodes = graph->n_nodes;
    passes->n_tree = graph->n_tree;
    struct hs_graph sources = made_sources(graph);
    uint32_t *depth = made_zeroed(graph->n_nodes, sizeof *depth);
    made->order = made_zeroed(graph->n_nodes, sizeof *made->order);
    made->core_of = made_zeroed(graph->n_nodes, sizeof *made->core_of);
    passes->n_positions = made_positions(made, graph, &sources, depth);
    made_check(
        pass_bitmap_init(passes->budget, passes->n_positions, "heads", &passes->is_head, &err));
    made_check(hs_spill_open(passes->budget, "the order", &passes->order, &err));
    made_check(hs_spill_open(passes->budget, "the depths", &passes->depths, &err));
    made_check(hs_spill_open(passes->budget, "the edges", &passes->core_edges, &err));
    for (uint64_t i = 0; i < passes->n_positions; i++) {
        made_check(hs_spill_put_fixed(&passes->order, made->order[i], hs_ids_width(passes->n_nodes),
                                      &err));
        made_check(hs_spill_put_fixed(&passes->depths, depth[i], 4, &err));
        passes->max_depth = depth[i] > passes->max_depth ? depth[i] : passes->max_depth;
        if (depth[i] == 0)
            hs_bitmap_set(&passes->is_head, i);
    }
    made_check(hs_bitmap_index(&passes->is_head, &n_set, &err));
    made_edges(made, &sources, per_record);
    made_check(hs_spill_seal(&passes->order, &err));
    made_check(hs_spill_seal(&passes->depths, &err));
    made_check(hs_spill_seal(&passes->core_edges, &err));
    hs_free(depth);
    hs_graph_fini(&sources);
}

/* As it was before the core pass. */
static inline void made_forest_undo(struct made_forest *made)
{
    struct hs_passes *passes = &made->passes;

    pass_bitmap_fini(passes->budget, &passes->is_reached);
    pass_array_fini(passes->budget, &passes->region, passes->n_core);
    pass_array_fini(passes->budget, &passes->sequence, passes->n_core);
    hs_ids_fini(&passes->attach);
    passes->n_sequence = 0;
}

static inline void made_forest_fini(struct made_forest *made)
{
    hs_passes_fini(&made->passes);
    hs_free(made->order);
    hs_free(made->core_of);
}

#endif
