#include "strong_components.h"

#include <assert.h>

#include "graph/pages.h"

struct tarjan {
    const struct hs_graph *graph;
    uint32_t *number; /* 1 + preorder number; HS_NONE once the node has its component */
    uint32_t *low;    /* of open nodes; component of closed ones */
    uint32_t *path;   /* the search's way down */
    uint32_t *cursor; /* next edge, by node */
    uint32_t *open;   /* nodes without a component yet */
    uint32_t n_numbered, n_path, n_open, n_components;
};

static void tarjan_fini(struct tarjan *t)
{
    size_t n = t->graph->n_nodes;
    hs_pages_free(t->number, n, sizeof(uint32_t));
    hs_pages_free(t->low, n, sizeof(uint32_t));
    hs_pages_free(t->path, n, sizeof(uint32_t));
    hs_pages_free(t->cursor, n, sizeof(uint32_t));
    hs_pages_free(t->open, n, sizeof(uint32_t));
}

static hs_status tarjan_init(struct tarjan *t, struct hs_error *err)
{
    uint32_t **const arrays[] = {&t->number, &t->low, &t->path, &t->cursor, &t->open};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        void *memory;
        HS_TRY(hs_pages_alloc(t->graph->n_nodes, sizeof(uint32_t), &memory, err));
        *arrays[i] = memory;
    }
    return HS_OK;
}

static void tarjan_enter(struct tarjan *t, uint32_t node)
{
    t->number[node] = ++t->n_numbered;
    t->low[node] = t->n_numbered;
    t->cursor[node] = t->graph->begin[node];
    t->path[t->n_path++] = node;
    t->open[t->n_open++] = node;
}

/* The node's edges are done: closes its component when it is the component's first node. */
static void tarjan_leave(struct tarjan *t, uint32_t node)
{
    t->n_path--;
    if (t->low[node] == t->number[node]) {
        uint32_t member;
        do {
            member = t->open[--t->n_open];
            t->low[member] = t->n_components;
            t->number[member] = HS_NONE;
        } while (member != node);
        t->n_components++;
        return;
    }
    assert(t->n_path != 0);
    uint32_t up = t->path[t->n_path - 1];
    if (t->low[node] < t->low[up])
        t->low[up] = t->low[node];
}

static void tarjan_run(struct tarjan *t)
{
    const struct hs_graph *graph = t->graph;

    tarjan_enter(t, 0);
    while (t->n_path != 0) {
        uint32_t node = t->path[t->n_path - 1];
        uint32_t at = t->cursor[node], end = graph->begin[node + 1], found = HS_NONE;
        for (; at < end && found == HS_NONE; at++) {
            uint32_t target = graph->target[at], number = t->number[target];
            if (number == 0)
                found = target;
            else if (number < t->low[node]) /* closed nodes have HS_NONE */
                t->low[node] = number;
        }
        t->cursor[node] = at;
        if (found != HS_NONE)
            tarjan_enter(t, found);
        else
            tarjan_leave(t, node);
    }
    assert(t->n_open == 0);
}

hs_status strong_components_find(const struct hs_graph *graph, struct strong_components *ret,
                                 struct hs_error *err)
{
    struct tarjan t = {.graph = graph};

    assert(graph->n_nodes >= 1);
    hs_status status = tarjan_init(&t, err);
    if (status == HS_OK) {
        tarjan_run(&t);
        for (uint32_t i = 0; i < graph->n_nodes; i++)
            if (t.number[i] == 0)
                t.low[i] = HS_NONE;
        *ret = (struct strong_components){
            .n_nodes = graph->n_nodes, .n_components = t.n_components, .of = t.low};
        t.low = NULL;
    }
    tarjan_fini(&t);
    return status;
}

void strong_components_fini(struct strong_components *components)
{
    hs_pages_free(components->of, components->n_nodes, sizeof(uint32_t));
    *components = (struct strong_components){0};
}
