/* The edges of a graph being made; failing aborts, for a benchmark has nothing to handle. */
#ifndef HS_BENCH_HEAP_EDGES_H
#define HS_BENCH_HEAP_EDGES_H

#include "graph/graph.h"

struct heap_edges {
    uint32_t *ends; /* owned pages: source, target, source, ... */
    size_t n, capacity;
};

void bench_must(hs_status status, const struct hs_error *err);
void *bench_pages(size_t n, size_t size);

void heap_edges_init(struct heap_edges *edges, size_t capacity);
void heap_edges_add(struct heap_edges *edges, uint32_t source, uint32_t target);
/* Rows ascend, without duplicates. Takes the edges. */
struct hs_graph heap_edges_graph(struct heap_edges *edges, uint32_t n_nodes, uint32_t n_tree);

uint64_t bench_random(uint64_t *state);
static inline uint32_t bench_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(((bench_random(state) >> 32) * n) >> 32);
}
/* In [0, 1). */
static inline double bench_unit(uint64_t *state)
{
    return (double)(bench_random(state) >> 11) * 0x1p-53;
}

#endif
