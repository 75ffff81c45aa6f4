#include "analysis/set_tops.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct hs_set_tops hs_set_tops_of(const struct hs_view *view, uint32_t set)
{
    return (struct hs_set_tops){.view = view, .set = set};
}

bool hs_set_tops_next(struct hs_set_tops *tops, hs_node *ret)
{
    const struct hs_view *view = tops->view;
    for (;;) {
        hs_node child;
        while (hs_row_next(&tops->row, &child)) {
            if (child < view->n_tree || hs_index_set_of(view->index, child) != tops->set)
                continue;
            *ret = child;
            return true;
        }
        while (tops->group < view->n_tree && hs_view_root_of(view, tops->group) != HS_NO_NODE)
            tops->group++;
        if (tops->group >= view->n_tree)
            return false;
        tops->row = hs_index_dominated(view->index, tops->group++);
    }
}

static hs_status add_top(struct hs_view *view, hs_node top, struct hs_instances *all,
                         struct hs_error *err)
{
    struct hs_sizes retained = hs_index_retained(view->index, top);
    if (all->n == all->capacity) {
        size_t room = all->capacity == 0 ? 64 : 2 * all->capacity;
        uint64_t more = (room - all->capacity) * sizeof *all->targets;
        HS_TRY(hs_budget_reserve(all->budget, more, "the blocks of a set", err));
        all->taken_bytes += more;
        HS_TRY(HS_GROW(&all->targets, &all->capacity, room, err));
    }
    all->targets[all->n++] = (struct hs_path_tree_target){
        .node = top, .words = retained.words, .objects = retained.objects};
    all->reached.words += retained.words;
    all->reached.objects += retained.objects;
    return HS_OK;
}

/* A piece at a time: what is known of a block is more than its number. */
static hs_status find_types(struct hs_view *view, struct hs_instances *all, struct hs_error *err)
{
    enum { PIECE = 4096 };
    hs_auto_free hs_node *nodes = NULL;
    hs_auto_free struct hs_node_facts *facts = NULL;
    HS_TRY(HS_ALLOC(&nodes, PIECE, err));
    HS_TRY(HS_ALLOC(&facts, PIECE, err));
    for (size_t begin = 0; begin < all->n; begin += PIECE) {
        size_t n = all->n - begin < PIECE ? all->n - begin : PIECE;
        for (size_t i = 0; i < n; i++)
            nodes[i] = all->targets[begin + i].node;
        HS_TRY(hs_view_facts_of(view, nodes, n, facts, err));
        for (size_t i = 0; i < n; i++)
            all->targets[begin + i].type = facts[i].type;
    }
    return HS_OK;
}

hs_status hs_instances_of_set(struct hs_view *view, uint32_t set, struct hs_instances *ret,
                              struct hs_error *err)
{
    struct hs_instances all = {.budget = view->session.budget, .stride = 1};
    struct hs_set_tops tops = hs_set_tops_of(view, set);
    hs_status status = HS_OK;
    hs_node top;
    while (status == HS_OK && hs_set_tops_next(&tops, &top))
        status = add_top(view, top, &all, err);
    if (status == HS_OK)
        status = find_types(view, &all, err);
    if (status == HS_OK)
        *ret = all;
    else
        hs_instances_fini(&all);
    return status;
}

uint32_t hs_set_keeping(const struct hs_view *view, hs_node node)
{
    hs_node top = node;
    if (node < view->n_tree || !hs_index_is_reached(view->index, node))
        return 0;
    for (uint64_t n = 0; n < view->n_nodes; n++) {
        hs_node above = hs_index_idom(view->index, top);
        if (above == HS_NO_NODE || above < view->n_tree)
            break;
        top = above;
    }
    uint32_t set = hs_index_set_of(view->index, top);
    return set == HS_SET_OTHERS ? 0 : set;
}
