/* A minimum vertex cut told by nodes and words: which of a unit's blocks and words the cut goes
 * through. */
#include "analysis/cut.h"

#include <stdlib.h>

#include "analysis/neighbours.h"
#include "analysis/set_tops.h"
#include "analysis/used_edges.h"
#include "base/alloc.h"
#include "cut_flow.h"

const char *hs_cut_kind_name(enum hs_cut_kind kind)
{
    static const char *const names[] = {"root", "slot", "field", "block"};
    return names[kind];
}

/* The places in one unit from which ways lead on, and how far up they meet.
 *
 *   path:  0 the first place | 1 its dominator | ... | n_path - 1 the unit itself
 *   met:   of each node that was climbed over: the number on `path` where it joins it */
struct leaving {
    hs_node unit, first, meet; /* meet: the nearest common dominator so far */
    struct hs_dict met;
    uint64_t n_path, at;       /* meet is path number `at` */
    bool has_first, is_single; /* all ways so far leave from `first` itself */
};

struct search {
    struct hs_view *view;
    struct cut_flow flow;
    struct leaving leaving[HS_CUT_MOST];
    hs_node *side; /* owned: what one climb passed */
    size_t n_side, side_capacity;
    uint64_t taken_bytes;
};

static hs_status remember(struct search *search, struct leaving *leaving, hs_node node, uint64_t at,
                          struct hs_error *err)
{
    size_t more = hs_dict_growth_bytes(&leaving->met);
    HS_TRY(hs_budget_reserve(search->view->session.budget, more, "the places of a cut", err));
    search->taken_bytes += more;
    return hs_dict_put(&leaving->met, node, at, err);
}

static hs_status climb_first(struct search *search, struct leaving *leaving, struct hs_error *err)
{
    for (hs_node at = leaving->first;; at = hs_index_idom(search->view->index, at)) {
        if (at == HS_NO_NODE || leaving->n_path == search->view->n_nodes)
            return hs_view_fail_circle(search->view, err);
        HS_TRY(remember(search, leaving, at, leaving->n_path++, err));
        if (at == leaving->unit)
            return HS_OK;
    }
}

/* Climbs from another place to where it joins the path of the first. */
static hs_status climb_to_path(struct search *search, struct leaving *leaving, hs_node place,
                               uint64_t *ret, struct hs_error *err)
{
    hs_node at = place;
    search->n_side = 0;
    while (hs_dict_find(&leaving->met, at) == NULL) {
        HS_TRY(HS_GROW(&search->side, &search->side_capacity, search->n_side + 1, err));
        search->side[search->n_side++] = at;
        at = hs_index_idom(search->view->index, at);
        if (at == HS_NO_NODE || search->n_side > search->view->n_nodes)
            return hs_view_fail_circle(search->view, err);
    }
    *ret = hs_dict_get(&leaving->met, at, 0);
    for (size_t i = 0; i < search->n_side; i++)
        HS_TRY(remember(search, leaving, search->side[i], *ret, err));
    return HS_OK;
}

static hs_status add_place(struct search *search, struct leaving *leaving, hs_node place,
                           struct hs_error *err)
{
    if (!leaving->has_first) {
        leaving->has_first = leaving->is_single = true;
        leaving->first = place;
        return climb_first(search, leaving, err);
    }
    if (place == leaving->first || leaving->at + 1 == leaving->n_path) {
        leaving->is_single = leaving->is_single && place == leaving->first;
        return HS_OK;
    }
    uint64_t at = 0;
    HS_TRY(climb_to_path(search, leaving, place, &at, err));
    leaving->at = at > leaving->at ? at : leaving->at;
    leaving->is_single = false;
    return HS_OK;
}

static struct leaving *leaving_of(struct search *search, uint32_t unit)
{
    for (unsigned i = 0; i < search->flow.n_ways; i++)
        if (search->flow.near_object[i] == unit)
            return &search->leaving[i];
    return NULL;
}

/* Adds all that leads from the units of the cut to `node`, which lies behind it. */
static hs_status add_places_to(struct search *search, hs_node node, struct hs_error *err)
{
    struct hs_row row = hs_index_predecessors(search->view->index, node);
    hs_node source;
    while (hs_row_next(&row, &source)) {
        uint32_t unit;
        if (!hs_edge_is_used(search->view, source, node))
            continue;
        HS_TRY(cut_flow_unit(&search->flow, source, &unit, err));
        struct leaving *leaving = unit == HS_NO_NUMBER ? NULL : leaving_of(search, unit);
        if (leaving != NULL)
            HS_TRY(add_place(search, leaving, source, err));
    }
    return hs_row_check(&row, err);
}

