/* The dominator tree in pieces (passes/passes.h) of a small graph in memory, made the plain way
 * from what hs_domtree_build finds, for tests of what reads it. Header only, so that nothing else
 * links the passes. Everything that fails aborts.
 *
 * `seed` varies what is left open: the order of children in a region, the length of records. */
#ifndef HS_TEST_MADE_PASSES_H
#define HS_TEST_MADE_PASSES_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "dominator/dominators.h"
#include "passes/core_edges.h"
#include "passes/pass_steps.h"
#include "passes/passes.h"

static void made_must(hs_status status, const struct hs_error *err)
{
    if (status == HS_OK)
        return;
    (void)fprintf(stderr, "made passes: %s\n", err->message);
    abort();
}

/* No limit; thousands of small files in memory, since each would be sent to disk. */
static inline void made_budget_init(struct hs_budget *ret)
{
    hs_budget_init(UINT64_MAX, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL, 1, ret);
}

struct made_passes {
    const struct hs_graph *graph;
    struct hs_graph reverse;
    uint32_t *single;      /* by node: its only predecessor; HS_NONE: none, or several */
    uint32_t *core_of;     /* by node: its own number among the core nodes, or HS_NONE */
    uint32_t *position_of; /* by node, or HS_NONE */
    uint32_t *region_of;   /* by node: the core node it hangs under */
    uint64_t seed;
    struct hs_passes *passes;
};

static uint32_t *made_array(uint32_t n)
{
    struct hs_error err;
    void *memory;
    made_must(hs_alloc(n + (size_t)1, sizeof(uint32_t), &memory, &err), &err);
    for (uint32_t i = 0; i < n; i++)
        ((uint32_t *)memory)[i] = HS_NONE;
    return memory;
}

/* Distinct predecessors, self loops left out. */
static void made_find_single(struct made_passes *made)
{
    for (uint32_t v = 0; v < made->graph->n_nodes; v++) {
        uint32_t n, n_distinct = 0, last = HS_NONE;
        const uint32_t *row = hs_graph_row(&made->reverse, v, &n);
        for (uint32_t i = 0; i < n; i++) {
            if (row[i] == v || row[i] == last)
                continue;
            last = row[i];
            n_distinct++;
        }
        made->single[v] = v != 0 && n_distinct == 1 ? last : HS_NONE;
        if (v == 0 || n_distinct > 1)
            made->core_of[v] = made->passes->n_core++;
    }
}

static void made_put_position(struct made_passes *made, uint32_t node, uint32_t depth,
                              uint32_t core)
{
    struct hs_passes *passes = made->passes;
    struct hs_error err;
    unsigned width = hs_ids_width(passes->n_nodes);

    made->position_of[node] = (uint32_t)passes->n_positions++;
    made->region_of[node] = core;
    made_must(hs_spill_put_fixed(&passes->order, node, width, &err), &err);
    made_must(hs_spill_put_fixed(&passes->depths, depth, 4, &err), &err);
    if (depth > passes->max_depth)
        passes->max_depth = depth;
}

/* Nodes by single predecessor: rows as in a graph. */
static void made_children(const struct made_passes *made, uint32_t *begin, uint32_t *child)
{
    uint32_t n = made->graph->n_nodes, sum = 0;

    for (uint32_t v = 0; v <= n; v++)
        begin[v] = 0;
    for (uint32_t v = 0; v < n; v++)
        if (made->single[v] != HS_NONE)
            begin[made->single[v]]++;
    for (uint32_t v = 0; v < n; v++) {
        sum += begin[v];
        begin[v] = sum;
    }
    begin[n] = sum;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t v = made->seed % 2 == 0 ? i : n - 1 - i;
        if (made->single[v] != HS_NONE)
            child[--begin[made->single[v]]] = v;
    }
}

static void made_regions(struct made_passes *made)
{
    uint32_t n = made->graph->n_nodes, *begin = made_array(n + 1), *child = made_array(n);
    uint32_t *stack = made_array(n), *depth = made_array(n);

    made_children(made, begin, child);
    for (uint32_t head = 0; head < n; head++) {
        uint32_t n_stack = 0;
        if (made->core_of[head] == HS_NONE)
            continue;
        depth[head] = 0;
        stack[n_stack++] = head;
        while (n_stack != 0) {
            uint32_t node = stack[--n_stack];
            made_put_position(made, node, depth[node], made->core_of[head]);
            for (uint32_t i = begin[node]; i < begin[node + 1]; i++) {
                depth[child[i]] = depth[node] + 1;
                stack[n_stack++] = child[i];
            }
        }
    }
    hs_free(begin);
    hs_free(child);
    hs_free(stack);
    hs_free(depth);
}

static int made_compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void made_put_record(struct made_passes *made, uint32_t core, uint32_t *sources, uint32_t n)
{
    struct hs_spill *spill = &made->passes->core_edges;
    struct hs_error err;

    qsort(sources, n, sizeof *sources, made_compare);
    made_must(hs_spill_put_varint(spill, core, &err), &err);
    made_must(hs_spill_put_varint(spill, n, &err), &err);
    for (uint32_t i = 0; i < n; i++)
        made_must(
            hs_spill_put_varint(spill, i == 0 ? sources[0] : sources[i] - sources[i - 1] - 1, &err),
            &err);
}

