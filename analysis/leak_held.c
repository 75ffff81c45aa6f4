#include "leak_held.h"

#include "analysis/chunk_pass.h"
#include "base/alloc.h"
#include "graph/edges.h"
#include "graph/reverse.h"
#include "passes/passes.h"

static bool is_doubtful(const struct hs_chunk *chunk)
{
    bool any = false;
    for (uint64_t e = 0; e < chunk->n_edges; e++)
        any |= !hs_edge_is_sure(chunk->edge_class[e]);
    return any;
}

/* Tells whether any root or edge that the index followed is doubtful. Files say how many edges are,
 * since version 3. */
static hs_status look_for_doubt(const struct hs_view *view, bool *ret, struct hs_error *err)
{
    bool is_told = view->totals->n_doubtful_edges != HS_UNKNOWN_DOUBT;
    bool found = is_told && view->totals->n_doubtful_edges != 0;
    for (hs_node node = 0; node < view->n_tree && !found; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        found = root->target != HS_NO_NODE && !root->weak && hs_root_tier(root) == HS_TIER_DOUBTFUL;
    }
    *ret = found;
    if (is_told)
        return HS_OK;
    struct hs_chunk_pass pass =
        hs_chunk_pass_of(view, HS_COL_CLASSES, "looking for doubtful pointers");
    while (!found && hs_chunk_pass_next(&pass, err))
        found = is_doubtful(&pass.chunk);
    *ret = found;
    return hs_chunk_pass_end(&pass);
}

static bool is_holder(const struct hs_leak_holders *holders, const struct hs_root *root)
{
    return holders != NULL && holders->holds != NULL && root->target != HS_NO_NODE && !root->weak &&
           holders->holds(holders->context, root);
}

/* A word as good as any, where it is not known that anybody will read it again. */
static bool is_on_stack(const struct hs_root *root)
{
    return root->target != HS_NO_NODE && !root->weak && hs_edge_is_sure(root->edge_class) &&
           hs_root_tier(root) == HS_TIER_DOUBTFUL &&
           (root->kind == HS_ROOT_STACK || root->kind == HS_ROOT_LOCAL ||
            root->kind == HS_ROOT_REGISTER);
}

/* ---- in memory */

struct search {
    struct hs_graph graph;
    struct hs_bitmap *held, *on_stack;
    uint32_t *queue; /* owned pages: n_nodes */
    uint32_t n_queued;
};

static void hold(struct search *s, struct hs_bitmap *set, uint32_t node)
{
    if (hs_bitmap_get(s->held, node) || hs_bitmap_get(set, node))
        return;
    hs_bitmap_set(set, node);
    s->queue[s->n_queued++] = node;
}

static void hold_from_queue(struct search *s, struct hs_bitmap *set)
{
    for (uint32_t at = 0; at < s->n_queued; at++) {
        uint32_t n;
        const uint32_t *row = hs_graph_row(&s->graph, s->queue[at], &n);
        for (uint32_t i = 0; i < n; i++)
            hold(s, set, row[i]);
    }
    s->n_queued = 0;
}

/* Finds everything that surely lives, breadth first; then what stacks hold. */
static void search(struct search *s, const struct hs_view *view,
                   const struct hs_leak_holders *holders)
{
    hold(s, s->held, 0);
    for (uint32_t i = 1; i < s->graph.n_tree; i++)
        if (is_holder(holders, hs_snap_root(view->snap, i)))
            hold(s, s->held, (uint32_t)hs_snap_root(view->snap, i)->target);
    hold_from_queue(s, s->held);
    for (uint32_t i = 1; i < s->graph.n_tree; i++)
        if (is_on_stack(hs_snap_root(view->snap, i)))
            hold(s, s->on_stack, (uint32_t)hs_snap_root(view->snap, i)->target);
    hold_from_queue(s, s->on_stack);
}

/* Returns the memory of the search; UINT64_MAX when no such graph has room in memory. */
static uint64_t search_bytes(const struct hs_view *view)
{
    const struct hs_snap_totals *totals = view->totals;
    struct hs_error ignored;
    uint64_t n_edges = view->n_tree + totals->n_edges + totals->n_extra_edges;
    if (hs_graph_fits(view->n_nodes, n_edges, &ignored) != HS_OK)
        return UINT64_MAX;
    return sizeof(uint32_t) * (2 * view->n_nodes + 1 + n_edges);
}

hs_status hs_leak_held_in_memory(const struct hs_view *view, const struct hs_leak_holders *holders,
                                 struct hs_bitmap *held, struct hs_bitmap *on_stack,
                                 struct hs_error *err)
{
    struct search s = {.held = held, .on_stack = on_stack};
    uint64_t n = view->n_nodes, n_bytes = search_bytes(view);
    HS_TRY(hs_budget_reserve(view->session.budget, n_bytes, "the graph of sure pointers", err));
    hs_status status =
        hs_graph_load(view->snap, HS_GRAPH_SURE, view->session.progress, &s.graph, err);
    if (status == HS_OK)
        status = HS_PAGES_ALLOC(&s.queue, n, err);
    if (status == HS_OK)
        search(&s, view, holders);
    hs_graph_fini(&s.graph);
    hs_pages_free(s.queue, n, sizeof *s.queue);
    hs_budget_release(view->session.budget, n_bytes);
    return status;
}

/* ---- by passes */

/* The edges reversed, each time they are asked for: once less on disk. */
struct turned {
    const struct hs_sweep *forward;
    struct hs_reverse_options options;
};

static hs_status turned_run(const void *context, const struct hs_piece_sink *sink,
                            struct hs_error *err)
{
    const struct turned *turned = context;
    return hs_reverse(turned->forward, &turned->options, sink, err);
}