static bool leads_from_cut(struct search *search, const struct cut_unit *unit)
{
    for (uint32_t i = 0; i < unit->n_arcs; i++)
        if (leaving_of(search, search->flow.arcs[unit->arcs + i]) != NULL)
            return true;
    return false;
}

/* Tells whether `source` is the target or hangs on it, by a climb from `source` up to `top`, the
 * unit that both are part of. */
static bool is_under(const struct hs_view *view, hs_node source, hs_node target, hs_node top)
{
    uint64_t n = 0;
    for (hs_node at = source; at != HS_NO_NODE && at != top && n < view->n_nodes; n++) {
        if (at == target)
            return true;
        at = hs_index_idom(view->index, at);
    }
    return false;
}

/* Adds the dominator of a target that is a part of a unit, where all ways to it meet; the place
 * stays single as long as nothing but the dominator leads in. */
static hs_status add_dominator(struct search *search, hs_node target, struct hs_error *err)
{
    uint32_t unit;
    HS_TRY(cut_flow_unit(&search->flow, target, &unit, err));
    struct leaving *leaving = unit == HS_NO_NUMBER ? NULL : leaving_of(search, unit);
    hs_node above = hs_index_idom(search->view->index, target), source;
    if (leaving == NULL || above == HS_NO_NODE)
        return HS_OK;
    HS_TRY(add_place(search, leaving, above, err));
    struct hs_row row = hs_index_predecessors(search->view->index, target);
    while (leaving->is_single && hs_row_next(&row, &source))
        leaving->is_single = source == above || !hs_edge_is_used(search->view, source, target) ||
                             is_under(search->view, source, target, above);
    return hs_row_check(&row, err);
}

static hs_status find_places(struct search *search, struct hs_error *err)
{
    struct cut_flow *flow = &search->flow;
    for (unsigned i = 0; i < flow->n_ways; i++)
        search->leaving[i].unit = flow->units[flow->near_object[i]].node;
    for (size_t i = 0; i < flow->n_targets; i++) {
        uint32_t unit;
        HS_TRY(cut_flow_unit(flow, flow->targets[i], &unit, err));
        if (unit == HS_NO_NUMBER)
            continue;
        if (flow->units[unit].node == flow->targets[i])
            HS_TRY(add_places_to(search, flow->targets[i], err));
        else
            HS_TRY(add_dominator(search, flow->targets[i], err));
    }
    for (size_t i = 1; i < flow->n_units; i++)
        if (flow->units[i].is_below && leads_from_cut(search, &flow->units[i]))
            HS_TRY(add_places_to(search, flow->units[i].node, err));
    return HS_OK;
}

/* ---- what to call it */

static struct hs_cut_point point_at(const struct hs_view *view, hs_node node)
{
    struct hs_cut_point point = {HS_CUT_BLOCK, node, HS_NO_OFFSET};
    if (node < view->n_tree)
        point.kind = hs_view_root_of(view, node) == node ? HS_CUT_ROOT : HS_CUT_SLOT;
    return point;
}

/* Tells whether a link of a block of the cut leads on to the targets. */
static bool leads_on(const struct search *search, hs_node other)
{
    const struct cut_flow *flow = &search->flow;
    uint32_t unit = HS_TABLE_FIND(&flow->by_node, hs_hash(other), i, flow->units[i].node == other);
    if (unit != HS_NO_NUMBER && (flow->units[unit].is_below || flow->units[unit].is_target))
        return true;
    return flow->n_targets == 1 && flow->targets[0] == other;
}

/* Tells whether this word alone keeps what it leads to: its edge takes part, and is as firm as the
 * target, by the policy of the index. */
static bool takes_part(const struct hs_view *view, const struct hs_node_facts *holder,
                       const struct hs_link *link)
{
    unsigned tier = hs_view_edge_tier(view, holder->node, holder->type, link->edge_class);
    return hs_edge_is_used(view, holder->node, link->other) &&
           (tier <= hs_index_tier(view->index, link->other) ||
            hs_index_policy(view->index) == HS_POLICY_CONSERVATIVE);
}

