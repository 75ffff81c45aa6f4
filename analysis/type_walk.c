#include "type_walk.h"

#include <assert.h>

#include "base/alloc.h"
#include "tree_walk.h"

static size_t n_words_of(const struct hs_view *view)
{
    return view->n_nodes / 64 + 1;
}

#define ORDER_BYTES (sizeof(uint16_t) + sizeof(uint32_t))

static void free_order(struct hs_type_walk *walk)
{
    const uint64_t n = walk->view->n_nodes;
    if (walk->places != NULL)
        hs_pages_free(walk->places, n, sizeof *walk->places);
    if (walk->retained != NULL)
        hs_pages_free(walk->retained, n, sizeof *walk->retained);
    if (walk->places != NULL || walk->retained != NULL)
        hs_budget_release(walk->view->session.budget, n * ORDER_BYTES);
    walk->places = NULL;
    walk->retained = NULL;
}

/* Reads in order, if there is room, what a walk would else search for: without it the walk is
 * slower. */
static hs_status read_in_order(struct hs_type_walk *walk, struct hs_error *err)
{
    const struct hs_view *view = walk->view;
    void *places = NULL, *retained = NULL;
    if (hs_budget_left_bytes(view->session.budget) / 4 < view->n_nodes * ORDER_BYTES)
        return HS_OK;
    HS_TRY(hs_budget_reserve(view->session.budget, view->n_nodes * ORDER_BYTES, "what nodes retain",
                             err));
    hs_status status = hs_pages_alloc(view->n_nodes, sizeof *walk->places, &places, err);
    if (status != HS_OK) {
        hs_budget_release(view->session.budget, view->n_nodes * ORDER_BYTES);
        return status;
    }
    walk->places = places;
    HS_TRY(hs_pages_alloc(view->n_nodes, sizeof *walk->retained, &retained, err));
    walk->retained = retained;
    for (hs_node node = 0; node < view->n_nodes; node++) {
        uint64_t words = hs_index_retained(view->index, node).words;
        walk->retained[node] = (uint32_t)(words < UINT32_MAX ? words : UINT32_MAX);
    }
    return HS_OK;
}

/* Finds which nodes dominate others: in the order of nodes a row is the next one; in that of a walk
 * it is searched for in its page. */
static hs_status find_dominators(struct hs_type_walk *walk, struct hs_error *err)
{
    const struct hs_view *view = walk->view;
    uint64_t n_bytes = n_words_of(view) * sizeof *walk->dominates;
    if (hs_budget_left_bytes(view->session.budget) / 2 < n_bytes) {
        free_order(walk); /* which has more bytes */
        return HS_OK;
    }
    HS_TRY(hs_budget_reserve(view->session.budget, n_bytes, "who dominates others", err));
    void *pages;
    hs_status status = hs_pages_alloc(n_words_of(view), sizeof *walk->dominates, &pages, err);
    if (status != HS_OK) {
        hs_budget_release(view->session.budget, n_bytes);
        return status;
    }
    walk->dominates = pages;
    for (hs_node node = 0; node < view->n_nodes; node++) {
        uint64_t n = hs_index_dominated(view->index, node).n;
        uint64_t place = hs_index_dominated_place(view->index);
        if (n != 0)
            walk->dominates[node / 64] |= (uint64_t)1 << node % 64;
        if (walk->places != NULL)
            walk->places[node] = (uint16_t)(place < HS_TREE_WALK_FAR ? place : HS_TREE_WALK_FAR);
    }
    return HS_OK;
}

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
    if (status == HS_OK)
        status = read_in_order(&walk, err);
    if (status == HS_OK)
        status = find_dominators(&walk, err);
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
    if (walk->dominates != NULL) {
        hs_pages_free(walk->dominates, n_words_of(walk->view), sizeof *walk->dominates);
        hs_budget_release(walk->view->session.budget,
                          n_words_of(walk->view) * sizeof *walk->dominates);
    }
    free_order(walk);
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

static uint64_t retained_words(const struct hs_type_walk *walk, hs_node node)
{
    if (walk->retained != NULL && walk->retained[node] != UINT32_MAX)
        return walk->retained[node];
    return hs_index_retained(walk->view->index, node).words;
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
        row->retained_words += retained_words(walk, node);
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
                                .dominates = walk->dominates,
                                .places = walk->places,
                                .what = "summing types"};
    walk->rows = rows;
    hs_status status = hs_tree_walk_run(&tree, 0, 0, err);
    close_rows(walk, 0);
    return status;
}
