/* Ways that share no unit, by augmenting paths; the cuts that they are held to. */
#include "cut_flow.h"

#include <assert.h>

#include "analysis/used_edges.h"
#include "base/alloc.h"

enum { BEFORE, BEHIND, TARGETS = 0, TELL_EVERY = 1 << 16 };

static uint32_t state_of(uint32_t unit, unsigned side)
{
    return 2 * unit + side;
}

static hs_status take(struct cut_flow *flow, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(flow->view->session.budget, n_bytes, "the search for a cut", err));
    flow->taken_bytes += n_bytes;
    return HS_OK;
}

/* Makes room for one more in an array that doubles. */
static hs_status take_room(struct cut_flow *flow, size_t n, size_t *capacity, size_t each,
                           size_t *ret_capacity, struct hs_error *err)
{
    *ret_capacity = *capacity;
    if (n < *capacity)
        return HS_OK;
    *ret_capacity = *capacity == 0 ? 64 : 2 * *capacity;
    return take(flow, (*ret_capacity - *capacity) * each, err);
}

/* ---- units */

/* Returns the node that hs_nearest_find gives for a node: the node that its unit is called by. */
static uint64_t unit_node(const void *context, hs_node tree_node, hs_node below)
{
    hs_node root = hs_view_root_of(context, tree_node);
    if (root != HS_NO_NODE)
        return root;
    return below == HS_NO_NODE ? HS_NEAREST_NONE : below;
}

static uint32_t find_unit(const struct cut_flow *flow, hs_node node)
{
    return HS_TABLE_FIND(&flow->by_node, hs_hash(node), i, flow->units[i].node == node);
}

static hs_status add_unit(struct cut_flow *flow, hs_node node, uint32_t *ret, struct hs_error *err)
{
    size_t room;
    if (flow->n_units >= UINT32_MAX / 2)
        return hs_fail(err, HS_LIMIT, "%zu blocks that roots share are too many", flow->n_units);
    HS_TRY(take_room(flow, flow->n_units, &flow->units_capacity, sizeof *flow->units, &room, err));
    HS_TRY(HS_GROW(&flow->units, &flow->units_capacity, room, err));
    HS_TRY(take(flow, hs_table_growth_bytes(&flow->by_node, 1), err));
    HS_TRY(hs_table_add(&flow->by_node, hs_hash(node), flow->n_units, err));
    flow->units[flow->n_units] = (struct cut_unit){
        .node = node,
        .from = {HS_NO_NUMBER, HS_NO_NUMBER},
        .next = HS_NO_NUMBER,
    };
    *ret = (uint32_t)flow->n_units++;
    return HS_OK;
}

hs_status cut_flow_unit(struct cut_flow *flow, hs_node node, uint32_t *ret, struct hs_error *err)
{
    uint64_t top;
    HS_TRY(hs_nearest_find(&flow->climb, node, &top, err));
    *ret = top == HS_NEAREST_NONE ? HS_NO_NUMBER : find_unit(flow, top);
    return HS_OK;
}

/* The unit of a node that leads to unit `to`, unless it is `to` itself. */
static hs_status add_arc(struct cut_flow *flow, hs_node source, uint32_t to, struct hs_error *err)
{
    uint64_t top;
    size_t room;
    HS_TRY(hs_nearest_find(&flow->climb, source, &top, err));
    if (top == HS_NEAREST_NONE)
        return HS_OK;
    uint32_t unit = find_unit(flow, top);
    if (unit == HS_NO_NUMBER)
        HS_TRY(add_unit(flow, top, &unit, err));
    struct cut_unit *from = &flow->units[unit];
    if (unit == to || from->is_target || from->row == to + 1)
        return HS_OK;
    from->row = to + 1;
    HS_TRY(take_room(flow, flow->n_arcs, &flow->arcs_capacity, sizeof *flow->arcs, &room, err));
    HS_TRY(HS_GROW(&flow->arcs, &flow->arcs_capacity, room, err));
    flow->arcs[flow->n_arcs++] = unit;
    flow->units[to].n_arcs++;
    return HS_OK;
}

static hs_status tell(struct cut_flow *flow, struct hs_error *err)
{
    if (++flow->n_read % TELL_EVERY != 0)
        return HS_OK;
    return hs_progress_tell(flow->view->session.progress, "searching a cut", flow->n_read, 0, err);
}

static hs_status add_arcs(struct cut_flow *flow, hs_node node, uint32_t to, struct hs_error *err)
{
    struct hs_row row = hs_index_predecessors(flow->view->index, node);
    hs_node source;
    while (hs_row_next(&row, &source)) {
        HS_TRY(tell(flow, err));
        if (hs_edge_is_used(flow->view, source, node))
            HS_TRY(add_arc(flow, source, to, err));
    }
    return hs_row_check(&row, err);
}