/* Marks a node as reached: node 0, and each that has a dominator. */
static hs_status put_idom(void *context, hs_node node, hs_node idom, struct hs_error *err)
{
    (void)err;
    if (node == 0 || idom != HS_NO_NODE)
        hs_bitmap_set(context, node);
    return HS_OK;
}

static hs_status run_passes(const struct hs_snap_sweep *source, struct hs_bitmap *held,
                            struct hs_error *err)
{
    struct hs_passes_input input = {.budget = source->budget, .progress = source->progress};
    HS_TRY(hs_sweep_of_snap(source, &input.forward, err));
    struct turned turned = {&input.forward,
                            {source->budget, source->progress, source->phase, NULL}};
    input.backward = input.forward;
    input.backward.run = turned_run;
    input.backward.context = &turned;
    struct hs_idom_sink sink = {.put = put_idom, .context = held};
    struct hs_passes passes = {0};
    hs_status status = hs_passes_run(&input, &passes, err);
    if (status == HS_OK)
        status = hs_passes_idoms(&passes, &sink, err);
    hs_passes_fini(&passes);
    return status;
}

/* Searches once more, as if stacks held what they lead to, when that is anything new. */
static hs_status run_with_stacks(const struct hs_view *view, const struct hs_snap_sweep *source,
                                 struct hs_bitmap *by_root, const struct hs_bitmap *held,
                                 struct hs_bitmap *on_stack, struct hs_error *err)
{
    bool is_new = false;
    for (hs_node node = 1; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (!is_on_stack(root) || hs_bitmap_get(held, root->target))
            continue;
        is_new = true;
        hs_bitmap_set(by_root, root->target);
    }
    if (!is_new)
        return HS_OK;
    HS_TRY(run_passes(source, on_stack, err));
    for (hs_node node = 0; node < view->n_nodes; node++)
        if (hs_bitmap_get(held, node))
            hs_bitmap_clear(on_stack, node);
    return HS_OK;
}

hs_status hs_leak_held_by_passes(const struct hs_view *view, const struct hs_leak_holders *holders,
                                 struct hs_bitmap *held, struct hs_bitmap *on_stack,
                                 struct hs_error *err)
{
    struct hs_bitmap by_root = {0};
    struct hs_snap_sweep source = {
        .snap = view->snap,
        .edges = HS_GRAPH_SURE,
        .held = &by_root,
        .budget = view->session.budget,
        .progress = view->session.progress,
        .phase = "following sure pointers",
    };
    const uint64_t n_bytes = view->n_nodes / 8;
    HS_TRY(hs_budget_reserve(view->session.budget, n_bytes, "what suppressed roots hold", err));
    hs_status status = hs_bitmap_init(&by_root, view->n_nodes, err);
    for (hs_node node = 1; status == HS_OK && node < view->n_tree; node++)
        if (is_holder(holders, hs_snap_root(view->snap, node)))
            hs_bitmap_set(&by_root, hs_snap_root(view->snap, node)->target);
    if (status == HS_OK)
        status = run_passes(&source, held, err);
    if (status == HS_OK)
        status = run_with_stacks(view, &source, &by_root, held, on_stack, err);
    hs_bitmap_fini(&by_root);
    hs_budget_release(view->session.budget, n_bytes);
    return status;
}

/* The index knows what lives by its tiers, types of --pointers-in included. */
static void held_by_index(const struct hs_view *view, struct hs_bitmap *held)
{
    bool has_tiers = hs_index_policy(view->index) == HS_POLICY_FIRM;
    struct hs_index_in_order told = {.index = view->index,
                                     .read = has_tiers ? hs_index_run_tiers : hs_index_run_reached};
    for (hs_node node = 0; node < view->n_nodes; node++) {
        unsigned is = hs_index_next(&told, node);
        if (has_tiers ? is <= HS_TIER_RUNTIME : is != 0)
            hs_bitmap_set(held, node);
    }
}

/* Tells whether a root on a stack leads to anything that is not held yet. */
static bool stacks_hold(const struct hs_view *view, const struct hs_bitmap *held)
{
    for (hs_node node = 1; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (is_on_stack(root) && !hs_bitmap_get(held, root->target))
            return true;
    }
    return false;
}

static hs_status held_by_search(const struct hs_view *view, const struct hs_leak_holders *holders,
                                struct hs_bitmap *held, struct hs_bitmap *on_stack,
                                struct hs_error *err)
{
    if (search_bytes(view) <= hs_budget_left_bytes(view->session.budget))
        return hs_leak_held_in_memory(view, holders, held, on_stack, err);
    return hs_leak_held_by_passes(view, holders, held, on_stack, err);
}

hs_status hs_leak_find_held(const struct hs_view *view, const struct hs_leak_holders *holders,
                            struct hs_bitmap *held, struct hs_bitmap *on_stack,
                            struct hs_error *err)
{
    bool has_doubt = holders != NULL;
    if (!has_doubt && hs_index_policy(view->index) != HS_POLICY_FIRM)
        HS_TRY(look_for_doubt(view, &has_doubt, err));
    if (has_doubt)
        return held_by_search(view, holders, held, on_stack, err);
    held_by_index(view, held);
    if (!stacks_hold(view, held))
        return HS_OK;
    struct hs_bitmap again = {0};
    HS_TRY(hs_budget_reserve(view->session.budget, view->n_nodes / 8, "what stacks hold", err));
    hs_status status = hs_bitmap_init(&again, view->n_nodes, err);
    if (status == HS_OK)
        status = held_by_search(view, holders, &again, on_stack, err);
    hs_bitmap_fini(&again);
    hs_budget_release(view->session.budget, view->n_nodes / 8);
    return status;
}
