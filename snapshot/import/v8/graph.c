/* Rules that depend on what reaches what: the graph of edges that are not weak, in memory.
 *
 * Page objects (DevTools: HeapSnapshot.ts, markPageOwnedNodes; memlab: TraceFinder.js,
 * flagReachableNodesFromWindow): an edge from what the page does not own into what it owns does not
 * retain, so that a debugger's own references do not change who keeps an object. The two tools
 * begin at different nodes.
 *
 * Folded sizes (DevTools: calculateShallowSizes): V8's helper objects count for the one object that
 * owns them. */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "run.h"

#define NODE_LIMIT (UINT32_MAX - 1)
#define UNVISITED UINT32_MAX
#define MANY_OWNERS (UINT32_MAX - 1)

struct v8_graph {
    struct v8_run *run;
    uint64_t n_nodes, n_targets;
    uint64_t *begin;  /* owned pages: n_nodes + 1 */
    uint32_t *target; /* owned pages */
    uint32_t *stack;  /* owned pages: 2 * n_nodes */
    uint64_t n_stack;
    uint32_t *owner; /* owned pages, for sizes */
};

static void graph_fini(struct v8_graph *g)
{
    struct maker *maker = g->run->maker;
    maker_pages_free(maker, g->begin, g->n_nodes + 1, sizeof *g->begin);
    maker_pages_free(maker, g->target, g->run->file.n_edges + 1, sizeof *g->target);
    maker_pages_free(maker, g->stack, 2 * g->n_nodes, sizeof *g->stack);
    maker_pages_free(maker, g->owner, g->n_nodes, sizeof *g->owner);
}

static hs_status graph_alloc(struct v8_graph *g, struct hs_error *err)
{
    struct maker *maker = g->run->maker;
    static const char what[] = "the graph that the rules about pages and sizes need";
    void *pages;
    if (g->n_nodes >= NODE_LIMIT)
        return hs_fail(err, HS_LIMIT, "rules about pages and sizes need less than 2^32 nodes");
    HS_TRY(maker_pages(maker, g->n_nodes + 1, sizeof *g->begin, what, &pages, err));
    g->begin = pages;
    HS_TRY(maker_pages(maker, g->run->file.n_edges + 1, sizeof *g->target, what, &pages, err));
    g->target = pages;
    HS_TRY(maker_pages(maker, 2 * g->n_nodes, sizeof *g->stack, what, &pages, err));
    g->stack = pages;
    return HS_OK;
}

static hs_status graph_read(struct v8_graph *g, struct hs_error *err)
{
    struct v8_walk walk = hs_v8_walk_begin(&g->run->file);
    for (uint64_t from = 0; from < g->n_nodes; from++) {
        struct v8_node node;
        struct v8_edge edge;
        HS_TRY(hs_v8_next_node(&walk, &node, err));
        g->begin[from] = g->n_targets;
        for (uint64_t i = 0; i < node.n_edges; i++) {
            HS_TRY(hs_v8_next_edge(&walk, &edge, err));
            if (edge.kind != V8_WEAK)
                g->target[g->n_targets++] = (uint32_t)edge.to;
        }
        HS_TRY(hs_v8_tell(g->run, &walk, "reading the graph", err));
    }
    g->begin[g->n_nodes] = g->n_targets;
    return HS_OK;
}

static void graph_push(struct v8_graph *g, uint64_t node)
{
    assert(g->n_stack < 2 * g->n_nodes);
    g->stack[g->n_stack++] = (uint32_t)node;
}

/* ---- pages ---- */

static bool is_known(uint64_t string, const uint64_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == string)
            return true;
    return false;
}

static bool is_dom_trees(const struct v8_run *run, uint64_t node)
{
    for (size_t i = 0; i < run->n_groups; i++)
        if (run->groups[i].node == node)
            return is_known(run->groups[i].name, run->dom_trees, run->n_dom_trees);
    return false;
}

/* Tells whether the page begins at the target of an edge of the root. DevTools: at its global
 * objects and at the trees of the document; memlab: at all else. */
static bool is_seed(const struct v8_run *run, const struct v8_tree_edge *edge)
{
    bool is_element = edge->kind == V8_ELEMENT;
    bool is_dom = is_element && is_dom_trees(run, edge->to);
    if (run->policy->page == HS_PAGE_DEVTOOLS)
        return is_dom || edge->kind == V8_SHORTCUT;
    return !is_dom && edge->kind != V8_SHORTCUT;
}

static hs_status pages_mark(struct v8_graph *g, struct hs_error *err)
{
    struct v8_run *run = g->run;
    HS_TRY(hs_v8_bitmap(run, g->n_nodes, &run->page, err));
    for (size_t i = 0; i < run->n_tree_edges; i++) {
        const struct v8_tree_edge *edge = &run->tree_edges[i];
        if (edge->from != run->file.root || !is_seed(run, edge) ||
            hs_bitmap_get(&run->page, edge->to))
            continue;
        hs_bitmap_set(&run->page, edge->to);
        graph_push(g, edge->to);
    }
    while (g->n_stack != 0) {
        uint32_t node = g->stack[--g->n_stack];
        for (uint64_t e = g->begin[node]; e < g->begin[node + 1]; e++) {
            if (hs_bitmap_get(&run->page, g->target[e]))
                continue;
            hs_bitmap_set(&run->page, g->target[e]);
            graph_push(g, g->target[e]);
        }
    }
    return HS_OK;
}

