#include "depth_first.h"

#include <assert.h>

#include "graph/pages.h"

#define POPS_PER_TELL ((uint64_t)1 << 22)
/* How far below the top of the stack rows are fetched ahead. */
#define FETCH_BEGIN 5
#define FETCH_ROW 2

/* Entries are edges not yet followed, marked when taken (not when put), which makes the order a
 * true depth-first one: preorder number of the source above the target node, in one word. */
struct pending {
    uint64_t *edges;
    uint64_t n, capacity;
};

void depth_first_drop_log(struct depth_first *search)
{
    hs_pages_free(search->log, search->log_capacity, sizeof *search->log);
    search->log = NULL;
    search->log_capacity = search->n_log = 0;
}

void depth_first_fini(struct depth_first *search)
{
    size_t n = search->n_nodes;
    depth_first_drop_log(search);
    hs_pages_free(search->number, n, sizeof *search->number);
    hs_pages_free(search->parent, n, sizeof *search->parent);
    *search = (struct depth_first){0};
}

static hs_status search_alloc(const struct hs_graph *graph, struct depth_first *search,
                              struct pending *pending, struct hs_error *err)
{
    size_t n = graph->n_nodes;
    void *memory;

    *search = (struct depth_first){.n_nodes = graph->n_nodes, .n_spine = 1};
    HS_TRY(hs_dense_pages(n, sizeof *search->number, &memory, err));
    search->number = memory;
    HS_TRY(hs_dense_pages(n, sizeof *search->parent, &memory, err));
    search->parent = memory;
    HS_TRY(hs_dense_pages(graph->n_edges, sizeof *search->log, &memory, err));
    search->log = memory;
    search->log_capacity = graph->n_edges;
    HS_TRY(hs_pages_alloc(graph->n_edges + 1, sizeof *pending->edges, &memory, err));
    pending->edges = memory;
    pending->capacity = graph->n_edges + 1;
    return HS_OK;
}

/* A child of the spine's end was numbered; `is_last`: no edge is pending any more. */
static void spine_enter(struct depth_first *search, uint32_t number, bool is_last)
{
    search->branch = number;
    if (is_last && search->n_spine < SPINE_MAX)
        search->spine[search->n_spine++] = number;
}

static inline void edge_met(struct depth_first *search, uint32_t target, uint32_t source)
{
    if (target == 0 || target == source)
        return;
    if (target < search->branch || source < search->branch)
        source = depth_first_bound(search, target);
    search->log[search->n_log++] = (struct numbered_edge){target, source};
}

/* Follows up to `budget` pending edges. */
static void search_run(const struct hs_graph *graph, struct depth_first *search,
                       struct pending *pending, uint64_t budget)
{
    const uint32_t *begin = graph->begin, *target = graph->target;
    uint32_t *number = search->number;
    uint64_t *stack = pending->edges;
    uint64_t n = pending->n;

    for (; n != 0 && budget != 0; budget--) {
        uint64_t edge = stack[--n];
        uint32_t node = (uint32_t)edge, source = (uint32_t)(edge >> 32);
        uint32_t known = number[node];
        if (known != 0) {
            edge_met(search, known - 1, source);
            continue;
        }
        uint32_t mine = search->n_reached++;
        number[node] = mine + 1;
        search->parent[mine] = source;
        uint64_t above = (uint64_t)mine << 32;
        if (source == search->spine[search->n_spine - 1])
            spine_enter(search, mine, n == 0 && node < graph->n_tree && node != 0);
        if (node < graph->n_tree) {
            /* The first child last: the kinds that hold most come first in the tree, and what lies
             * under the spine is the sooner settled. */
            for (uint32_t e = begin[node]; e < begin[node + 1]; e++)
                stack[n++] = above | target[e];
            continue;
        }
        for (uint32_t e = begin[node + 1], first = begin[node]; e-- > first;) {
            __builtin_prefetch(&number[target[e]]);
            stack[n++] = above | target[e];
        }
        if (n > FETCH_BEGIN) {
            __builtin_prefetch(&begin[(uint32_t)stack[n - 1 - FETCH_BEGIN]]);
            __builtin_prefetch(&target[begin[(uint32_t)stack[n - 1 - FETCH_ROW]]]);
        }
    }
    pending->n = n;
}

static hs_status search_all(const struct hs_graph *graph, const struct hs_progress *progress,
                            struct depth_first *search, struct pending *pending,
                            struct hs_error *err)
{
    HS_TRY(search_alloc(graph, search, pending, err));
    pending->edges[pending->n++] = 0;
    while (pending->n != 0) {
        HS_TRY(hs_progress_tell(progress, "searching the graph", search->n_reached, graph->n_nodes,
                                err));
        search_run(graph, search, pending, POPS_PER_TELL);
    }
    assert(search->n_log <= search->log_capacity && search->n_reached <= search->n_nodes);
    return HS_OK;
}

hs_status depth_first_search(const struct hs_graph *graph, const struct hs_progress *progress,
                             struct depth_first *ret, struct hs_error *err)
{
    struct pending pending = {0};
    struct depth_first search = {0};

    assert(graph->n_nodes >= 1);
    hs_status status = search_all(graph, progress, &search, &pending, err);
    hs_pages_free(pending.edges, pending.capacity, sizeof *pending.edges);
    if (status == HS_OK)
        *ret = search;
    else
        depth_first_fini(&search);
    return status;
}
