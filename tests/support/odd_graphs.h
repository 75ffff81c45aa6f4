/* Graphs that are hard on dominator engines: small ones of many kinds for comparing answers, large
 * ones on which engines that climb or iterate become quadratic. Node 0 is the root. */
#ifndef HS_TEST_ODD_GRAPHS_H
#define HS_TEST_ODD_GRAPHS_H

#include <stdlib.h>

#include "base/alloc.h"
#include "edge_list.h"

#define ODD_KINDS 9
#define ODD_SHAPES 10

struct odd_maker {
    struct hs_edge_list list;
    uint64_t random;
    uint32_t n;
};

static inline void odd_edge(struct odd_maker *maker, uint32_t source, uint32_t target)
{
    hs_edge_list_add(&maker->list, source, target);
}

static inline void odd_random_edges(struct odd_maker *maker, uint32_t n_edges)
{
    for (uint32_t i = 0; i < n_edges; i++) {
        uint32_t source = hs_random_below(&maker->random, maker->n);
        odd_edge(maker, source, hs_random_below(&maker->random, maker->n));
    }
}

/* Each node under one of the `reach` before it. */
static inline void odd_tree(struct odd_maker *maker, uint32_t first, uint32_t end, uint32_t reach)
{
    for (uint32_t i = first; i < end; i++)
        odd_edge(maker, i - 1 - hs_random_below(&maker->random, i < reach ? i : reach), i);
}

/* Two lists of lists, doubly linked, with entries from a tree: cycles between siblings. */
static inline void odd_rings(struct odd_maker *maker)
{
    uint32_t n_tree = 1 + maker->n / 3, n = maker->n;

    odd_tree(maker, 1, n_tree, 4);
    for (uint32_t i = n_tree; i < n; i++) {
        uint32_t next = i + 1 < n ? i + 1 : n_tree;
        odd_edge(maker, i, next);
        if (hs_random_below(&maker->random, 3) != 0)
            odd_edge(maker, next, i);
        if (hs_random_below(&maker->random, 5) == 0)
            odd_edge(maker, hs_random_below(&maker->random, n_tree), i);
    }
    odd_edge(maker, n_tree - 1, n_tree);
}

/* Back edges over two rails. */
static inline void odd_ladder(struct odd_maker *maker)
{
    for (uint32_t i = 0; i + 1 < maker->n; i++) {
        odd_edge(maker, i, i + 1);
        if (i + 2 < maker->n && hs_random_below(&maker->random, 2) == 0)
            odd_edge(maker, i, i + 2);
        if (i > 2 && hs_random_below(&maker->random, 2) == 0)
            odd_edge(maker, i, i - 2);
    }
    odd_random_edges(maker, 2);
}

/* The second half is not reached, but points at the first. */
static inline void odd_garbage(struct odd_maker *maker)
{
    uint32_t half = 1 + maker->n / 2;

    odd_tree(maker, 1, half, 3);
    for (uint32_t i = 0; i < maker->n; i++) {
        odd_edge(maker, hs_random_below(&maker->random, half),
                 hs_random_below(&maker->random, half));
        if (half < maker->n)
            odd_edge(maker, half + hs_random_below(&maker->random, maker->n - half),
                     hs_random_below(&maker->random, maker->n));
    }
}

/* A tree with pointers to parents and to their brothers. */
static inline void odd_parents(struct odd_maker *maker)
{
    for (uint32_t i = 1; i < maker->n; i++) {
        uint32_t parent = hs_random_below(&maker->random, i);
        odd_edge(maker, parent, i);
        if (hs_random_below(&maker->random, 2) == 0)
            odd_edge(maker, i, parent);
        if (hs_random_below(&maker->random, 4) == 0)
            odd_edge(maker, i, i - 1);
    }
}

