/* From semidominators to immediate dominators: w's is the deepest ancestor of w's tree parent, in
 * the dominator tree made so far, that is not below w's semidominator (Georgiadis, "Linear-time
 * algorithms for dominators and related problems", 2005, the SEMI-NCA step). The climb is quadratic
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
    uint32_t *idom;
    uint32_t *depth, *to;
    uint32_t *path;
    size_t n;
    uint64_t n_steps;
};

static hs_status jumps_init(struct jumps *jumps, uint32_t *idom, size_t n, struct hs_error *err)
{
    void *memory;
    *jumps = (struct jumps){.idom = idom, .n = n};
    HS_TRY(hs_pages_alloc(n, sizeof(uint32_t), &memory, err));
    jumps->depth = memory;
    HS_TRY(hs_pages_alloc(n, sizeof(uint32_t), &memory, err));
    jumps->to = memory;
    HS_TRY(hs_pages_alloc(n, sizeof(uint32_t), &memory, err));
    jumps->path = memory;
    return HS_OK;
}

static void jumps_fini(struct jumps *jumps)
{
    hs_pages_free(jumps->depth, jumps->n, sizeof(uint32_t));
    hs_pages_free(jumps->to, jumps->n, sizeof(uint32_t));
    hs_pages_free(jumps->path, jumps->n, sizeof(uint32_t));
}

/* Makes the pointers of `node` and of everything above it: once per node in all. */
static void jumps_make(struct jumps *jumps, uint32_t node)
{
    uint32_t *depth = jumps->depth, *to = jumps->to;
    size_t n = 0;

    for (; node != 0 && depth[node] == 0; node = jumps->idom[node])
        jumps->path[n++] = node;
    jumps->n_steps += n;
    while (n-- > 0) {
        uint32_t x = jumps->path[n], up = jumps->idom[x], far = to[up];
        assert(up < x);
        depth[x] = depth[up] + 1;
        to[x] = depth[up] - depth[far] == depth[far] - depth[to[far]] ? to[far] : up;
    }
}

/* The first node <= semi on the way from `node` to the root. */
static uint32_t jumps_climb(struct jumps *jumps, uint32_t node, uint32_t semi)
{
    for (int i = 0; i < FREE_STEPS && node > semi; i++, jumps->n_steps++)
        node = jumps->idom[node];
    if (node <= semi)
        return node;
    jumps_make(jumps, node);
    for (; node > semi; jumps->n_steps++)
        node = jumps->to[node] >= semi ? jumps->to[node] : jumps->idom[node];
    return node;
}

/* Turns tree parents into immediate dominators, in preorder. A spine node dominates all that is
 * numbered after it, so a semidominator on the spine needs no climb. */
static hs_status idoms_find(const struct depth_first *search, const struct semidominators *semis,
                            uint64_t *ret_steps, struct hs_error *err)
{
    uint32_t *parent = search->parent;
    struct jumps jumps;
    hs_status status = jumps_init(&jumps, parent, search->n_reached, err);

    for (uint32_t i = 0; status == HS_OK && i < semis->n_core; i++) {
        uint32_t number = semis->core[i], semi = semis->semi[i];
        assert(semi <= parent[number] && parent[number] < number);
        if (semi == depth_first_bound(search, number))
            parent[number] = semi;
        else if (semi != parent[number])
            parent[number] = jumps_climb(&jumps, parent[number], semi);
    }
    *ret_steps = jumps.n_steps;
    jumps_fini(&jumps);
    return status;
}

static hs_status domtree_find(struct depth_first *search, struct hs_domtree *tree,
                              struct hs_error *err)
{
    struct semidominators semis;
    uint64_t n_log = search->n_log;

    HS_TRY(semidominators_find(search, &semis, err));
    tree->counts = (struct hs_domtree_counts){
        .n_core = semis.n_core, .n_logged = n_log, .n_evals = semis.n_evals};
    hs_status status = idoms_find(search, &semis, &tree->counts.n_climbed, err);
    semidominators_fini(&semis);
    return status;
}

hs_status hs_domtree_build(const struct hs_graph *graph, const struct hs_progress *progress,
                           struct hs_domtree *ret, struct hs_error *err)
{
    struct depth_first search;
    struct hs_domtree tree = {.n_nodes = graph->n_nodes};

    HS_TRY(depth_first_search(graph, progress, &search, err));
    hs_status status = hs_progress_tell(progress, "finding dominators", 0, search.n_reached, err);
    if (status == HS_OK)
        status = domtree_find(&search, &tree, err);
    if (status == HS_OK) {
        tree.n_reached = search.n_reached;
        tree.number = search.number;
        tree.idom = search.parent;
        search.number = search.parent = NULL;
        *ret = tree;
    }
    depth_first_fini(&search);
    return status;
}

void hs_domtree_fini(struct hs_domtree *tree)
{
    if (tree == NULL)
        return;
    hs_pages_free(tree->number, tree->n_nodes, sizeof(uint32_t));
    hs_pages_free(tree->idom, tree->n_nodes, sizeof(uint32_t));
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
