/* links: hs_dominator hs_graph hs_base */
#include "lengauer_tarjan.h"

#include <assert.h>

#include "graph/pages.h"

enum lt_array {
    LT_NUMBER, /* by node: 1 + preorder number */
    LT_IDOM,   /* this and all below by preorder number */
    LT_PARENT,
    LT_NODE,
    LT_SEMI,
    LT_LABEL,
    LT_ANCESTOR, /* HS_NONE: root of its tree in the forest */
    LT_BUCKET,   /* first node whose semidominator this is */
    LT_NEXT,     /* the next one in that bucket */
    LT_STACK,
    LT_N_ARRAYS
};

struct lt_state {
    const struct hs_graph *graph;
    struct hs_graph reverse;
    uint32_t *array[LT_N_ARRAYS];
    uint32_t n_reached;
};

static hs_status lt_init(const struct hs_graph *graph, struct lt_state *lt, struct hs_error *err)
{
    *lt = (struct lt_state){.graph = graph};
    HS_TRY(hs_graph_reverse(graph, &lt->reverse, err));
    for (int i = 0; i < LT_N_ARRAYS; i++) {
        void *memory;
        HS_TRY(hs_dense_pages(graph->n_nodes, sizeof(uint32_t), &memory, err));
        lt->array[i] = memory;
    }
    return HS_OK;
}

static void lt_fini(struct lt_state *lt)
{
    hs_graph_fini(&lt->reverse);
    for (int i = 0; i < LT_N_ARRAYS; i++)
        hs_pages_free(lt->array[i], lt->graph->n_nodes, sizeof(uint32_t));
}

/* Recursion turned into a stack of nodes, each with the next edge to follow in LT_LABEL. */
static void lt_search(struct lt_state *lt)
{
    uint32_t *number = lt->array[LT_NUMBER], *cursor = lt->array[LT_LABEL];
    uint32_t *stack = lt->array[LT_STACK], n = 1;

    number[0] = 1;
    cursor[0] = lt->graph->begin[0];
    lt->n_reached = 1;
    while (n != 0) {
        uint32_t u = stack[n - 1];
        if (cursor[u] == lt->graph->begin[u + 1]) {
            n--;
            continue;
        }
        uint32_t w = lt->graph->target[cursor[u]++];
        if (number[w] != 0)
            continue;
        lt->array[LT_PARENT][lt->n_reached] = number[u] - 1;
        lt->array[LT_NODE][lt->n_reached] = w;
        number[w] = ++lt->n_reached;
        cursor[w] = lt->graph->begin[w];
        stack[n++] = w;
    }
}

static uint32_t lt_eval(struct lt_state *lt, uint32_t v)
{
    uint32_t *ancestor = lt->array[LT_ANCESTOR], *label = lt->array[LT_LABEL];
    const uint32_t *semi = lt->array[LT_SEMI];
    uint32_t *stack = lt->array[LT_STACK], n = 0;

    if (ancestor[v] == HS_NONE)
        return v;
    for (uint32_t u = v; ancestor[ancestor[u]] != HS_NONE; u = ancestor[u])
        stack[n++] = u;
    while (n-- > 0) {
        uint32_t x = stack[n], up = ancestor[x];
        if (semi[label[up]] < semi[label[x]])
            label[x] = label[up];
        ancestor[x] = ancestor[up];
    }
    return label[v];
}

static void lt_semidominator(struct lt_state *lt, uint32_t w)
{
    uint32_t node = lt->array[LT_NODE][w], n;
    const uint32_t *source = hs_graph_row(&lt->reverse, node, &n);
    uint32_t *semi = lt->array[LT_SEMI];

    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = lt->array[LT_NUMBER][source[i]];
        if (v == 0)
            continue; /* not reached: takes no part */
        uint32_t u = lt_eval(lt, v - 1);
        if (semi[u] < semi[w])
            semi[w] = semi[u];
    }
}

static void lt_dominators(struct lt_state *lt)
{
    uint32_t *idom = lt->array[LT_IDOM], *semi = lt->array[LT_SEMI];
    uint32_t *bucket = lt->array[LT_BUCKET], *next = lt->array[LT_NEXT];

    for (uint32_t w = 0; w < lt->n_reached; w++) {
        semi[w] = lt->array[LT_LABEL][w] = w;
        lt->array[LT_ANCESTOR][w] = bucket[w] = HS_NONE;
    }
    for (uint32_t w = lt->n_reached; w-- > 1;) {
        uint32_t parent = lt->array[LT_PARENT][w];
        lt_semidominator(lt, w);
        next[w] = bucket[semi[w]];
        bucket[semi[w]] = w;
        lt->array[LT_ANCESTOR][w] = parent;
        for (uint32_t v = bucket[parent]; v != HS_NONE; v = next[v]) {
            uint32_t u = lt_eval(lt, v);
            idom[v] = semi[u] < semi[v] ? u : parent;
        }
        bucket[parent] = HS_NONE;
    }
    for (uint32_t w = 1; w < lt->n_reached; w++)
        if (idom[w] != semi[w])
            idom[w] = idom[idom[w]];
    idom[0] = 0;
}

hs_status hs_lengauer_tarjan(const struct hs_graph *graph, struct hs_domtree *ret,
                             struct hs_error *err)
{
    struct lt_state lt;

    assert(graph->n_nodes >= 1);
    hs_status status = lt_init(graph, &lt, err);
    if (status == HS_OK) {
        lt_search(&lt);
        lt_dominators(&lt);
        *ret = (struct hs_domtree){.n_nodes = graph->n_nodes,
                                   .n_reached = lt.n_reached,
                                   .number = lt.array[LT_NUMBER],
                                   .idom = lt.array[LT_IDOM]};
        lt.array[LT_NUMBER] = lt.array[LT_IDOM] = NULL;
    }
    lt_fini(&lt);
    return status;
}
