/* Turns semidominators into immediate dominators: w's is the deepest ancestor of w's tree parent,
 * in the dominator tree made so far, that is not below w's semidominator (Georgiadis, "Linear-time
 * algorithms for dominators and related problems", 2005, the SEMI-NCA step). Climbing is quadratic
 * on heaps that exist: a long list that ends in an array whose elements are shared. So it goes by
 * skew-binary jump pointers (Myers, "An applicative random-access stack", 1983), log n each. */
#include "dominator/dominators.h"

#include <assert.h>

#include "graph/pages.h"
#include "semidominators.h"

/* Steps to the immediate dominator before jump pointers are made for the path. */
#define FREE_STEPS 4

/* Jump pointers of those nodes only from which a climb was long; depth 0 = not yet made. */
struct jumps {
    struct hs_budget *budget;
    uint32_t *idom;
    uint32_t *depth, *to; /* NULL before the first long climb */
    size_t n;
    uint64_t n_steps;
};

static hs_status jumps_init(struct jumps *jumps, struct hs_error *err)
{
    const char *what = "climbs to dominators";
    HS_TRY(engine_array_init(jumps->budget, jumps->n, what, &jumps->depth, err));
    return engine_array_init(jumps->budget, jumps->n, what, &jumps->to, err);
}

static void jumps_fini(struct jumps *jumps)
{
    engine_array_fini(jumps->budget, &jumps->depth, jumps->n);
    engine_array_fini(jumps->budget, &jumps->to, jumps->n);
}

/* Makes the pointers of `node` and of everything above it: once per node in all. The way back down
 * stands in those that are not made yet. */
static void jumps_make(struct jumps *jumps, uint32_t node)
{
    uint32_t *depth = jumps->depth, *to = jumps->to, below = 0;

    for (; node != 0 && depth[node] == 0; node = jumps->idom[node]) {
        to[node] = below;
        below = node;
        jumps->n_steps++;
    }
    while (below != 0) {
        uint32_t x = below, up = jumps->idom[x], far = to[up];
        assert(up < x);
        below = to[x];
        depth[x] = depth[up] + 1;
        to[x] = depth[up] - depth[far] == depth[far] - depth[to[far]] ? to[far] : up;
    }
}

/* The first node <= semi on the way from *ret to the root. */
static hs_status jumps_climb(struct jumps *jumps, uint32_t semi, uint32_t *ret,
                             struct hs_error *err)
{
    uint32_t node = *ret;

    for (int i = 0; i < FREE_STEPS && node > semi; i++, jumps->n_steps++)
        node = jumps->idom[node];
    if (node > semi && jumps->to == NULL)
        HS_TRY(jumps_init(jumps, err));
    if (node > semi)
        jumps_make(jumps, node);
    for (; node > semi; jumps->n_steps++)
        node = jumps->to[node] >= semi ? jumps->to[node] : jumps->idom[node];
    *ret = node;
    return HS_OK;
}

/* Turns tree parents into immediate dominators, in preorder. A spine node dominates all that is
 * numbered after it, so a semidominator on the spine needs no climb. */
static hs_status idoms_find(const struct depth_first *search, const struct semidominators *semis,
                            struct jumps *jumps, struct hs_error *err)
{
    uint32_t *parent = search->parent;
    uint32_t i = 0;

    for (size_t at = 0; at * 64 < search->n_reached; at++) {
        for (uint64_t bits = search->is_core.words[at]; bits != 0; bits &= bits - 1, i++) {
            uint32_t number = (uint32_t)(at * 64) + (uint32_t)__builtin_ctzll(bits);
            uint32_t semi = semis->semi[i];
            assert(semi <= parent[number] && parent[number] < number);
            if (semi == depth_first_bound(search, number))
                parent[number] = semi;
            else if (semi != parent[number])
                HS_TRY(jumps_climb(jumps, semi, &parent[number], err));
        }
    }
    assert(i == semis->n_core);
    return HS_OK;
}

