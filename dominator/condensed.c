#include "condensed.h"

#include <assert.h>
#include <string.h>

#include "graph/pages.h"
#include "strong_components.h"

/* Units: tree nodes keep their numbers; *heads*, blocks whose immediate dominator is an inner node
 * of the root tree, follow. A block belongs to the unit of its immediate dominator, a leaf of the
 * root tree to itself. An edge into another unit can only lead to a head. */
struct units {
    uint32_t n_nodes, n_tree, n_units;
    uint32_t *of;              /* by node; HS_NONE when not reached */
    struct hs_bitmap is_head;  /* by node */
    struct hs_bitmap is_inner; /* by tree node */
    const struct hs_graph *graph;
};

static void units_fini(struct units *units)
{
    hs_pages_free(units->of, units->n_nodes, sizeof(uint32_t));
    hs_bitmap_fini(&units->is_head);
    hs_bitmap_fini(&units->is_inner);
}

/* Tree nodes with a child in the tree. */
static void units_mark_inner(struct units *units)
{
    const struct hs_graph *graph = units->graph;
    for (uint32_t i = 0; i < units->n_tree; i++)
        for (uint32_t e = graph->begin[i]; e < graph->begin[i + 1]; e++)
            if (graph->target[e] < units->n_tree)
                hs_bitmap_set(&units->is_inner, i);
    hs_bitmap_set(&units->is_inner, 0);
}

/* Fills by_number (zeroed) with 1 + unit. */
static void units_number(struct units *units, const struct hs_domtree *tree, uint32_t *by_number)
{
    uint32_t n_tree = units->n_tree;

    for (uint32_t i = 0; i < n_tree; i++) {
        assert(tree->number[i] != 0);
        by_number[tree->number[i] - 1] = 1 + i;
    }
    units->n_units = n_tree;
    for (uint32_t i = 0; i < tree->n_reached; i++) {
        if (by_number[i] != 0)
            continue; /* a tree node */
        uint32_t above = by_number[tree->idom[i]] - 1;
        if (above < n_tree && hs_bitmap_get(&units->is_inner, above))
            by_number[i] = 1 + units->n_units++;
        else
            by_number[i] = 1 + above;
    }
}

/* From preorder numbers to nodes. A head is the first of its unit in preorder. */
static hs_status units_spread(struct units *units, const struct hs_domtree *tree,
                              const uint32_t *by_number, struct hs_error *err)
{
    void *memory;
    HS_TRY(hs_dense_pages(units->n_nodes, sizeof(uint32_t), &memory, err));
    units->of = memory;
    for (uint32_t i = 0; i < units->n_nodes; i++) {
        uint32_t number = tree->number[i];
        units->of[i] = number == 0 ? HS_NONE : by_number[number - 1] - 1;
        if (number == 0 || i < units->n_tree)
            continue;
        uint32_t above = by_number[tree->idom[number - 1]] - 1;
        if (above < units->n_tree && hs_bitmap_get(&units->is_inner, above))
            hs_bitmap_set(&units->is_head, i);
    }
    return HS_OK;
}

static hs_status units_find(const struct hs_domtree *tree, struct units *units,
                            struct hs_error *err)
{
    void *memory;

    HS_TRY(hs_bitmap_init(&units->is_inner, units->n_tree, err));
    HS_TRY(hs_bitmap_init(&units->is_head, units->n_nodes, err));
    units_mark_inner(units);
    HS_TRY(hs_dense_pages(tree->n_reached, sizeof(uint32_t), &memory, err));
    units_number(units, tree, memory);
    hs_status status = units_spread(units, tree, memory, err);
    hs_pages_free(memory, tree->n_reached, sizeof(uint32_t));
    return status;
}

/* ---- edges between units ---- */

/* The unit that edge e of node u leads to, or HS_NONE when it stays inside or is not followed. */
static inline uint32_t edge_crosses(const struct units *units, uint32_t u, uint32_t unit,
                                    uint32_t e)
{
    uint32_t target = units->graph->target[e];
    if (target < units->n_tree)
        return target;
    if (u == 0 || !hs_bitmap_get(&units->is_head, target) || units->of[target] == unit)
        return HS_NONE;
    return units->of[target];
}