/* Node numbers other than 0 are shuffled, so that no order of numbers helps. */
static inline void odd_shuffle(struct odd_maker *maker)
{
    struct hs_error err;
    void *memory;

    if (hs_alloc(maker->n, sizeof(uint32_t), &memory, &err) != HS_OK)
        abort();
    uint32_t *to = memory;
    for (uint32_t i = 0; i < maker->n; i++)
        to[i] = i;
    for (uint32_t i = maker->n; i-- > 2;) {
        uint32_t other = 1 + hs_random_below(&maker->random, i), mine = to[i];
        to[i] = to[other];
        to[other] = mine;
    }
    for (size_t i = 0; i < 2 * maker->list.n_edges; i++)
        maker->list.ends[i] = to[maker->list.ends[i]];
    hs_free(to);
}

/* A graph of up to `max_nodes` >= 2 nodes. */
static inline struct hs_graph odd_graph(uint64_t seed, uint32_t max_nodes)
{
    struct odd_maker maker = {.random = seed + 1};

    maker.n = 2 + hs_random_below(&maker.random, max_nodes - 1);
    switch (seed % ODD_KINDS) {
    case 0:
        odd_random_edges(&maker, 1 + hs_random_below(&maker.random, 3 * maker.n));
        break;
    case 1:
        odd_tree(&maker, 1, maker.n, maker.n);
        odd_random_edges(&maker, hs_random_below(&maker.random, maker.n));
        break;
    case 2:
        odd_tree(&maker, 1, maker.n, 2);
        odd_random_edges(&maker, hs_random_below(&maker.random, 1 + maker.n / 3));
        break;
    case 3:
    case 4:
        odd_rings(&maker);
        break;
    case 5:
        odd_ladder(&maker);
        break;
    case 6:
        odd_garbage(&maker);
        break;
    case 7:
        odd_parents(&maker);
        break;
    default: /* no cycles */
        odd_tree(&maker, 1, maker.n, 5);
        for (uint32_t i = 1; i < maker.n; i++)
            odd_edge(&maker, hs_random_below(&maker.random, i), i);
    }
    if (seed / ODD_KINDS % 3 != 0)
        odd_shuffle(&maker);
    struct hs_graph graph = hs_edge_list_graph(&maker.list, maker.n, 1, seed % 5 == 0);
    hs_edge_list_fini(&maker.list);
    return graph;
}

/* ---- large ---- */

static inline void odd_lists_of_same(struct odd_maker *maker)
{
    uint32_t third = (maker->n - 1) / 3;
    for (uint32_t i = 0; i < third; i++) {
        odd_edge(maker, i == 0 ? 0 : i, i + 1);
        odd_edge(maker, i == 0 ? 0 : third + i, third + i + 1);
        odd_edge(maker, i + 1, 2 * third + 1 + i);
        odd_edge(maker, third + i + 1, 3 * third - i);
    }
}

/* Rings of siblings with an entry from each of two places of a list, of which only the far one
 * counts; the near one is found last. */
static inline void odd_siblings(struct odd_maker *maker, bool backward)
{
    uint32_t n_list = maker->n / 4, n = maker->n;
    for (uint32_t i = 0; i < n_list; i++)
        odd_edge(maker, i, i + 1);
    for (uint32_t i = n_list + 1; i < n; i++) {
        odd_edge(maker, 1 + i % n_list, i);
        if (i + 1 < n)
            odd_edge(maker, backward ? i + 1 : i, backward ? i : i + 1);
        if (i % 1000 == 0)
            odd_edge(maker, backward ? i - 999 : i, backward ? i : i - 999);
    }
}

static inline void odd_double_list(struct odd_maker *maker, uint32_t first)
{
    odd_edge(maker, first - 1, first);
    odd_edge(maker, first - 1, maker->n - 1);
    for (uint32_t i = first; i + 1 < maker->n; i++) {
        odd_edge(maker, i, i + 1);
        odd_edge(maker, i + 1, i);
    }
}

