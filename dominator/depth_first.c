#include "depth_first.h"

#include <assert.h>

#include "dominator/dominators.h"
#include "graph/pages.h"

#define POPS_PER_TELL ((uint64_t)1 << 22)
/* The distances below the top of the stack at which begins and rows are prefetched. */
#define FETCH_BEGIN 5
#define FETCH_ROW 2

/* Entries are edges not yet followed, marked when taken (not when put), which makes the order a
 * true depth-first one: preorder number of the source above the target node, in one word. */
struct pending {
    struct engine_stack edges; /* of uint64_t */
    uint64_t n;
    uint64_t n_needed; /* when the search stopped for want of room */
};

void depth_first_fini(struct depth_first *search)
{
    struct hs_budget *budget = search->budget;

    edge_log_fini(&search->log);
    hs_parked_close(&search->parked_number);
    engine_array_fini(budget, &search->number, search->n_nodes);
    engine_array_fini(budget, &search->parent, search->n_nodes);
    engine_bitmap_fini(budget, &search->is_core);
    engine_bitmap_fini(budget, &search->is_resolved);
    *search = (struct depth_first){0};
}

hs_status depth_first_park(struct depth_first *search, struct hs_error *err)
{
    if (!search->is_tight)
        return HS_OK;
    HS_TRY(hs_parked_put(search->budget, "the search's numbers", search->number,
                         (uint64_t)search->n_nodes * sizeof *search->number, &search->parked_number,
                         err));
    engine_array_fini(search->budget, &search->number, search->n_nodes);
    return HS_OK;
}

static hs_status numbers_init(struct depth_first *search, struct hs_error *err)
{
    size_t n = search->n_nodes;
    HS_TRY(engine_array_init(search->budget, n, "the search's numbers", &search->number, err));
    hs_dense_advise(search->number, n * sizeof *search->number);
    return HS_OK;
}

hs_status depth_first_fetch(struct depth_first *search, struct hs_error *err)
{
    if (!search->is_tight)
        return HS_OK;
    HS_TRY(numbers_init(search, err));
    return hs_parked_get(&search->parked_number, search->number, err);
}

hs_status depth_first_alloc(struct depth_first *search, uint64_t n_edges, struct hs_error *err)
{
    struct hs_budget *budget = search->budget;
    size_t n = search->n_nodes;

    HS_TRY(numbers_init(search, err));
    HS_TRY(engine_array_init(budget, n, "the search's tree", &search->parent, err));
    hs_dense_advise(search->parent, n * sizeof *search->parent);
    HS_TRY(engine_bitmap_init(budget, n, "the core", &search->is_core, err));
    HS_TRY(engine_bitmap_init(budget, n, "the core", &search->is_resolved, err));
    return edge_log_init(budget, n_edges, search->is_tight, &search->log, err);
}

static hs_status search_alloc(const struct hs_graph *graph, struct depth_first *search,
                              struct pending *pending, struct hs_error *err)
{
    struct hs_budget *budget = search->budget;
    size_t n_edges = graph->n_edges;

    HS_TRY(depth_first_alloc(search, n_edges, err));
    HS_TRY(engine_stack_init(budget, n_edges + 1, sizeof(uint64_t), "the search's stack",
                             &pending->edges, err));
    if (budget == NULL)
        hs_dense_advise(pending->edges.items, (n_edges + 1) * sizeof(uint64_t));
    return HS_OK;
}

/* A child of the spine's end was numbered; `is_last`: no edge is pending any more. */
static void spine_enter(struct depth_first *search, uint32_t number, bool is_last)
{
    search->branch = number;
    if (is_last && search->n_spine < SPINE_MAX)
        search->spine[search->n_spine++] = number;
}

/* Follows up to `n_pops` pending edges, each of which may be logged; stops before a node whose row
 * has no room on the stack. */
static void search_run(const struct hs_graph *graph, struct depth_first *search,
                       struct pending *pending, uint64_t n_pops)
{
    const uint32_t *begin = graph->begin, *target = graph->target;
    uint32_t *number = search->number;
    uint64_t *stack = pending->edges.items;
    uint64_t n = pending->n, room = pending->edges.n_reserved;

    for (; n != 0 && n_pops != 0; n_pops--) {
        uint64_t edge = stack[--n];
        uint32_t node = (uint32_t)edge, source = (uint32_t)(edge >> 32);
        uint32_t known = number[node];
        if (known != 0) {
            depth_first_met(search, known - 1, source);
            continue;
        }
        if (begin[node + 1] - begin[node] > room - n) {
            pending->n_needed = n + (begin[node + 1] - begin[node]);
            n++;
            break;
        }
        uint32_t mine = search->n_reached++;
        number[node] = mine + 1;
        search->parent[mine] = source;
        uint64_t above = (uint64_t)mine << 32;
        if (source == search->spine[search->n_spine - 1])
            spine_enter(search, mine, n == 0 && node < graph->n_tree && node != 0);
        if (node < graph->n_tree) {
            /* The first child last: the kinds that hold most come first in the tree, and what lies
             * under the spine is the sooner resolved. */
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
    struct edge_log *log = &search->log;

    HS_TRY(search_alloc(graph, search, pending, err));
    *(uint64_t *)pending->edges.items = 0;
    pending->n = 1;
    while (pending->n != 0) {
        HS_TRY(hs_progress_tell(progress, "searching the graph", search->n_reached, graph->n_nodes,
                                err));
        HS_TRY(engine_stack_reserve(&pending->edges, pending->n_needed, err));
        search_run(graph, search, pending, search->is_tight ? edge_log_room(log) : POPS_PER_TELL);
        if (search->is_tight)
            HS_TRY(edge_log_flush(log, err));
    }
    assert(log->n <= log->capacity && search->n_reached <= search->n_nodes);
    return edge_log_end(log, err);
}

hs_status depth_first_search(const struct hs_graph *graph, struct hs_budget *budget,
                             const struct hs_progress *progress, struct depth_first *ret,
                             struct hs_error *err)
{
    struct pending pending = {0};
    struct depth_first search = {
        .budget = budget,
        .is_tight =
            hs_budget_left_bytes(budget) < hs_domtree_room_bytes(graph->n_nodes, graph->n_edges),
        .n_nodes = graph->n_nodes,
        .n_spine = 1,
    };

    assert(graph->n_nodes >= 1);
    hs_status status = search_all(graph, progress, &search, &pending, err);
    engine_stack_fini(&pending.edges);
    if (status == HS_OK)
        *ret = search;
    else
        depth_first_fini(&search);
    return status;
}

/* The search: numbers, parents and bits; edges that wait, and the log. Then, with the log still
 * there for some of it: labels, rows, sources, old parents and a path; this is more than climbing
 * needs. */
uint64_t hs_domtree_room_bytes(uint64_t n_nodes, uint64_t n_edges)
{
    enum { SLACK_BYTES = 64 << 10 };
    return 29 * n_nodes + 16 * n_edges + SLACK_BYTES;
}

/* Counts what is taken while searching, with as many edges that wait as there are, and blocks of
 * the log and of stacks; evaluating takes no more, with what is read in sequence in files. */
uint64_t hs_domtree_least_bytes(uint64_t n_nodes, uint64_t n_edges)
{
    return 9 * n_nodes + 8 * n_edges + 4 * HS_STORED_LEAST_BYTES;
}