/* Edges between units as they are met: source unit above target unit. */
struct unit_edges {
    uint64_t *pairs;
    uint64_t n, capacity;
};

/* One sweep over the graph; counts in begin[unit + 1]. */
static void units_sweep(const struct units *units, struct unit_edges *edges, uint32_t *begin)
{
    const struct hs_graph *graph = units->graph;

    for (uint32_t u = 0; u < graph->n_nodes; u++) {
        uint32_t unit = units->of[u];
        if (unit == HS_NONE)
            continue;
        for (uint32_t e = graph->begin[u]; e < graph->begin[u + 1]; e++) {
            uint32_t to = edge_crosses(units, u, unit, e);
            if (to == HS_NONE)
                continue;
            begin[unit + 1]++;
            edges->pairs[edges->n++] = (uint64_t)unit << 32 | to;
        }
    }
    assert(edges->n <= edges->capacity);
}

/* After a sweep that moved each begin to the next one's place. */
static void rows_restore(uint32_t *begin, uint32_t n)
{
    memmove(begin + 1, begin, (size_t)n * sizeof(uint32_t));
    begin[0] = 0;
}

/* Counts in begin[1 ...] become begins. */
static void rows_accumulate(uint32_t *begin, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        begin[i + 1] += begin[i];
}

/* Keeps one of equal targets per row; `seen` is zeroed, one entry per node. */
static void rows_unique(struct hs_graph *graph, uint32_t *seen)
{
    uint32_t out = 0, begin = 0;
    for (uint32_t u = 0; u < graph->n_nodes; u++) {
        uint32_t end = graph->begin[u + 1];
        for (uint32_t e = begin; e < end; e++) {
            uint32_t target = graph->target[e];
            if (seen[target] == u + 1)
                continue;
            seen[target] = u + 1;
            graph->target[out++] = target;
        }
        begin = end;
        graph->begin[u + 1] = out;
    }
    graph->n_edges = out;
}

static hs_status graph_unique(struct hs_graph *graph, struct hs_error *err)
{
    void *seen;
    HS_TRY(hs_pages_alloc(graph->n_nodes, sizeof(uint32_t), &seen, err));
    rows_unique(graph, seen);
    hs_pages_free(seen, graph->n_nodes, sizeof(uint32_t));
    return HS_OK;
}

static hs_status units_rows(const struct units *units, struct unit_edges *edges, uint32_t *begin,
                            struct hs_graph *ret, struct hs_error *err)
{
    units_sweep(units, edges, begin);
    rows_accumulate(begin, units->n_units);
    HS_TRY(hs_graph_init(units->n_units, units->n_tree, edges->n, ret, err));
    memcpy(ret->begin, begin, ((size_t)units->n_units + 1) * sizeof(uint32_t));
    for (uint64_t i = 0; i < edges->n; i++)
        ret->target[ret->begin[edges->pairs[i] >> 32]++] = (uint32_t)edges->pairs[i];
    rows_restore(ret->begin, units->n_units);
    ret->n_edges = edges->n;
    return graph_unique(ret, err);
}

static hs_status units_graph(const struct units *units, struct hs_graph *ret, struct hs_error *err)
{
    size_t n = (size_t)units->n_units + 1;
    struct unit_edges edges = {.capacity = units->graph->n_edges};
    void *begin, *pairs;

    HS_TRY(hs_pages_alloc(n, sizeof(uint32_t), &begin, err));
    hs_status status = hs_pages_alloc(edges.capacity, sizeof *edges.pairs, &pairs, err);
    if (status == HS_OK) {
        edges.pairs = pairs;
        status = units_rows(units, &edges, begin, ret, err);
    }
    hs_pages_free(edges.pairs, edges.capacity, sizeof *edges.pairs);
    hs_pages_free(begin, n, sizeof(uint32_t));
    return status;
}

/* ---- components of units ---- */

static uint32_t component_edge(const struct hs_graph *graph, const uint32_t *of, uint32_t unit,
                               uint32_t e)
{
    uint32_t to = of[graph->target[e]];
    return to == of[unit] ? HS_NONE : to;
}