/* A long list, and what all of its cells or the last one hold. */
static inline void odd_list_and_strings(struct odd_maker *maker, uint32_t shape)
{
    uint32_t half = maker->n / 2, n = maker->n;
    if (shape == 3) {
        for (uint32_t i = 0; i + 2 < n; i++) {
            odd_edge(maker, i, i + 1);
            odd_edge(maker, i, n - 1);
        }
        return;
    }
    for (uint32_t i = 0; i < half; i++)
        odd_edge(maker, i, i + 1);
    for (uint32_t i = half + 1; i < n; i++) {
        odd_edge(maker, half, i);
        odd_edge(maker, shape == 0 ? 0 : 1 + i % 97, i);
    }
}

/* A chain of core nodes against the order of their numbers, and a cycle at its start. */
static inline void odd_backward_chain(struct odd_maker *maker)
{
    uint32_t n = maker->n;
    for (uint32_t i = n - 1; i > 2; i--) {
        odd_edge(maker, i, i - 1);
        odd_edge(maker, i, i - 2);
    }
    odd_edge(maker, 0, n - 1);
    odd_edge(maker, 0, 1);
    odd_edge(maker, n - 2, n - 1);
    odd_edge(maker, 1, n / 2);
}

static inline struct hs_graph odd_shape(uint32_t shape, uint32_t n)
{
    struct odd_maker maker = {.random = shape + 1, .n = n};

    switch (shape) {
    case 0: /* a list that ends in an array whose elements node 0 holds, too */
    case 1: /* its first 97 cells do */
    case 3: /* all its cells point at one string */
        odd_list_and_strings(&maker, shape);
        break;
    case 2: /* a doubly linked list with a pointer to its tail */
        odd_double_list(&maker, 1);
        break;
    case 4:
        odd_ladder(&maker);
        break;
    case 5: /* two lists of the same elements, the second in the opposite order */
        odd_lists_of_same(&maker);
        break;
    case 6:
    case 7:
        odd_siblings(&maker, shape == 7);
        break;
    case 8: /* the doubly linked list far from node 0 */
        odd_tree(&maker, 1, n / 2, 1);
        odd_double_list(&maker, n / 2);
        break;
    default:
        odd_backward_chain(&maker);
    }
    struct hs_graph graph = hs_edge_list_graph(&maker.list, n, 1, false);
    hs_edge_list_fini(&maker.list);
    return graph;
}

/* A graph with leaves, cycles for the engine, and garbage. */
static inline struct hs_graph odd_mixed(uint32_t n)
{
    struct odd_maker maker = {.random = 5, .n = n};

    for (uint32_t i = 1; i < n / 3; i++)
        odd_edge(&maker, i / 8, i);
    for (uint32_t i = n / 3; i + 1 < n / 2; i++) {
        odd_edge(&maker, i, i + 1);
        odd_edge(&maker, i + 1, i);
        if (i % 50 == 0)
            odd_edge(&maker, i - n / 4, i);
    }
    odd_edge(&maker, 7, n / 3);
    odd_edge(&maker, 70 % n, n / 2 - 1);
    for (uint32_t i = n / 2; i < n; i++)
        for (uint32_t k = 0; k < 3; k++)
            odd_edge(&maker, hs_random_below(&maker.random, n), i);
    struct hs_graph graph = hs_edge_list_graph(&maker.list, n, 1, false);
    hs_edge_list_fini(&maker.list);
    return graph;
}

/* A random heap of 3,000 blocks, of a shape that the seed tells. */
static inline struct hs_graph odd_heap(uint64_t seed)
{
    struct hs_random_shape shape = {
        .n_leaves = 40,
        .n_blocks = 3000,
        .n_edges = 1500 * (1 + (uint32_t)(seed % 5)),
        .flat = seed % 4 == 0,
        .keep_duplicates = seed % 5 == 0,
        .local = seed % 2 == 0,
    };
    return hs_random_graph(seed + 1, &shape);
}

#endif
