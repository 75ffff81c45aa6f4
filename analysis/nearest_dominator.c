#include "nearest_dominator.h"

enum { DENSE_NODES = 1 << 18 };

void hs_nearest_init(const struct hs_view *view,
                     uint64_t (*value_of)(const void *, hs_node tree_node, hs_node below),
                     const void *context, struct hs_nearest *ret)
{
    *ret = (struct hs_nearest){.view = view, .value_of = value_of, .context = context};
}

void hs_nearest_fini(struct hs_nearest *climb)
{
    if (climb->view != NULL)
        hs_budget_release(climb->view->session.budget, climb->taken_bytes);
    hs_dict_fini(&climb->known);
    *climb = (struct hs_nearest){0};
}

static hs_status remember(struct hs_nearest *climb, hs_node node, uint64_t value,
                          struct hs_error *err)
{
    size_t more = hs_dict_growth_bytes(&climb->known);
    HS_TRY(hs_budget_reserve(climb->view->session.budget, more, "the ways up the dominator tree",
                             err));
    climb->taken_bytes += more;
    return hs_dict_put(&climb->known, node, value, err);
}

/* Climbs to what is known. *ret_steps: nodes passed on the way. */
static uint64_t climb_up(const struct hs_nearest *climb, hs_node node, uint64_t *ret_steps)
{
    const struct hs_view *view = climb->view;
    hs_node at = node, below = HS_NO_NODE;
    hs_node met = HS_NO_NODE; /* Brent's way to see a circle: a node of 1, 2, 4, 8, ... steps ago */
    uint64_t value = HS_NEAREST_NONE;
    for (uint64_t steps = 0, due = 1; at != HS_NO_NODE && at != met; steps++) {
        *ret_steps = steps;
        if (at < view->n_tree) {
            value = climb->value_of(climb->context, at, below);
            break;
        }
        const uint64_t *known = hs_dict_find(&climb->known, at);
        if (known != NULL) {
            value = *known;
            break;
        }
        if (steps == due) {
            met = at;
            due = 2 * steps;
        }
        *ret_steps = steps + 1;
        below = at;
        at = hs_index_idom(view->index, at);
    }
    return value;
}

hs_status hs_nearest_find(struct hs_nearest *climb, hs_node node, uint64_t *ret,
                          struct hs_error *err)
{
    uint64_t n_steps = 0, value = climb_up(climb, node, &n_steps);
    uint64_t begin = climb->n_passed;
    climb->n_passed += n_steps;
    uint64_t stride = 1 + climb->n_passed / DENSE_NODES;
    /* The choice of nodes to keep must not depend on how climbs are cut into pieces. */
    for (uint64_t i = 0, kept = begin / stride; i < n_steps; i++) {
        if ((begin + i + 1) / stride != kept) {
            kept = (begin + i + 1) / stride;
            HS_TRY(remember(climb, node, value, err));
        }
        node = hs_index_idom(climb->view->index, node);
    }
    *ret = value;
    return HS_OK;
}