/* A block that the ways leave by one word alone is cut by that word. */
static hs_status find_field(struct search *search, struct hs_cut_point *point, struct hs_error *err)
{
    struct hs_links links = {0};
    uint64_t n = 0, offset_words = HS_NO_OFFSET;
    struct hs_node_facts holder;
    HS_TRY(hs_view_facts(search->view, point->node, &holder, err));
    HS_TRY(hs_links_out(search->view, point->node, &links, err));
    for (size_t i = 0; i < links.n; i++) {
        const struct hs_link *link = &links.links[i];
        bool is_one = link->edge_class <= HS_EDGE_EPHEMERON && leads_on(search, link->other) &&
                      takes_part(search->view, &holder, link);
        n += is_one;
        offset_words = is_one ? link->offset_words : offset_words;
    }
    hs_links_fini(&links);
    if (n == 1) {
        point->kind = HS_CUT_FIELD;
        point->offset_words = offset_words;
    }
    return HS_OK;
}

static hs_status point_of(struct search *search, const struct leaving *leaving,
                          struct hs_cut_point *ret, struct hs_error *err)
{
    hs_node node = leaving->first;
    for (uint64_t i = 0; i < leaving->at; i++)
        node = hs_index_idom(search->view->index, node);
    *ret = point_at(search->view, node);
    if (ret->kind == HS_CUT_BLOCK && leaving->is_single)
        return find_field(search, ret, err);
    return HS_OK;
}

static int by_node(const void *left, const void *right)
{
    const struct hs_cut_point *a = left, *b = right;
    return a->node < b->node ? -1 : a->node > b->node;
}

static hs_status find(struct search *search, struct hs_cut *cut, struct hs_error *err)
{
    struct cut_flow *flow = &search->flow;
    cut->n = flow->n_ways;
    if (flow->n_ways > HS_CUT_MOST)
        return HS_OK;
    HS_TRY(find_places(search, err));
    for (unsigned i = 0; i < cut->n; i++) {
        cut->near_roots[i] = point_at(search->view, flow->units[flow->near_roots[i]].node);
        HS_TRY(point_of(search, &search->leaving[i], &cut->near_object[i], err));
    }
    qsort(cut->near_roots, cut->n, sizeof *cut->near_roots, by_node);
    qsort(cut->near_object, cut->n, sizeof *cut->near_object, by_node);
    return HS_OK;
}

static void add_freed(const struct hs_view *view, hs_node target, struct hs_cut *cut)
{
    struct hs_sizes retained = hs_index_retained(view->index, target);
    cut->is_reached |= hs_index_is_reached(view->index, target);
    cut->freed.words += retained.words;
    cut->freed.objects += retained.objects;
    cut->freed.static_words += retained.static_words;
}

hs_status hs_cut_find(struct hs_view *view, const hs_node *targets, size_t n_targets,
                      struct hs_cut *ret, struct hs_error *err)
{
    struct search search = {.view = view};
    struct hs_cut cut = {0};
    for (size_t i = 0; i < n_targets; i++)
        add_freed(view, targets[i], &cut);
    HS_TRY(cut_flow_init(view, targets, n_targets, &search.flow, err));
    hs_status status = find(&search, &cut, err);
    if (status == HS_OK)
        status = hs_used_edges_check(view, err);
    for (unsigned i = 0; i < HS_CUT_MOST; i++)
        hs_dict_fini(&search.leaving[i].met);
    hs_free(search.side);
    cut_flow_fini(&search.flow);
    hs_budget_release(view->session.budget, search.taken_bytes);
    if (status == HS_OK)
        *ret = cut;
    return status;
}

hs_status hs_cut_find_set(struct hs_view *view, uint32_t set, struct hs_cut *ret,
                          struct hs_error *err)
{
    struct hs_instances tops;
    hs_auto_free hs_node *nodes = NULL;
    HS_TRY(hs_instances_of_set(view, set, &tops, err));
    hs_status status = HS_ALLOC(&nodes, tops.n, err);
    for (size_t i = 0; i < tops.n && status == HS_OK; i++)
        nodes[i] = tops.targets[i].node;
    if (status == HS_OK)
        status = hs_cut_find(view, nodes, tops.n, ret, err);
    hs_instances_fini(&tops);
    return status;
}
