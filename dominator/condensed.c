#include "dominator/condensed.h"

#include <assert.h>
#include <string.h>

#include "condensed_files.h"
#include "graph/pages.h"
#include "strong_components.h"
#include "unit_rows.h"

#define WHAT "the condensed graph"

uint64_t hs_condensed_graph_bytes(uint64_t n_nodes, uint64_t n_edges)
{
    return (n_nodes + 1 + n_edges) * sizeof(uint32_t);
}

/* ---- the graph of components ---- */

/* Edges between components as they are met: counted in begin[from + 1], or put into rows. */
struct joining {
    const struct hs_graph *units;            /* until it is freed */
    const struct hs_unit_edge_source *edges; /* NULL: those of the graph */
    const struct hs_condensed_room *room;    /* NULL: in memory */
    struct strong_components components;
    uint64_t max_edges;
    uint32_t *begin, *out; /* out NULL: count */
};

static inline void joining_edge(struct joining *joining, uint32_t from, uint32_t to)
{
    const uint32_t *of = joining->components.of;

    if (of[from] == HS_NONE || of[from] == of[to])
        return;
    if (joining->out == NULL)
        joining->begin[of[from] + 1]++;
    else
        joining->out[joining->begin[of[from]]++] = of[to];
}

static void joining_put(void *sink, uint32_t from, uint32_t to)
{
    joining_edge(sink, from, to);
}

static hs_status joining_sweep(struct joining *joining, uint32_t *out, struct hs_error *err)
{
    const struct hs_graph *units = joining->units;

    joining->out = out;
    if (joining->edges != NULL)
        return joining->edges->run(joining->edges->context, joining_put, joining, err);
    for (uint32_t unit = 0; unit < units->n_nodes; unit++)
        for (uint32_t e = units->begin[unit]; e < units->begin[unit + 1]; e++)
            joining_edge(joining, unit, units->target[e]);
    return HS_OK;
}

/* Room for targets is lazily backed: it is taken once they are counted. */
static hs_status joining_fill(struct joining *joining, struct hs_condensed *condensed,
                              struct hs_error *err)
{
    struct hs_graph *graph = &condensed->graph;
    uint32_t n = joining->components.n_components;

    joining->begin = graph->begin;
    HS_TRY(joining_sweep(joining, NULL, err));
    unit_rows_accumulate(graph->begin, n);
    uint64_t n_bytes = graph->begin[n] * sizeof(uint32_t);
    HS_TRY(hs_budget_reserve(condensed->budget, n_bytes, WHAT, err));
    condensed->graph_bytes += n_bytes;
    HS_TRY(joining_sweep(joining, graph->target, err));
    unit_rows_restore(graph->begin, n);
    graph->n_edges = graph->begin[n];
    return unit_rows_unique(graph, err);
}

/* The graph, and the marks that keep its edges apart. */
static hs_status joining_graph(struct joining *joining, struct hs_condensed *condensed,
                               struct hs_error *err)
{
    uint64_t n = joining->components.n_components, seen_bytes = n * sizeof(uint32_t);
    uint64_t n_bytes = hs_condensed_graph_bytes(n, 0);

    HS_TRY(hs_budget_reserve(condensed->budget, n_bytes + seen_bytes, WHAT, err));
    condensed->graph_bytes = n_bytes;
    condensed->n_nodes = joining->components.n_components;
    hs_status status = hs_graph_init(n, 1, joining->max_edges, &condensed->graph, err);
    if (status == HS_OK)
        status = joining_fill(joining, condensed, err);
    hs_budget_release(condensed->budget, seen_bytes);
    return status;
}

/* ---- components ---- */

/* Finds strong components; 4 bytes per unit stay reserved afterwards: the component of each. */
static hs_status components_find(const struct hs_graph *units, struct hs_budget *budget,
                                 struct strong_components *ret, struct hs_error *err)
{
    uint64_t n_bytes = strong_components_bytes(units->n_nodes);
    uint64_t kept_bytes = (uint64_t)units->n_nodes * sizeof(uint32_t);

