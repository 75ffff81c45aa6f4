/* Graphs that look like heaps, and graphs that break dominator algorithms.
 *
 * A generated heap is a mix of lists, hash tables with chains, trees (some with parent pointers,
 * some in two versions that share), document trees, tangled application objects and arrays of
 * records, over a pool of shared strings and a few very popular descriptors, with garbage that
 * points into live data; sizes of structures follow a Pareto law, and addresses are those of an
 * allocator that was busy for a while. The same seed gives the same graph. */
#ifndef HS_BENCH_HEAP_GENERATOR_H
#define HS_BENCH_HEAP_GENERATOR_H

#include "graph/graph.h"

struct heap_recipe {
    uint32_t n_blocks;
    uint64_t seed;
    uint32_t n_leaves;    /* of the root tree; 0: node 0 holds the blocks itself */
    bool tangled;         /* every structure points back to an object of some other one */
    bool held_one_by_one; /* one root more holds an array of all blocks */
};

struct hs_graph heap_generate(const struct heap_recipe *recipe);

enum heap_shape {
    SHAPE_LIST_THEN_ARRAY, /* a list whose last cell holds an array; the root holds each element */
    SHAPE_LIST_AND_ARRAY,  /* the same, elements held by the list's first 97 cells */
    SHAPE_DOUBLY_LINKED,   /* with a pointer to its tail: all of it is core */
    SHAPE_COMMON_STRING,   /* a list whose every cell points at one string */
    SHAPE_LADDER,          /* irreducible, with back edges */
    SHAPE_PARALLEL_LISTS,  /* two lists of the same elements, one backwards */
    N_HEAP_SHAPES
};
const char *heap_shape_name(enum heap_shape shape);
struct hs_graph heap_shape_generate(enum heap_shape shape, uint32_t n_nodes);

/* Two random edges forward per block, over at most `span` blocks, and roots that point into the
 * first `within` blocks: no cycle, every root reaches something else. */
struct heap_forward {
    uint32_t n_blocks, n_leaves, span, within;
    uint64_t seed;
};
struct hs_graph heap_forward_generate(const struct heap_forward *recipe);

#endif