static hs_status expand(struct cut_flow *flow, uint32_t unit, struct hs_error *err)
{
    if (flow->units[unit].is_expanded)
        return HS_OK;
    flow->units[unit].is_expanded = true;
    flow->units[unit].arcs = flow->n_arcs;
    return add_arcs(flow, flow->units[unit].node, unit, err);
}

/* Adds the edges that lead to the targets: the unit that a target is a part of, or whatever leads
 * to a target that is one. */
static hs_status add_targets(struct cut_flow *flow, struct hs_error *err)
{
    uint32_t unit;
    HS_TRY(add_unit(flow, HS_NO_NODE, &unit, err));
    assert(unit == TARGETS);
    flow->units[TARGETS].is_expanded = true;
    for (size_t i = 0; i < flow->n_targets; i++) {
        uint64_t top;
        HS_TRY(hs_nearest_find(&flow->climb, flow->targets[i], &top, err));
        if (top != flow->targets[i])
            continue;
        HS_TRY(add_unit(flow, top, &unit, err));
        flow->units[unit].is_target = true;
    }
    for (size_t i = 0; i < flow->n_targets; i++) {
        uint64_t top;
        HS_TRY(hs_nearest_find(&flow->climb, flow->targets[i], &top, err));
        if (top == flow->targets[i])
            HS_TRY(add_arcs(flow, top, TARGETS, err));
        else if (top != HS_NEAREST_NONE)
            HS_TRY(add_arc(flow, top, TARGETS, err));
    }
    return HS_OK;
}

/* ---- searching */

static hs_status put(struct cut_flow *flow, uint32_t unit, unsigned side, uint32_t from,
                     struct hs_error *err)
{
    struct cut_unit *met = &flow->units[unit];
    size_t room;
    if (met->from[side] != HS_NO_NUMBER)
        return HS_OK;
    HS_TRY(take_room(flow, flow->n_queued, &flow->queue_capacity, sizeof *flow->queue, &room, err));
    HS_TRY(HS_GROW(&flow->queue, &flow->queue_capacity, room, err));
    met->from[side] = from;
    flow->queue[flow->n_queued++] = state_of(unit, side);
    return HS_OK;
}

/* Forgets what was met from queue[begin] on. */
static void forget(struct cut_flow *flow, size_t begin)
{
    for (size_t i = begin; i < flow->n_queued; i++)
        flow->units[flow->queue[i] / 2].from[flow->queue[i] % 2] = HS_NO_NUMBER;
    flow->n_queued = flow->at = begin;
}

/* Searches from where a unit begins backwards: to all that lead to it, and, where a way passes it,
 * along that way. */
static hs_status search_before(struct cut_flow *flow, uint32_t state, struct hs_error *err)
{
    uint32_t unit = state / 2;
    HS_TRY(expand(flow, unit, err));
    size_t arcs = flow->units[unit].arcs;
    for (uint32_t i = 0; i < flow->units[unit].n_arcs; i++) {
        HS_TRY(tell(flow, err));
        HS_TRY(put(flow, flow->arcs[arcs + i], BEHIND, state, err));
    }
    if (flow->units[unit].has_flow)
        HS_TRY(put(flow, unit, BEHIND, state, err));
    return HS_OK;
}

/* Searches from behind a unit: through it when no way passes it, else back along the way that
 * does. */
static hs_status search_behind(struct cut_flow *flow, uint32_t state, struct hs_error *err)
{
    uint32_t unit = state / 2;
    if (!flow->units[unit].has_flow)
        return put(flow, unit, BEFORE, state, err);
    if (flow->units[unit].next == TARGETS)
        return HS_OK;
    return put(flow, flow->units[unit].next, BEFORE, state, err);
}

/* Goes on with the states that are queued. *ret: that of the first root that is come to, or
 * HS_NO_NUMBER. */
static hs_status search(struct cut_flow *flow, uint32_t *ret, struct hs_error *err)
{
    *ret = HS_NO_NUMBER;
    while (flow->at < flow->n_queued) {
        uint32_t state = flow->queue[flow->at++];
        if (state % 2 == BEHIND) {
            HS_TRY(search_behind(flow, state, err));
            continue;
        }
        if (flow->units[state / 2].node < flow->view->n_tree) {
            *ret = state;
            return HS_OK;
        }
        HS_TRY(search_before(flow, state, err));
    }
    return HS_OK;
}