    HS_TRY(hs_budget_reserve(budget, n_bytes, WHAT, err));
    hs_status status = strong_components_find(units, ret, err);
    hs_budget_release(budget, status == HS_OK ? n_bytes - kept_bytes : n_bytes);
    return status;
}

/* The rows go as soon as the components are found. */
static hs_status components_find_stored(struct hs_stored_rows *rows, struct hs_budget *budget,
                                        struct strong_components *ret, struct hs_error *err)
{
    uint64_t n_bytes = strong_components_bytes(rows->n_nodes);
    uint64_t kept_bytes = (uint64_t)rows->n_nodes * sizeof(uint32_t);

    HS_TRY(hs_budget_reserve(budget, n_bytes, WHAT, err));
    hs_status status = hs_stored_rows_open(rows, 0, err);
    if (status == HS_OK)
        status = strong_components_stored(rows, ret, err);
    hs_budget_release(budget, status == HS_OK ? n_bytes - kept_bytes : n_bytes);
    return status;
}

static hs_status condensed_place_tree(const uint32_t *component, struct hs_condensed *condensed,
                                      struct hs_error *err)
{
    uint64_t n_bytes = condensed->n_tree * sizeof(uint32_t);

    HS_TRY(hs_budget_reserve(condensed->budget, n_bytes, WHAT, err));
    condensed->reserved_bytes += n_bytes;
    HS_TRY(HS_PAGES_ALLOC(&condensed->of_tree, condensed->n_tree, err));
    memcpy(condensed->of_tree, component, n_bytes);
    return HS_OK;
}

static void units_free(struct hs_graph *units, struct hs_budget *budget)
{
    if (units->begin == NULL)
        return;
    hs_budget_release(budget, hs_condensed_graph_bytes(units->n_nodes, units->n_edges));
    hs_graph_fini(units);
}

static void joining_count(void *sink, uint32_t from, uint32_t to)
{
    struct joining *joining = sink;
    const uint32_t *of = joining->components.of;
    joining->max_edges += of[from] != HS_NONE && of[from] != of[to];
}

/* Tells whether the graph goes into memory. Its edges are counted only where that may matter. */
static hs_status joining_fits(struct joining *joining, uint64_t n_tree, bool *ret,
                              struct hs_error *err)
{
    const struct hs_condensed_room *room = joining->room;
    uint64_t n = joining->components.n_components;

    *ret = room == NULL || room->fits(room, n, joining->max_edges, n_tree);
    if (*ret)
        return HS_OK;
    joining->max_edges = 0;
    HS_TRY(joining->edges->run(joining->edges->context, joining_count, joining, err));
    *ret = room->fits(room, n, joining->max_edges, n_tree);
    return HS_OK;
}

static hs_status joining_put_graph(struct joining *joining, struct hs_condensed *condensed,
                                   struct hs_error *err)
{
    const struct condensed_parts parts = {&joining->components, joining->edges};
    bool fits;

    HS_TRY(joining_fits(joining, condensed->n_tree, &fits, err));
    return fits ? joining_graph(joining, condensed, err)
                : condensed_files_make(&parts, condensed, err);
}

/* Goes on from components, and takes them. `units` are freed when they are not looked at again. */
static hs_status joining_finish(struct joining *joining, struct hs_graph *units,
                                struct hs_condensed *ret, uint32_t **ret_component,
                                struct hs_error *err)
{
    struct strong_components *components = &joining->components;
    struct hs_condensed condensed = {.n_tree = ret->n_tree, .budget = ret->budget};

    hs_status status = joining_put_graph(joining, &condensed, err);
    units_free(units, ret->budget);
    if (status == HS_OK)
        status = condensed_place_tree(components->of, &condensed, err);
    if (status == HS_OK) {
        *ret = condensed;
        *ret_component = components->of;
        return HS_OK;
    }
    hs_budget_release(ret->budget, components->n_nodes * sizeof(uint32_t));
    strong_components_fini(components);
    hs_condensed_fini(&condensed);
    return status;
}