/* ---- sizes ---- */

/* DevTools leaves sizes alone when V8 was told to show internals: then the root has none but
 * synthetic nodes below it. */
static bool has_user_roots(const struct v8_run *run, const struct hs_bitmap *synthetic)
{
    for (size_t i = 0; i < run->n_tree_edges; i++) {
        const struct v8_tree_edge *edge = &run->tree_edges[i];
        if (edge->from == run->file.root &&
            (!hs_bitmap_get(synthetic, edge->to) || is_dom_trees(run, edge->to)))
            return true;
    }
    return false;
}

static hs_status owners_begin(struct v8_graph *g, struct hs_bitmap *synthetic, struct hs_error *err)
{
    struct v8_run *run = g->run;
    struct v8_walk walk = hs_v8_walk_begin(&run->file);
    for (uint64_t at = 0; at < g->n_nodes; at++) {
        struct v8_node node;
        HS_TRY(hs_v8_next_node(&walk, &node, err));
        bool is_external =
            node.kind == V8_NATIVE && is_known(node.name, run->external_data, run->n_external_data);
        bool is_owned = node.kind == V8_HIDDEN || node.kind == V8_ARRAY || is_external;
        g->owner[at] = is_owned ? UNVISITED : (uint32_t)at;
        run->sizes[at] = node.n_bytes;
        if (node.kind == V8_SYNTHETIC || at == run->file.root)
            hs_bitmap_set(synthetic, at);
        if (!is_owned)
            graph_push(g, at);
    }
    return HS_OK;
}

/* A node comes onto the stack when it gets an owner and again when it gets a second one. */
static void owners_spread(struct v8_graph *g)
{
    while (g->n_stack != 0) {
        uint32_t node = g->stack[--g->n_stack];
        uint32_t owner = g->owner[node];
        for (uint64_t e = g->begin[node]; e < g->begin[node + 1]; e++) {
            uint32_t to = g->target[e];
            uint32_t old = g->owner[to];
            if (old == to || old == owner || old == MANY_OWNERS)
                continue;
            g->owner[to] = old == UNVISITED ? owner : MANY_OWNERS;
            graph_push(g, to);
        }
    }
}

static hs_status owners_add(struct v8_graph *g, const struct hs_bitmap *synthetic,
                            struct hs_error *err)
{
    uint64_t *sizes = g->run->sizes;
    for (uint64_t at = 0; at < g->n_nodes; at++) {
        uint32_t owner = g->owner[at];
        if (owner == UNVISITED || owner == MANY_OWNERS || owner == at ||
            hs_bitmap_get(synthetic, owner))
            continue;
        if (__builtin_add_overflow(sizes[owner], sizes[at], &sizes[owner]))
            return hs_fail(err, HS_FORMAT, "its sizes are out of range");
        sizes[at] = 0;
        if (sizes[owner] > g->run->max_bytes)
            g->run->max_bytes = sizes[owner];
    }
    return HS_OK;
}

static hs_status sizes_fold(struct v8_graph *g, struct hs_error *err)
{
    struct v8_run *run = g->run;
    struct hs_bitmap synthetic = {0};
    void *pages;
    HS_TRY(maker_pages(run->maker, g->n_nodes, sizeof *run->sizes, "folded sizes", &pages, err));
    run->sizes = pages;
    HS_TRY(maker_pages(run->maker, g->n_nodes, sizeof *g->owner, "owners", &pages, err));
    g->owner = pages;
    hs_status status = hs_bitmap_init(&synthetic, g->n_nodes, err);
    if (status == HS_OK)
        status = owners_begin(g, &synthetic, err);
    if (status == HS_OK && has_user_roots(run, &synthetic)) {
        owners_spread(g);
        status = owners_add(g, &synthetic, err);
    }
    hs_bitmap_fini(&synthetic);
    return status;
}

hs_status hs_v8_graph_rules(struct v8_run *run, struct hs_error *err)
{
    bool pages = run->policy->page != HS_PAGE_NONE;
    bool sizes = run->policy->sizes == HS_SIZES_FOLDED;
    if (!pages && !sizes)
        return HS_OK;
    struct v8_graph g = {.run = run, .n_nodes = run->file.n_nodes};
    hs_status status = graph_alloc(&g, err);
    if (status == HS_LIMIT)
        (void)hs_hint(err, "give more with --memory, or leave out --page none --sizes own");
    if (status == HS_OK)
        status = graph_read(&g, err);
    if (status == HS_OK && pages)
        status = pages_mark(&g, err);
    g.n_stack = 0;
    if (status == HS_OK && sizes)
        status = sizes_fold(&g, err);
    graph_fini(&g);
    return status;
}