/* Sends one more way along the states that were met, from the root's on. */
static void augment(struct cut_flow *flow, uint32_t state)
{
    while (state / 2 != TARGETS) {
        struct cut_unit *unit = &flow->units[state / 2];
        uint32_t to = unit->from[state % 2];
        if (to / 2 == state / 2)
            unit->has_flow = state % 2 == BEFORE;
        else if (state % 2 == BEHIND)
            unit->next = to / 2;
        else
            flow->units[to / 2].next = HS_NO_NUMBER; /* a way no longer comes from there */
        state = to;
    }
}

static hs_status find_ways(struct cut_flow *flow, struct hs_error *err)
{
    for (; flow->n_ways <= HS_CUT_MOST; flow->n_ways++) {
        uint32_t root;
        forget(flow, 0);
        HS_TRY(search_before(flow, state_of(TARGETS, BEFORE), err));
        HS_TRY(search(flow, &root, err));
        if (root == HS_NO_NUMBER)
            return HS_OK;
        augment(flow, root);
    }
    return HS_OK;
}

/* ---- cuts */

/* Lists the cut among the states from queue[begin] on: the units that were come to from behind and
 * not passed. */
static unsigned list_cut(const struct cut_flow *flow, size_t begin, uint32_t *cut, unsigned n)
{
    for (size_t i = begin; i < flow->n_queued; i++) {
        uint32_t unit = flow->queue[i] / 2;
        bool is_cut =
            flow->queue[i] % 2 == BEHIND && flow->units[unit].from[BEFORE] == HS_NO_NUMBER;
        if (!is_cut)
            continue;
        assert(n < HS_CUT_MOST && flow->units[unit].has_flow);
        cut[n++] = unit;
    }
    return n;
}

/* The last search came to no root: what it met lies behind the cut nearest to the targets. */
static void find_near_object(struct cut_flow *flow)
{
    unsigned n = list_cut(flow, 0, flow->near_object, 0);
    assert(n == flow->n_ways);
    (void)n;
    for (size_t i = 0; i < flow->n_queued; i++)
        if (flow->queue[i] % 2 == BEFORE)
            flow->units[flow->queue[i] / 2].is_below = true;
}

/* Takes out the units that were passed on the way to another. */
static unsigned drop_passed(const struct cut_flow *flow, uint32_t *cut, unsigned n)
{
    unsigned n_left = 0;
    for (unsigned i = 0; i < n; i++)
        if (flow->units[cut[i]].from[BEFORE] == HS_NO_NUMBER)
            cut[n_left++] = cut[i];
    return n_left;
}

/* Moves the cut towards the roots as far as it keeps its size: a unit of it can be passed when the
 * search that goes on from before it comes to no root. One that cannot never can, since the search
 * only gains ground. */
static hs_status find_near_roots(struct cut_flow *flow, struct hs_error *err)
{
    uint32_t open[HS_CUT_MOST];
    unsigned n_open = flow->n_ways, n = 0;
    for (unsigned i = 0; i < n_open; i++)
        open[i] = flow->near_object[i];
    while (n_open > 0) {
        uint32_t unit = open[--n_open], root;
        size_t begin = flow->n_queued;
        HS_TRY(put(flow, unit, BEFORE, state_of(unit, BEHIND), err));
        HS_TRY(search(flow, &root, err));
        if (root == HS_NO_NUMBER) {
            n_open = drop_passed(flow, open, n_open);
            n_open = list_cut(flow, begin, open, n_open);
        } else {
            forget(flow, begin);
            flow->near_roots[n++] = unit;
        }
    }
    assert(n == flow->n_ways);
    return HS_OK;
}

/* ---- life */

static hs_status find(struct cut_flow *flow, struct hs_error *err)
{
    HS_TRY(add_targets(flow, err));
    HS_TRY(find_ways(flow, err));
    if (flow->n_ways > HS_CUT_MOST)
        return HS_OK;
    find_near_object(flow);
    return find_near_roots(flow, err);
}

hs_status cut_flow_init(struct hs_view *view, const hs_node *targets, size_t n_targets,
                        struct cut_flow *ret, struct hs_error *err)
{
    struct cut_flow flow = {.view = view, .targets = targets, .n_targets = n_targets};
    hs_nearest_init(view, unit_node, view, &flow.climb);
    hs_status status = find(&flow, err);
    if (status == HS_OK)
        *ret = flow;
    else
        cut_flow_fini(&flow);
    return status;
}

void cut_flow_fini(struct cut_flow *flow)
{
    hs_nearest_fini(&flow->climb);
    hs_table_fini(&flow->by_node);
    hs_free(flow->units);
    hs_free(flow->arcs);
    hs_free(flow->queue);
    if (flow->view != NULL)
        hs_budget_release(flow->view->session.budget, flow->taken_bytes);
    *flow = (struct cut_flow){0};
}