static void components_sweep(const struct hs_graph *graph, const uint32_t *of, uint32_t *begin,
                             uint32_t *out)
{
    for (uint32_t unit = 0; unit < graph->n_nodes; unit++) {
        if (of[unit] == HS_NONE)
            continue;
        for (uint32_t e = graph->begin[unit]; e < graph->begin[unit + 1]; e++) {
            uint32_t to = component_edge(graph, of, unit, e);
            if (to == HS_NONE)
                continue;
            if (out == NULL)
                begin[of[unit] + 1]++;
            else
                out[begin[of[unit]]++] = to;
        }
    }
}

static hs_status components_graph(const struct hs_graph *units,
                                  const struct strong_components *components, struct hs_graph *ret,
                                  struct hs_error *err)
{
    /* At most as many edges as before; what stays inside a component is lazily backed room. */
    HS_TRY(hs_graph_init(components->n_components, 1, units->n_edges, ret, err));
    components_sweep(units, components->of, ret->begin, NULL);
    rows_accumulate(ret->begin, components->n_components);
    components_sweep(units, components->of, ret->begin, ret->target);
    rows_restore(ret->begin, components->n_components);
    ret->n_edges = ret->begin[components->n_components];
    return graph_unique(ret, err);
}

static hs_status condensed_weigh(const struct units *units, const uint32_t *component,
                                 const struct hs_weights *weights, struct condensed *condensed,
                                 struct hs_error *err)
{
    void *memory;

    HS_TRY(hs_pages_alloc(condensed->graph.n_nodes, sizeof(struct hs_sizes), &memory, err));
    condensed->sizes = memory;
    for (uint32_t i = units->n_tree; i < units->n_nodes; i++) {
        if (units->of[i] == HS_NONE || component[units->of[i]] == HS_NONE)
            continue;
        struct hs_sizes sizes = hs_weights_of(weights, i);
        hs_sizes_add(&condensed->sizes[component[units->of[i]]], &sizes);
    }
    HS_TRY(hs_pages_alloc(units->n_tree, sizeof(uint32_t), &memory, err));
    condensed->of_tree = memory;
    condensed->n_tree = units->n_tree;
    memcpy(condensed->of_tree, component, units->n_tree * sizeof(uint32_t));
    return HS_OK;
}

static hs_status condensed_join(const struct units *units, const struct hs_weights *weights,
                                struct condensed *condensed, struct hs_error *err)
{
    struct hs_graph graph = {0};
    struct strong_components components = {0};

    hs_status status = units_graph(units, &graph, err);
    if (status == HS_OK)
        status = strong_components_find(&graph, &components, err);
    if (status == HS_OK)
        status = components_graph(&graph, &components, &condensed->graph, err);
    hs_graph_fini(&graph);
    if (status == HS_OK)
        status = condensed_weigh(units, components.of, weights, condensed, err);
    strong_components_fini(&components);
    return status;
}

hs_status condensed_make(const struct hs_graph *graph, const struct hs_domtree *tree,
                         const struct hs_weights *weights, const struct hs_progress *progress,
                         struct condensed *ret, struct hs_error *err)
{
    struct units units = {.n_nodes = graph->n_nodes, .n_tree = graph->n_tree, .graph = graph};
    struct condensed condensed = {0};

    hs_status status = hs_progress_tell(progress, "condensing the graph", 0, 0, err);
    if (status == HS_OK)
        status = units_find(tree, &units, err);
    if (status == HS_OK)
        status = condensed_join(&units, weights, &condensed, err);
    units_fini(&units);
    if (status == HS_OK)
        *ret = condensed;
    else
        condensed_fini(&condensed);
    return status;
}

void condensed_fini(struct condensed *condensed)
{
    hs_pages_free(condensed->sizes, condensed->graph.n_nodes, sizeof(struct hs_sizes));
    hs_pages_free(condensed->of_tree, condensed->n_tree, sizeof(uint32_t));
    hs_graph_fini(&condensed->graph);
    *condensed = (struct condensed){0};
}
