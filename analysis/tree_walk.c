#include "tree_walk.h"

/* Nodes that wait: as many as come, then log2 of 2^64 words and the levels of the root tree, whose
 * nodes may be empty. */
enum {
    FREELY_WAITING = 64,
    MAX_WAITING = FREELY_WAITING + 64 + 2 * HS_N_LEVELS,
    TELL_EVERY = 1 << 20
};

/* A node whose children are being visited. */
struct waiting {
    struct hs_row children; /* still to come */
    hs_node largest;        /* which is visited last; HS_NO_NODE: they come in order. An only
                             * child may be here alone */
    uint32_t given;         /* to the node */
};

static uint64_t size_of(const struct hs_tree_walk *walk, hs_node node)
{
    struct hs_sizes sizes = hs_index_retained(walk->view->index, node);
    return sizes.objects + sizes.static_objects;
}

/* Makes the children of a node those that are visited next. Few trees are so deep that sizes are
 * asked for. */
static void go_to(const struct hs_tree_walk *walk, hs_node node, unsigned n_waiting,
                  struct waiting *at)
{
    hs_node child;
    uint64_t most = 0;
    at->largest = walk->order != NULL ? hs_node_order_only_child(walk->order, node) : HS_NO_NODE;
    if (at->largest != HS_NO_NODE) {
        at->children = (struct hs_row){0};
        return;
    }
    at->children = walk->order != NULL ? hs_node_order_row(walk->order, node)
                                       : hs_index_dominated(walk->view->index, node);
    if (at->children.n <= 1 || n_waiting < FREELY_WAITING)
        return;
    for (struct hs_row row = at->children; hs_row_next(&row, &child);) {
        uint64_t size = size_of(walk, child);
        if (at->largest == HS_NO_NODE || size > most) {
            at->largest = child;
            most = size;
        }
    }
}

static hs_status enter(struct hs_tree_walk *walk, hs_node node, uint32_t above, uint32_t *ret,
                       struct hs_error *err)
{
    if (walk->n_entered == walk->view->n_nodes)
        return hs_view_fail_circle(walk->view, err);
    HS_TRY(walk->enter(walk->context, node, above, ret, err));
    if (++walk->n_entered % TELL_EVERY == 0)
        return hs_progress_tell(walk->view->session.progress, walk->what, walk->n_entered,
                                walk->view->n_nodes, err);
    return HS_OK;
}

/* Enters a child of the top node: above it, or in its place when no other child is to come. */
static hs_status descend(struct hs_tree_walk *walk, hs_node node, struct waiting *stack,
                         unsigned *n, struct hs_error *err)
{
    struct waiting *top = &stack[*n - 1];
    bool is_last = node == top->largest || (top->children.left == 0 && top->largest == HS_NO_NODE);
    uint32_t given;
    HS_TRY(enter(walk, node, top->given, &given, err));
    if (given == HS_TREE_WALK_SKIP) {
        if (is_last)
            (*n)--;
        return HS_OK;
    }
    if (!is_last) {
        if (*n == MAX_WAITING)
            return hs_view_fail_circle(walk->view, err);
        top = &stack[(*n)++];
    }
    top->given = given;
    go_to(walk, node, *n - 1, top);
    return HS_OK;
}

hs_status hs_tree_walk_run(struct hs_tree_walk *walk, hs_node from, uint32_t above,
                           struct hs_error *err)
{
    struct waiting stack[MAX_WAITING];
    unsigned n = 1;
    HS_TRY(enter(walk, from, above, &stack[0].given, err));
    if (stack[0].given == HS_TREE_WALK_SKIP)
        return HS_OK;
    go_to(walk, from, 0, &stack[0]);
    while (n > 0) {
        struct waiting *top = &stack[n - 1];
        hs_node node;
        if (hs_row_next(&top->children, &node)) {
            if (node != top->largest)
                HS_TRY(descend(walk, node, stack, &n, err));
        } else if (top->largest != HS_NO_NODE) {
            HS_TRY(descend(walk, top->largest, stack, &n, err));
        } else {
            HS_TRY(hs_row_check(&top->children, err));
            n--;
        }
    }
    return HS_OK;
}