static void made_core_edges(struct made_passes *made)
{
    uint32_t most = made->seed % 3 == 0 ? 2 : CORE_EDGES_MAX, sources[CORE_EDGES_MAX];

    for (uint32_t v = 1; v < made->graph->n_nodes; v++) {
        uint32_t n, n_sources = 0, last = HS_NONE;
        const uint32_t *row = hs_graph_row(&made->reverse, v, &n);
        for (uint32_t i = 0; i < n && made->core_of[v] != HS_NONE; i++) {
            if (row[i] == v || row[i] == last || made->position_of[row[i]] == HS_NONE)
                continue;
            last = row[i];
            sources[n_sources++] = made->position_of[last];
            if (n_sources == most) {
                made_put_record(made, made->core_of[v], sources, n_sources);
                n_sources = 0;
            }
        }
        if (n_sources != 0)
            made_put_record(made, made->core_of[v], sources, n_sources);
    }
}

static void made_heads(struct made_passes *made)
{
    struct hs_passes *passes = made->passes;
    struct hs_error err;
    uint64_t n;

    made_must(
        pass_bitmap_init(passes->budget, passes->n_positions, "heads", &passes->is_head, &err),
        &err);
    for (uint32_t v = 0; v < made->graph->n_nodes; v++)
        if (made->core_of[v] != HS_NONE)
            hs_bitmap_set(&passes->is_head, made->position_of[v]);
    made_must(hs_bitmap_index(&passes->is_head, &n, &err), &err);
    assert(n == passes->n_core);
}

/* In preorder, where a dominator comes before what it dominates. */
static void made_tree(struct made_passes *made, const struct hs_domtree *tree)
{
    struct hs_passes *passes = made->passes;
    struct hs_error err;
    uint32_t *order = NULL;

    made_must(
        pass_bitmap_init(passes->budget, passes->n_core, "reached", &passes->is_reached, &err),
        &err);
    made_must(pass_array_init(passes->budget, passes->n_core, "region", &passes->region, &err),
              &err);
    made_must(pass_array_init(passes->budget, passes->n_core, "sequence", &passes->sequence, &err),
              &err);
    made_must(hs_ids_init(passes->n_core, passes->n_positions, passes->budget, "attach",
                          &passes->attach, &err),
              &err);
    hs_ids_fill_none(&passes->attach);
    for (uint32_t i = 0; i < passes->n_core; i++)
        passes->region[i] = HS_NONE;
    made_must(hs_domtree_order(tree, &order, &err), &err);
    for (uint32_t i = 0; i < tree->n_reached; i++) {
        uint32_t core = made->core_of[order[i]], idom = order[tree->idom[i]];
        if (core == HS_NONE)
            continue;
        hs_bitmap_set(&passes->is_reached, core);
        passes->sequence[passes->n_sequence++] = core;
        if (i == 0)
            continue;
        passes->region[core] = made->region_of[idom];
        hs_ids_set(&passes->attach, core, made->position_of[idom]);
    }
    hs_pages_free(order, tree->n_nodes, sizeof *order);
}

static inline void made_passes_init(const struct hs_graph *graph, const struct hs_domtree *tree,
                                    uint64_t seed, struct hs_budget *budget, struct hs_passes *ret)
{
    struct made_passes made = {.graph = graph, .seed = seed, .passes = ret};
    struct hs_error err;
    uint32_t n = graph->n_nodes;

    *ret = (struct hs_passes){.n_nodes = n, .n_tree = graph->n_tree, .budget = budget};
    made_must(hs_graph_reverse(graph, &made.reverse, &err), &err);
    made_must(hs_spill_open(budget, "order", &ret->order, &err), &err);
    made_must(hs_spill_open(budget, "depths", &ret->depths, &err), &err);
    made_must(hs_spill_open(budget, "edges into core nodes", &ret->core_edges, &err), &err);
    made.single = made_array(n);
    made.core_of = made_array(n);
    made.position_of = made_array(n);
    made.region_of = made_array(n);
    made_find_single(&made);
    made_regions(&made);
    made_core_edges(&made);
    made_heads(&made);
    made_tree(&made, tree);
    made_must(hs_spill_seal(&ret->order, &err), &err);
    made_must(hs_spill_seal(&ret->depths, &err), &err);
    made_must(hs_spill_seal(&ret->core_edges, &err), &err);
    hs_free(made.single);
    hs_free(made.core_of);
    hs_free(made.position_of);
    hs_free(made.region_of);
    hs_graph_fini(&made.reverse);
}

/* The same as hs_passes_fini, for tests that link less. */
static inline void made_passes_fini(struct hs_passes *passes)
{
    hs_spill_close(&passes->order);
    hs_spill_close(&passes->depths);
    hs_spill_close(&passes->core_edges);
    pass_bitmap_fini(passes->budget, &passes->is_head);
    pass_bitmap_fini(passes->budget, &passes->is_reached);
    pass_array_fini(passes->budget, &passes->region, passes->n_core);
    pass_array_fini(passes->budget, &passes->sequence, passes->n_core);
    hs_ids_fini(&passes->attach);
    *passes = (struct hs_passes){0};
}

#endif