static hs_status domtree_find(struct depth_first *search, struct hs_domtree *tree,
                              struct hs_error *err)
{
    struct semidominators semis;
    struct jumps jumps = {.budget = search->budget, .idom = search->parent, .n = search->n_reached};
    uint64_t n_log = search->log.n_all;

    HS_TRY(depth_first_park(search, err));
    HS_TRY(semidominators_find(search, &semis, err));
    hs_status status = idoms_find(search, &semis, &jumps, err);
    tree->counts = (struct hs_domtree_counts){.n_core = semis.n_core,
                                              .n_logged = n_log,
                                              .n_evals = semis.n_evals,
                                              .n_climbed = jumps.n_steps};
    jumps_fini(&jumps);
    semidominators_fini(&semis);
    return status == HS_OK ? depth_first_fetch(search, err) : status;
}

static hs_status domtree_finish(struct depth_first *search, const struct hs_progress *progress,
                                struct hs_domtree *ret, struct hs_error *err)
{
    struct hs_domtree tree = {
        .n_nodes = search->n_nodes, .n_reached = search->n_reached, .budget = search->budget};

    hs_status status = hs_progress_tell(progress, "finding dominators", 0, search->n_reached, err);
    if (status == HS_OK)
        status = domtree_find(search, &tree, err);
    if (status == HS_OK) {
        tree.number = search->number;
        tree.idom = search->parent;
        search->number = search->parent = NULL;
        *ret = tree;
    }
    depth_first_fini(search);
    return status;
}

hs_status hs_domtree_build(const struct hs_graph *graph, const struct hs_progress *progress,
                           struct hs_domtree *ret, struct hs_error *err)
{
    struct depth_first search;
    HS_TRY(depth_first_search(graph, NULL, progress, &search, err));
    return domtree_finish(&search, progress, ret, err);
}

hs_status hs_domtree_consume(struct hs_graph *graph, const struct hs_progress *progress,
                             struct hs_domtree *ret, struct hs_error *err)
{
    return hs_domtree_consume_within(graph, NULL, progress, ret, err);
}

hs_status hs_domtree_consume_within(struct hs_graph *graph, struct hs_budget *budget,
                                    const struct hs_progress *progress, struct hs_domtree *ret,
                                    struct hs_error *err)
{
    struct depth_first search;
    hs_status status = depth_first_search(graph, budget, progress, &search, err);
    hs_budget_release(budget, hs_graph_bytes(graph->n_nodes, graph->target_capacity));
    hs_graph_fini(graph);
    return status == HS_OK ? domtree_finish(&search, progress, ret, err) : status;
}

hs_status hs_domtree_consume_stored(struct hs_stored_rows *rows, const struct hs_progress *progress,
                                    struct hs_domtree *ret, struct hs_error *err)
{
    struct depth_first search;
    hs_status status = depth_first_stored_search(rows, progress, &search, err);
    hs_stored_rows_fini(rows);
    return status == HS_OK ? domtree_finish(&search, progress, ret, err) : status;
}

void hs_domtree_drop_number(struct hs_domtree *tree)
{
    engine_array_fini(tree->budget, &tree->number, tree->n_nodes);
}

void hs_domtree_fini(struct hs_domtree *tree)
{
    if (tree == NULL)
        return;
    hs_domtree_drop_number(tree);
    engine_array_fini(tree->budget, &tree->idom, tree->n_nodes);
    *tree = (struct hs_domtree){0};
}

hs_status hs_domtree_order(const struct hs_domtree *tree, uint32_t **ret, struct hs_error *err)
{
    void *memory;
    HS_TRY(hs_dense_pages(tree->n_nodes, sizeof(uint32_t), &memory, err));
    uint32_t *order = memory;
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        if (tree->number[i] != 0)
            order[tree->number[i] - 1] = i;
    *ret = order;
    return HS_OK;
}
