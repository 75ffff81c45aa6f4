#include "type_walk.h"

#include <assert.h>

#include "base/alloc.h"

/* Nodes that wait: as many as come, then log2 of 2^64 words and the levels of the root tree, whose
 * nodes may be empty. */
enum {
    FREELY_WAITING = 64,
    MAX_WAITING = FREELY_WAITING + 64 + 2 * HS_N_LEVELS,
    TELL_EVERY = 1 << 20
};

hs_status hs_type_walk_init(const struct hs_view *view, uint32_t n_types, struct hs_type_walk *ret,
                            uint32_t *ret_lot, struct hs_error *err)
{
    struct hs_type_walk walk = {.view = view, .n_rows = n_types};
    const uint64_t n = view->totals->n_blocks;
    walk.width = n_types < UINT8_MAX ? 1 : n_types < UINT16_MAX ? 2 : 4;
    while (walk.width > 1 && hs_budget_left_bytes(view->session.budget) < n * walk.width)
        walk.width /= 2;
    HS_TRY(hs_budget_reserve(view->session.budget, n * walk.width, "the types of all blocks", err));
    hs_status status = hs_pages_alloc(n, walk.width, &walk.types, err);
    if (status == HS_OK)
        status = HS_ALLOC(&walk.open, n_types, err);
    if (status != HS_OK) {
        if (walk.types == NULL)
            hs_budget_release(view->session.budget, n * walk.width);
        hs_type_walk_fini(&walk);
        return status;
    }
    *ret = walk;
    *ret_lot = walk.width == 1 ? UINT8_MAX : walk.width == 2 ? UINT16_MAX : UINT32_MAX;
    return HS_OK;
}

void hs_type_walk_fini(struct hs_type_walk *walk)
{
    if (walk->types != NULL) {
        hs_pages_free(walk->types, walk->view->totals->n_blocks, walk->width);
        hs_budget_release(walk->view->session.budget, walk->view->totals->n_blocks * walk->width);
    }
    hs_free(walk->open);
    *walk = (struct hs_type_walk){0};
}

void hs_type_walk_set(struct hs_type_walk *walk, hs_node block, uint32_t type)
{
    uint64_t at = block - walk->view->n_tree;
    if (walk->width == 1)
        ((uint8_t *)walk->types)[at] = (uint8_t)type;
    else if (walk->width == 2)
        ((uint16_t *)walk->types)[at] = (uint16_t)type;
    else
        ((uint32_t *)walk->types)[at] = type;
}

static uint32_t type_at(const struct hs_type_walk *walk, hs_node node)
{
    if (node < walk->view->n_tree)
        return 0;
    uint64_t at = node - walk->view->n_tree;
    if (walk->width == 1)
        return ((const uint8_t *)walk->types)[at];
    if (walk->width == 2)
        return ((const uint16_t *)walk->types)[at];
    return ((const uint32_t *)walk->types)[at];
}

/* A node whose children are being visited. */
struct waiting {
    struct hs_row children; /* still to come */
    hs_node largest;        /* which is visited last; HS_NO_NODE: they come in order */
    uint32_t n_open;        /* rows that were open before the way down from here began */
};

/* An object that heads what its type retains opens the type's row. False: more nodes than there
 * are. */
static bool enter(struct hs_type_walk *walk, hs_node node, struct hs_type_row *rows)
{
    uint32_t type = type_at(walk, node);
    if (type != 0 && !rows[type - 1].is_open) {
        rows[type - 1].is_open = true;
        rows[type - 1].retained_words += hs_index_retained(walk->view->index, node).words;
        assert(walk->n_open < walk->n_rows);
        walk->open[walk->n_open++] = type - 1;
    }
    return walk->n_entered++ < walk->view->n_nodes;
}

static void close_rows(struct hs_type_walk *walk, struct hs_type_row *rows, uint32_t n_open)
{
    while (walk->n_open > n_open)
        rows[walk->open[--walk->n_open]].is_open = false;
}

static uint64_t size_of(const struct hs_type_walk *walk, hs_node node)
{
    struct hs_sizes sizes = hs_index_retained(walk->view->index, node);
    return sizes.objects + sizes.static_objects;
}

/* Makes the children of a node those that are visited next. Few trees are so deep that sizes are
 * asked for. */
static void go_to(const struct hs_type_walk *walk, hs_node node, unsigned n_waiting,
                  struct waiting *at)
{
    hs_node child;
    uint64_t most = 0;
    at->largest = HS_NO_NODE;
    at->children = hs_index_dominated(walk->view->index, node);
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

/* Enters a child of the top node: above it, or in its place when no other child is to come. False
 * when the tree goes round in a circle. */
static bool descend(struct hs_type_walk *walk, hs_node node, struct hs_type_row *rows,
                    struct waiting *stack, unsigned *n)
{
    struct waiting *top = &stack[*n - 1];
    bool is_last = node == top->largest || (top->children.left == 0 && top->largest == HS_NO_NODE);
    uint32_t n_open = walk->n_open;
    if (!enter(walk, node, rows) || (!is_last && *n == MAX_WAITING))
        return false;
    if (!is_last) {
        top = &stack[(*n)++];
        top->n_open = n_open;
    }
    go_to(walk, node, *n - 1, top);
    return true;
}

hs_status hs_type_walk_run(struct hs_type_walk *walk, struct hs_type_row *rows,
                           struct hs_error *err)
{
    struct waiting stack[MAX_WAITING];
    unsigned n = 1;
    walk->n_entered = 0;
    bool is_tree = enter(walk, 0, rows);
    stack[0].n_open = 0;
    go_to(walk, 0, 0, &stack[0]);
    while (n > 0 && is_tree) {
        struct waiting *top = &stack[n - 1];
        hs_node node;
        if (hs_row_next(&top->children, &node)) {
            if (node != top->largest)
                is_tree = descend(walk, node, rows, stack, &n);
        } else if (top->largest != HS_NO_NODE) {
            is_tree = descend(walk, top->largest, rows, stack, &n);
        } else {
            HS_TRY(hs_row_check(&top->children, err));
            close_rows(walk, rows, top->n_open);
            n--;
        }
        if (walk->n_entered % TELL_EVERY == 0)
            HS_TRY(hs_progress_tell(walk->view->session.progress, "summing types", walk->n_entered,
                                    walk->view->n_nodes, err));
    }
    return is_tree ? HS_OK : hs_view_fail_circle(walk->view, err);
}
