/* The tree of calls down to allocations, with what was allocated below each: of functions, of
 * lines, or upside down, from the allocating function out to its callers. Hidden frames are left
 * out; a function that calls itself directly is one node. Looks at the objects that the filter
 * selected.
 *
 * Node 0 is the root, "all"; a parent's number is below its children's. */
#ifndef HS_STATS_CALL_TREE_H
#define HS_STATS_CALL_TREE_H

#include "stats/places.h"
#include "stats/trace_estimate.h"

enum hs_call_tree_by {
    HS_CALLS_BY_FUNCTION,
    HS_CALLS_BY_LINE,   /* the lines of a function are told apart */
    HS_CALLS_BY_CALLER, /* functions, the allocating one below the root */
};

struct hs_call_node {
    uint32_t label; /* function, or frame; unused for the root */
    uint32_t parent;
    uint32_t first_child, next_sibling; /* 0: none; children stand from the largest down */
    uint32_t n_children;
    struct hs_trace_sum own; /* allocated right here */
    struct hs_trace_sum all; /* and below */
    uint64_t n_live_samples; /* of all: never freed */
};

struct hs_call_tree {
    struct hs_stats_memory memory;
    enum hs_call_tree_by by;
    struct hs_key_table keys;   /* parent << 32 | label; the number here is the node's minus 1 */
    struct hs_call_node *nodes; /* owned */
    size_t n, capacity;
};

/* Makes the tree. O(objects + nodes of the stacks), by caller O(objects + frames of distinct
 * backtraces). HS_LIMIT. On failure `ret` can be freed, too. */
hs_status hs_call_tree_init(struct hs_call_tree *ret, const struct hs_trace_objects *objects,
                            const struct hs_places *places, enum hs_call_tree_by by,
                            struct hs_budget *budget, struct hs_error *err);
void hs_call_tree_fini(struct hs_call_tree *tree);

/* Prints the name of a node: appended. */
hs_status hs_call_tree_print(const struct hs_call_tree *tree, const struct hs_places *places,
                             uint32_t node, struct hs_buffer *b, struct hs_error *err);

#endif