hs_status hs_condensed_join(struct hs_graph *units, uint32_t n_tree,
                            const struct hs_unit_edge_source *edges,
                            const struct hs_condensed_room *room, struct hs_condensed *ret,
                            uint32_t **ret_component, struct hs_error *err)
{
    struct hs_budget *budget = room == NULL ? NULL : room->budget;
    struct hs_condensed condensed = {.n_tree = n_tree, .budget = budget};
    struct joining joining = {
        .units = units, .edges = edges, .room = room, .max_edges = units->n_edges};

    assert(room == NULL || edges != NULL);

    hs_status status = components_find(units, budget, &joining.components, err);
    if (edges != NULL || status != HS_OK)
        units_free(units, budget);
    if (status == HS_OK)
        status = joining_finish(&joining, units, &condensed, ret_component, err);
    if (status == HS_OK)
        *ret = condensed;
    return status;
}

hs_status hs_condensed_join_stored(uint32_t n_units, uint32_t n_tree,
                                   const struct hs_unit_edge_source *edges,
                                   const struct hs_condensed_room *room, struct hs_condensed *ret,
                                   uint32_t **ret_component, struct hs_error *err)
{
    struct hs_budget *budget = room->budget;
    struct hs_condensed condensed = {.n_tree = n_tree, .budget = budget};
    struct joining joining = {.edges = edges, .room = room};
    struct hs_stored_rows rows = {0};
    struct hs_graph none = {0};

    HS_TRY(hs_stored_rows_make(n_units, edges, budget, WHAT, &rows, err));
    joining.max_edges = rows.n_words - n_units;
    hs_status status = components_find_stored(&rows, budget, &joining.components, err);
    hs_stored_rows_fini(&rows);
    if (status == HS_OK)
        status = joining_finish(&joining, &none, &condensed, ret_component, err);
    if (status == HS_OK)
        *ret = condensed;
    return status;
}

uint64_t hs_condensed_join_bytes(uint64_t n_units, uint64_t n_edges)
{
    return hs_condensed_graph_bytes(n_units, n_edges) + strong_components_bytes(n_units);
}

hs_status hs_condensed_reverse(struct hs_condensed *condensed, struct hs_error *err)
{
    uint64_t n_bytes = hs_condensed_graph_bytes(condensed->n_nodes, condensed->graph.n_edges);
    struct hs_graph reverse;

    if (condensed->is_reversed || condensed->is_stored)
        return HS_OK;
    HS_TRY(hs_budget_reserve(condensed->budget, n_bytes, "reversing the condensed graph", err));
    hs_status status = hs_graph_reverse(&condensed->graph, &reverse, err);
    if (status != HS_OK) {
        hs_budget_release(condensed->budget, n_bytes);
        return status;
    }
    hs_graph_fini(&condensed->graph);
    hs_budget_release(condensed->budget, condensed->graph_bytes);
    condensed->graph_bytes = n_bytes;
    condensed->graph = reverse;
    condensed->is_reversed = true;
    return HS_OK;
}

void hs_condensed_drop_signatures(struct hs_condensed *condensed)
{
    if (condensed->signature == NULL)
        return;
    uint64_t n = hs_condensed_places(condensed);
    hs_pages_free(condensed->signature, n, sizeof *condensed->signature);
    hs_budget_release(condensed->budget, n * sizeof *condensed->signature);
    condensed->signature = NULL;
}

void hs_condensed_fini(struct hs_condensed *condensed)
{
    hs_condensed_drop_signatures(condensed);
    condensed_files_fini(condensed);
    hs_pages_free(condensed->ends.degree, condensed->n_nodes, sizeof(uint8_t));
    hs_spill_close(&condensed->ends.spill);
    hs_graph_fini(&condensed->graph);
    hs_unit_sizes_fini(&condensed->sizes);
    hs_pages_free(condensed->of_tree, condensed->n_tree, sizeof(uint32_t));
    hs_budget_release(condensed->budget, condensed->graph_bytes + condensed->reserved_bytes);
    *condensed = (struct hs_condensed){0};
}
