#include "core_tree.h"

#include <assert.h>

#include "graph/pages.h"

hs_status core_tree_init(const uint32_t *parent, uint32_t n_nodes, struct hs_budget *budget,
                         struct core_tree *ret, struct hs_error *err)
{
    uint64_t n_bytes = (uint64_t)n_nodes * sizeof(struct core_jump);
    void *memory;

    HS_TRY(hs_budget_reserve(budget, n_bytes, "the jumps of the core's tree", err));
    hs_status status = hs_dense_pages(n_nodes, sizeof(struct core_jump), &memory, err);
    if (status != HS_OK) {
        hs_budget_release(budget, n_bytes);
        return status;
    }
    *ret =
        (struct core_tree){.n_nodes = n_nodes, .parent = parent, .jump = memory, .budget = budget};
    return HS_OK;
}

void core_tree_fini(struct core_tree *tree)
{
    if (tree->jump == NULL)
        return;
    hs_pages_free(tree->jump, tree->n_nodes, sizeof *tree->jump);
    hs_budget_release(tree->budget, (uint64_t)tree->n_nodes * sizeof *tree->jump);
    *tree = (struct core_tree){0};
}

void core_tree_add(struct core_tree *tree, uint32_t node)
{
    struct core_jump *jump = tree->jump;
    uint32_t up = tree->parent[node];

    if (node == 0)
        return;
    assert(node < tree->n_nodes && up < tree->n_nodes && up != node);
    struct core_jump near = jump[up], far = jump[near.to];
    bool joins = near.depth - far.depth == far.depth - jump[far.to].depth;
    jump[node] = (struct core_jump){.depth = near.depth + 1, .to = joins ? far.to : up};
}

void core_tree_add_all(struct core_tree *tree, const struct hs_bitmap *is_in)
{
    struct core_jump *jump = tree->jump;

    /* Up to a node that was added, and down again: the way back is kept in what is not yet filled.
     */
    for (uint64_t first = hs_bitmap_next(is_in, 1); first < is_in->n_bits;
         first = hs_bitmap_next(is_in, first + 1)) {
        uint32_t node = (uint32_t)first, below = 0;
        while (node != 0 && jump[node].depth == 0) {
            jump[node].to = below;
            below = node;
            node = tree->parent[node];
        }
        while (below != 0) {
            node = below;
            below = jump[node].to;
            core_tree_add(tree, node);
        }
    }
}

/* The ancestor-or-self of that depth. */
static uint32_t tree_lift(struct core_tree *tree, uint32_t node, uint32_t depth)
{
    const struct core_jump *jump = tree->jump;

    for (; jump[node].depth > depth; tree->n_steps++) {
        uint32_t to = jump[node].to;
        node = jump[to].depth >= depth ? to : tree->parent[node];
    }
    return node;
}

uint32_t core_tree_nca(struct core_tree *tree, uint32_t a, uint32_t b)
{
    const struct core_jump *jump = tree->jump;

    if (a == b)
        return a;
    a = tree_lift(tree, a, jump[b].depth);
    b = tree_lift(tree, b, jump[a].depth);
    for (; a != b; tree->n_steps++) {
        bool apart = jump[a].to != jump[b].to;
        a = apart ? jump[a].to : tree->parent[a];
        b = apart ? jump[b].to : tree->parent[b];
    }
    return a;
}

uint32_t core_tree_child(struct core_tree *tree, uint32_t above, uint32_t node)
{
    if (tree->parent[node] == above)
        return node;
    assert(tree->jump[node].depth > tree->jump[above].depth);
    return tree_lift(tree, node, tree->jump[above].depth + 1);
}
