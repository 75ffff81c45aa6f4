#include "type_walk.h"

#include <assert.h>

#include "base/alloc.h"
#include "graph/pages.h"
#include "tree_walk.h"

hs_status hs_type_walk_init(const struct hs_view *view, uint32_t n_types, struct hs_type_walk *ret,
                            uint32_t *ret_lot, struct hs_error *err)
{
    struct hs_type_walk walk = {.view = view, .n_rows = n_types};
    const uint64_t n = view->totals->n_blocks;
    walk.width = n_types < UINT8_MAX ? 1 : n_types < UINT16_MAX ? 2 : 4;
    while (walk.width > 1 && hs_budget_left_bytes(view->session.budget) < n * walk.width)
        walk.width /= 2;
    HS_TRY(hs_budget_reserve(view->session.budget, n * walk.width, "the types of all blocks", err));
    hs_status status = hs_dense_pages(n, walk.width, &walk.types, err);
    if (status == HS_OK)
        status = HS_ALLOC(&walk.open, n_types, err);
    if (status == HS_OK)
        status = hs_node_order_init(view, /* with_tiers= */ false, &walk.order, err);
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
    hs_node_order_fini(&walk->order);
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

static void close_rows(struct hs_type_walk *walk, uint32_t n_open)
{
    while (walk->n_open > n_open)
        walk->rows[walk->open[--walk->n_open]].is_open = false;
}

/* An object that heads what its type retains opens the type's row, until a node is entered that is
 * not below it. `above`: the rows that are open for its dominator. */
static hs_status enter(void *context, hs_node node, uint32_t above, uint32_t *ret,
                       struct hs_error *err)
{
    struct hs_type_walk *walk = context;
    uint32_t type = type_at(walk, node);
    (void)err;
    close_rows(walk, above);
    if (type != 0 && !walk->rows[type - 1].is_open) {
        struct hs_type_row *row = &walk->rows[type - 1];
        row->is_open = true;
        row->retained_words += hs_node_order_words(&walk->order, node);
        assert(walk->n_open < walk->n_rows);
        walk->open[walk->n_open++] = type - 1;
    }
    *ret = walk->n_open;
    return HS_OK;
}

hs_status hs_type_walk_run(struct hs_type_walk *walk, struct hs_type_row *rows,
                           struct hs_error *err)
{
    struct hs_tree_walk tree = {.view = walk->view,
                                .enter = enter,
                                .context = walk,
                                .order = &walk->order,
                                .what = "summing types"};
    walk->rows = rows;
    HS_TRY(hs_progress_tell(tree.view->session.progress, tree.what, 0, 0, err));
    hs_status status = hs_tree_walk_run(&tree, 0, 0, err);
    close_rows(walk, 0);
    return status;
}
