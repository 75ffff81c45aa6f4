/* The dominator tree of the core while it grows, with jump pointers: nearest common ancestors and
 * the ancestor just below another in O(log depth) steps each.
 *
 * Source: Myers, "An applicative random-access stack", 1983 (skew-binary jumps: two nodes of one
 * depth jump equally far). 8 bytes per node beside the parents. */
#ifndef HS_CORE_TREE_H
#define HS_CORE_TREE_H

#include "base/bitmap.h"
#include "base/budget.h"
#include "graph/graph.h"

struct core_jump {
    uint32_t depth, to;
};

struct core_tree {
    uint32_t n_nodes;
    const uint32_t *parent; /* borrowed; of nodes that were added */
    struct core_jump *jump; /* owned pages */
    struct hs_budget *budget;
    uint64_t n_steps; /* of all climbs */
};

/* Makes a tree of node 0 alone. */
hs_status core_tree_init(const uint32_t *parent, uint32_t n_nodes, struct hs_budget *budget,
                         struct core_tree *ret, struct hs_error *err);
void core_tree_fini(struct core_tree *tree);

/* Adds a node whose parent is there. */
void core_tree_add(struct core_tree *tree, uint32_t node);

/* Adds all nodes of `is_in`, in whatever order: O(1) each. The tree is of node 0 alone. */
void core_tree_add_all(struct core_tree *tree, const struct hs_bitmap *is_in);

/* Finds the nearest common ancestor-or-self of two nodes of the tree. */
uint32_t core_tree_nca(struct core_tree *tree, uint32_t a, uint32_t b);

/* Finds the ancestor-or-self of `node` whose parent is `above`, an ancestor of it. */
uint32_t core_tree_child(struct core_tree *tree, uint32_t above, uint32_t node);

#endif
