/* Graphs from edge lists and random root trees, in memory, for tests and benchmarks of the graph
 * engines. Everything that fails aborts: a test has nothing to handle. */
#ifndef HS_TEST_EDGE_LIST_H
#define HS_TEST_EDGE_LIST_H

#include "graph/graph.h"

struct hs_edge_list {
    uint32_t *ends; /* owned: source, target, source, ... */
    size_t n_edges, capacity;
};

void hs_edge_list_add(struct hs_edge_list *list, uint32_t source, uint32_t target);
/* Rows ascend; duplicates are dropped unless they are wanted. */
struct hs_graph hs_edge_list_graph(const struct hs_edge_list *list, uint32_t n_nodes,
                                   uint32_t n_tree, bool keep_duplicates);
void hs_edge_list_fini(struct hs_edge_list *list);

/* A small fast generator (xorshift64*); the state must not be 0. */
uint64_t hs_random_next(uint64_t *state);
/* Below n; n >= 1. */
uint32_t hs_random_below(uint64_t *state, uint32_t n);

struct hs_random_shape {
    uint32_t n_leaves, n_blocks, n_edges;
    bool flat;            /* no root tree: node 0 holds the blocks itself */
    bool keep_duplicates; /* edges may be repeated */
    bool local;           /* most edges lead to near numbers */
};

/* A root tree of five levels over random blocks; what no leaf reaches is garbage. */
struct hs_graph hs_random_graph(uint64_t seed, const struct hs_random_shape *shape);
/* The graph with edges from node 0 to some blocks, as ephemeron data are held: single blocks under
 * node 0, between the kinds of roots, and core nodes. */
struct hs_graph hs_held_graph(const struct hs_graph *graph, uint64_t seed, uint32_t n_held);

#endif
