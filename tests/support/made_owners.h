/* Owner sets as an engine gives them (dominator/owner_sets.h), written down for comparison; and the
 * roots of graphs that have no snapshot. Header only, as made_passes.h is. Everything that fails
 * aborts, but what an engine is asked for. */
#ifndef HS_TEST_MADE_OWNERS_H
#define HS_TEST_MADE_OWNERS_H

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dominator/owner_sets.h"
#include "edge_list.h"

#define MADE_MAX_LISTED ((uint64_t)1 << 25)

struct made_owners {
    struct hs_owner_roots roots;
    struct hs_owner_request request;
    uint32_t n_nodes, n_sets;
    uint64_t n_others;
    struct hs_sizes others;
    uint32_t *set_of;          /* owned: by node */
    struct hs_owner_set *sets; /* owned */
    size_t *begin;             /* owned: of each set's roots in `listed`; n_sets + 1 */
    hs_node *listed;           /* owned */
    size_t n_begun, n_listed, sets_capacity, begin_capacity, listed_capacity;
    hs_node last_top;
    bool is_taken;
};

static void made_owners_must(hs_status status)
{
    if (status != HS_OK)
        abort();
}

/* Whether all children of a tree node are leaves of the tree, and there are any. */
static inline bool made_is_variable(const struct hs_graph *graph, uint32_t node)
{
    uint32_t n, n_children = 0, n_below;
    const uint32_t *row = hs_graph_row(graph, node, &n);
    for (uint32_t i = 0; i < n && row[i] < graph->n_tree; i++, n_children++) {
        const uint32_t *below = hs_graph_row(graph, row[i], &n_below);
        if (n_below != 0 && below[0] < graph->n_tree)
            return false;
    }
    return n_children != 0;
}

/* Leaves are roots; but of every fourth node above leaves, itself alone. */
static inline void made_roots(const struct hs_graph *graph, uint64_t seed,
                              struct hs_owner_roots *ret)
{
    struct hs_error err;
    uint64_t random = seed + 5;

    *ret = (struct hs_owner_roots){.seed = seed * 7};
    made_owners_must(hs_bitmap_init(&ret->is_root, graph->n_tree, &err));
    for (uint32_t node = 0; node < graph->n_tree; node++) {
        uint32_t n;
        const uint32_t *row = hs_graph_row(graph, node, &n);
        bool is_leaf = n == 0 || row[0] >= graph->n_tree;
        if (is_leaf && node != 0)
            hs_bitmap_set(&ret->is_root, node);
        if (node == 0 || is_leaf || !made_is_variable(graph, node) ||
            hs_random_below(&random, 4) != 0)
            continue;
        hs_bitmap_set(&ret->is_root, node);
    }
    for (uint32_t node = 0; node < graph->n_tree; node++) {
        uint32_t n;
        const uint32_t *row = hs_graph_row(graph, node, &n);
        for (uint32_t i = 0; i < n && row[i] < graph->n_tree; i++)
            if (hs_bitmap_get(&ret->is_root, node))
                hs_bitmap_clear(&ret->is_root, row[i]);
    }
}

static hs_status made_put_top(void *context, hs_node top, uint32_t set, struct hs_error *err)
{
    struct made_owners *made = context;
    (void)err;
    if (top <= made->last_top || set == 0)
        abort();
    made->last_top = top;
    made->set_of[top] = set;
    return HS_OK;
}

static hs_status made_begin(void *context, uint64_t n, struct hs_error *err)
{
    struct made_owners *made = context;
    HS_TRY(HS_GROW(&made->begin, &made->begin_capacity, made->n_begun + 1, err));
    made->begin[made->n_begun++] = made->n_listed;
    return HS_GROW(&made->listed, &made->listed_capacity, made->n_listed + n, err);
}

static hs_status made_more(void *context, const hs_node *roots, uint64_t n, struct hs_error *err)
{
    struct made_owners *made = context;
    (void)err;
    if (n != 0)
        memcpy(made->listed + made->n_listed, roots, n * sizeof *roots);
    made->n_listed += n;
    return HS_OK;
}

static hs_status made_take(void *context, struct hs_owners *owners, struct hs_error *err)
{
    struct made_owners *made = context;
    const struct hs_owner_top_sink tops = {made_put_top, made};
    const struct hs_owner_list_sink lists = {made_begin, made_more, made};

    made->n_sets = hs_owners_n_sets(owners);
    made->others = hs_owners_others(owners, &made->n_others);
    HS_TRY(hs_owners_tops(owners, &tops, err));
    HS_TRY(hs_owners_lists(owners, &lists, err));
    HS_TRY(HS_GROW(&made->sets, &made->sets_capacity, made->n_sets, err));
    HS_TRY(HS_GROW(&made->begin, &made->begin_capacity, made->n_begun + 1, err));
    made->begin[made->n_begun] = made->n_listed;
    if (made->n_begun != made->n_sets)
        abort();
    for (uint32_t i = 0; i < made->n_sets; i++)
        made->sets[i] = hs_owners_set(owners, i + 1);
    made->is_taken = true;
    return HS_OK;
}

static inline void made_owners_init(const struct hs_graph *graph, uint64_t seed,
                                    struct made_owners *ret)
{
    struct hs_error err;

    *ret = (struct made_owners){.n_nodes = graph->n_nodes};
    made_roots(graph, seed, &ret->roots);
    made_owners_must(HS_ALLOC(&ret->set_of, graph->n_nodes, &err));
    ret->request = (struct hs_owner_request){
        .roots = &ret->roots, .max_listed = MADE_MAX_LISTED, .take = made_take, .context = ret};
}

static inline void made_owners_fini(struct made_owners *made)
{
    hs_bitmap_fini(&made->roots.is_root);
    hs_free(made->set_of);
    hs_free(made->sets);
    hs_free(made->begin);
    hs_free(made->listed);
}

static inline bool made_owners_equal(const struct made_owners *a, const struct made_owners *b)
{
    return a->n_sets == b->n_sets && a->n_others == b->n_others && a->n_listed == b->n_listed &&
           memcmp(&a->others, &b->others, sizeof a->others) == 0 &&
           memcmp(a->set_of, b->set_of, a->n_nodes * sizeof *a->set_of) == 0 &&
           (a->n_sets == 0 || memcmp(a->sets, b->sets, a->n_sets * sizeof *a->sets) == 0) &&
           memcmp(a->begin, b->begin, ((size_t)a->n_sets + 1) * sizeof *a->begin) == 0 &&
           (a->n_listed == 0 || memcmp(a->listed, b->listed, a->n_listed * sizeof *a->listed) == 0);
}

#endif
