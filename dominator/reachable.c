#include "dominator/reachable.h"

#include <assert.h>
#include <string.h>

#include "dominator/condensed.h"
#include "graph/pages.h"
#include "unit_rows.h"

/* Units: tree nodes keep their numbers; *heads*, blocks whose immediate dominator is an inner node
 * of the root tree, follow. A block belongs to the unit of its immediate dominator, a leaf of the
 * root tree to itself. An edge into another unit can only lead to a head. */
struct units {
    uint32_t n_nodes, n_tree, n_units;
    const struct hs_domtree *tree;
    uint32_t *by_number;                /* unit by preorder number */
    struct hs_bitmap is_head;           /* by node */
    struct hs_bitmap is_inner;          /* by tree node */
    const struct hs_owner_roots *roots; /* NULL: sets are not asked for */
    struct hs_bitmap is_top;            /* by node, with roots: heads that are top units */
};

static void units_fini(struct units *units)
{
    hs_bitmap_fini(&units->is_top);
    hs_pages_free(units->by_number, units->tree->n_reached, sizeof(uint32_t));
    hs_bitmap_fini(&units->is_head);
    hs_bitmap_fini(&units->is_inner);
}

/* Returns the unit of a node that is reached. */
static inline uint32_t units_of(const struct units *units, uint32_t node)
{
    return units->by_number[units->tree->number[node] - 1];
}

/* Marks tree nodes with a child in the tree: a child's only predecessor and dominator is its
 * parent. */
static void units_mark_inner(struct units *units)
{
    const struct hs_domtree *tree = units->tree;

    for (uint32_t i = 0; i < units->n_tree; i++) {
        assert(tree->number[i] != 0);
        units->by_number[tree->number[i] - 1] = 1 + i;
    }
    for (uint32_t i = 1; i < units->n_tree; i++)
        hs_bitmap_set(&units->is_inner, units->by_number[tree->idom[tree->number[i] - 1]] - 1);
    hs_bitmap_set(&units->is_inner, 0);
}

/* Preorder numbers of heads, and of those that are top units. */
struct starts {
    struct hs_bitmap heads, tops;
};

/* Numbers the units of blocks, in preorder. */
static void units_number(struct units *units, struct starts *starts)
{
    const struct hs_domtree *tree = units->tree;
    uint32_t *by_number = units->by_number, n_tree = units->n_tree;

    units->n_units = n_tree;
    for (uint32_t i = 0; i < tree->n_reached; i++) {
        if (by_number[i] != 0) { /* a tree node */
            by_number[i]--;
            continue;
        }
        uint32_t above = by_number[tree->idom[i]];
        bool is_head = above < n_tree && hs_bitmap_get(&units->is_inner, above);
        by_number[i] = is_head ? units->n_units++ : above;
        if (is_head)
            hs_bitmap_set(&starts->heads, i);
        if (is_head && units->roots != NULL && !hs_bitmap_get(&units->roots->is_root, above))
            hs_bitmap_set(&starts->tops, i);
    }
}

static void units_mark_heads(struct units *units, const struct starts *starts)
{
    for (uint32_t i = units->n_tree; i < units->n_nodes; i++) {
        uint32_t number = units->tree->number[i];
        if (number == 0 || !hs_bitmap_get(&starts->heads, number - 1))
            continue;
        hs_bitmap_set(&units->is_head, i);
        if (units->roots != NULL && hs_bitmap_get(&starts->tops, number - 1))
            hs_bitmap_set(&units->is_top, i);
    }
}

static hs_status starts_init(const struct units *units, struct starts *starts, struct hs_error *err)
{
    HS_TRY(hs_bitmap_init(&starts->heads, units->tree->n_reached, err));
    return units->roots == NULL ? HS_OK
                                : hs_bitmap_init(&starts->tops, units->tree->n_reached, err);
}

static void starts_fini(struct starts *starts)
{
    hs_bitmap_fini(&starts->heads);
    hs_bitmap_fini(&starts->tops);
}

static hs_status units_find(struct units *units, struct hs_error *err)
{
    struct starts starts = {0};
    void *memory;

    HS_TRY(hs_bitmap_init(&units->is_inner, units->n_tree, err));
    HS_TRY(hs_bitmap_init(&units->is_head, units->n_nodes, err));
    HS_TRY(hs_dense_pages(units->tree->n_reached, sizeof(uint32_t), &memory, err));
    units->by_number = memory;
    if (units->roots != NULL)
        HS_TRY(hs_bitmap_init(&units->is_top, units->n_nodes, err));
    hs_status status = starts_init(units, &starts, err);
    if (status == HS_OK) {
        units_mark_inner(units);
        units_number(units, &starts);
        units_mark_heads(units, &starts);
    }
    starts_fini(&starts);
    return status;
}

/* ---- edges between units ---- */

/* Edges between units as they are met: source unit above target unit. */
struct unit_edges {
    const struct units *units;
    uint32_t *begin; /* counts in begin[unit + 1] */
    uint64_t *pairs;
    uint64_t n, capacity;
};

/* Tells whether an edge to another node than one of the tree may lead into another unit. Edges from
 * node 0 to blocks are not followed. */
static inline bool edge_enters(const struct units *units, uint32_t u, uint32_t target)
{
    return u != 0 && hs_bitmap_get(&units->is_head, target);
}

static void edges_take_row(struct unit_edges *edges, uint32_t u, const uint32_t *row, uint32_t n)
{
    const struct units *units = edges->units;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t target = row[i];
        if (target >= units->n_tree && !edge_enters(units, u, target))
            continue;
        uint32_t unit = units_of(units, u), to = units_of(units, target);
        if (unit == to)
            continue;
        edges->begin[unit + 1]++;
        edges->pairs[edges->n++] = (uint64_t)unit << 32 | to;
    }
}

static hs_status edges_put(void *context, const struct hs_rows *rows, struct hs_error *err)
{
    struct unit_edges *edges = context;
    const uint32_t *begin = rows->begin;

    (void)err;
    for (uint32_t i = 0; i < rows->n; i++)
        if (edges->units->tree->number[rows->first + i] != 0)
            edges_take_row(edges, rows->first + i, rows->target + begin[i],
                           begin[i + 1] - begin[i]);
    assert(edges->n <= edges->capacity);
    return HS_OK;
}

static hs_status units_rows(const struct unit_edges *edges, struct hs_graph *ret,
                            struct hs_error *err)
{
    uint32_t n_units = edges->units->n_units;

    unit_rows_accumulate(edges->begin, n_units);
    HS_TRY(hs_graph_init(n_units, edges->units->n_tree, edges->n, ret, err));
    memcpy(ret->begin, edges->begin, ((size_t)n_units + 1) * sizeof(uint32_t));
    for (uint64_t i = 0; i < edges->n; i++)
        ret->target[ret->begin[edges->pairs[i] >> 32]++] = (uint32_t)edges->pairs[i];
    unit_rows_restore(ret->begin, n_units);
    ret->n_edges = edges->n;
    return unit_rows_unique(ret, err);
}

static hs_status units_graph(const struct units *units, const struct hs_row_source *source,
                             const struct hs_progress *progress, struct hs_graph *ret,
                             struct hs_error *err)
{
    size_t n = (size_t)units->n_units + 1;
    struct unit_edges edges = {.units = units};
    const struct hs_row_sink sink = {edges_put, &edges};
    struct hs_row_counts counts;
    void *pairs;

    HS_TRY(hs_rows_count(source, &counts, err));
    HS_TRY(HS_PAGES_ALLOC(&edges.begin, n, err));
    edges.capacity = counts.max_edges;
    hs_status status = hs_pages_alloc(edges.capacity, sizeof *edges.pairs, &pairs, err);
    if (status == HS_OK) {
        edges.pairs = pairs;
        status = hs_rows_sweep(source, progress, &sink, err);
    }
    if (status == HS_OK)
        status = units_rows(&edges, ret, err);
    hs_pages_free(edges.pairs, edges.capacity, sizeof *edges.pairs);
    hs_pages_free(edges.begin, n, sizeof(uint32_t));
    return status;
}

/* ---- all of it ---- */

static hs_status units_weigh(const struct units *units, const uint32_t *component,
                             const struct hs_weights *weights, struct hs_condensed *condensed,
                             struct hs_error *err)
{
    HS_TRY(hs_unit_sizes_init(condensed->n_nodes, NULL, &condensed->sizes, err));
    for (uint32_t i = units->n_tree; i < units->n_nodes; i++) {
        uint32_t at = units->tree->number[i] == 0 ? HS_NONE : component[units_of(units, i)];
        if (at == HS_NONE)
            continue;
        struct hs_sizes sizes = hs_weights_of(weights, i);
        HS_TRY(hs_unit_sizes_add(&condensed->sizes, at, &sizes, err));
    }
    return HS_OK;
}

/* The top units, once units are no longer told apart. */
struct tops {
    struct hs_bitmap is_top; /* by node; indexed */
    uint64_t n;
    uint32_t *place; /* owned pages: by rank, its node of the condensed graph */
};

static void tops_fini(struct tops *tops)
{
    hs_bitmap_fini(&tops->is_top);
    hs_pages_free(tops->place, tops->n, sizeof *tops->place);
}

static hs_status tops_run(const void *context,
                          hs_status (*put)(void *sink, hs_node top, uint64_t place,
                                           struct hs_error *err),
                          void *sink, struct hs_error *err)
{
    const struct tops *tops = context;
    uint64_t i = 0;

    for (uint64_t node = hs_bitmap_next(&tops->is_top, 0); node < tops->is_top.n_bits;
         node = hs_bitmap_next(&tops->is_top, node + 1))
        HS_TRY(put(sink, node, tops->place[i++], err));
    return HS_OK;
}

/* Takes the bitmap. */
static hs_status tops_find(struct units *units, const uint32_t *component, struct tops *tops,
                           struct hs_error *err)
{
    uint64_t i = 0;

    if (units->roots == NULL)
        return HS_OK;
    HS_TRY(hs_bitmap_index(&units->is_top, &tops->n, err));
    hs_status status = HS_PAGES_ALLOC(&tops->place, tops->n, err);
    if (status != HS_OK) {
        tops->n = 0;
        return status;
    }
    tops->is_top = units->is_top;
    units->is_top = (struct hs_bitmap){0};
    for (uint64_t node = hs_bitmap_next(&tops->is_top, 0); node < units->n_nodes;
         node = hs_bitmap_next(&tops->is_top, node + 1))
        tops->place[i++] = component[units_of(units, (uint32_t)node)];
    return HS_OK;
}

static hs_status units_condense(struct units *units, const struct hs_row_source *source,
                                const struct hs_weights *weights,
                                const struct hs_progress *progress, struct hs_condensed *ret,
                                struct tops *tops, struct hs_error *err)
{
    struct hs_graph graph = {0};
    uint32_t *component;

    hs_status status = units_graph(units, source, progress, &graph, err);
    if (status != HS_OK) {
        hs_graph_fini(&graph);
        return status;
    }
    HS_TRY(hs_condensed_join(&graph, units->n_tree, NULL, NULL, ret, &component, err));
    status = units_weigh(units, component, weights, ret, err);
    if (status == HS_OK)
        status = tops_find(units, component, tops, err);
    hs_pages_free(component, units->n_units, sizeof *component);
    return status;
}

/* Sizes, and sets where they are asked for. */
static hs_status condensed_answer(struct hs_condensed *condensed, const struct tops *tops,
                                  const struct hs_owner_request *owners,
                                  const struct hs_progress *progress, struct hs_sizes **ret,
                                  struct hs_error *err)
{
    const struct hs_owner_tops source = {tops_run, tops};
    hs_auto_free struct hs_sizes *sizes = NULL;

    HS_TRY(hs_condensed_reach(condensed, owners == NULL ? NULL : owners->roots, progress, &sizes,
                              err));
    if (owners != NULL)
        HS_TRY(hs_owner_sets_give(condensed, &source, owners, progress, err));
    *ret = HS_STEAL(sizes);
    return HS_OK;
}

/* Reserves what the graph takes from here on. Its largest sizes are made already. */
static hs_status condensed_count(struct hs_condensed *condensed, struct hs_budget *budget,
                                 struct hs_error *err)
{
    uint64_t graph = hs_condensed_graph_bytes(condensed->n_nodes, condensed->graph.n_edges);
    uint64_t rest = condensed->n_tree * sizeof(uint32_t) + condensed->sizes.n * sizeof(uint64_t) +
                    condensed->sizes.wide_capacity * sizeof(struct hs_sizes);

    HS_TRY(hs_budget_reserve(budget, graph + rest, "the condensed graph", err));
    condensed->budget = budget;
    condensed->graph_bytes = graph;
    condensed->reserved_bytes = rest;
    return HS_OK;
}

static hs_status reachable_condense(const struct hs_reachable_task *task,
                                    const struct hs_progress *progress,
                                    struct hs_condensed *condensed, struct tops *tops,
                                    struct hs_error *err)
{
    struct units units = {.n_nodes = task->tree->n_nodes,
                          .n_tree = task->weights->n_tree,
                          .tree = task->tree,
                          .roots = task->owners == NULL ? NULL : task->owners->roots};

    hs_status status = hs_progress_tell(progress, "condensing the graph", 0, 0, err);
    if (status == HS_OK)
        status = units_find(&units, err);
    if (status == HS_OK)
        status =
            units_condense(&units, task->source, task->weights, progress, condensed, tops, err);
    units_fini(&units);
    return status == HS_OK ? condensed_count(condensed, task->budget, err) : status;
}

hs_status hs_reachable_find(const struct hs_reachable_task *task,
                            const struct hs_progress *progress, struct hs_sizes **ret,
                            struct hs_error *err)
{
    struct hs_condensed condensed = {0};
    struct tops tops = {0};

    assert(task->weights->n_nodes == task->tree->n_nodes);
    hs_status status = reachable_condense(task, progress, &condensed, &tops, err);
    if (status == HS_OK)
        status = condensed_answer(&condensed, &tops, task->owners, progress, ret, err);
    tops_fini(&tops);
    hs_condensed_fini(&condensed);
    return status;
}

/* ---- what it takes ---- */

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t hs_reachable_input_bytes(uint64_t n_nodes)
{
    const struct hs_weights *weights = NULL;
    const struct hs_domtree *tree = NULL;
    return n_nodes * (sizeof *tree->number + sizeof *tree->idom + sizeof *weights->words) +
           n_nodes / 4;
}

/* Returns the most of three: edges as pairs beside the graph of units; that beside its components
 * and the graph of these; what is done with that graph, which may have as many nodes. */
uint64_t hs_reachable_bytes(const struct hs_reachable_counts *counts)
{
    uint64_t n = counts->n_nodes, n_units = counts->n_shared + counts->n_tree;
    uint64_t n_edges = counts->n_edges + counts->n_tree;
    const struct hs_condensed_room later = {.n_wide = counts->n_wide,
                                            .sink_bytes = counts->sink_bytes};
    uint64_t graph = hs_condensed_graph_bytes(n_units, n_edges), number = 4 * n_units;
    uint64_t units = 4 * n + n / 2, tops = n / 4 + number;
    uint64_t made = units + number + 8 * n_edges + graph + number;
    uint64_t joined = units + graph + most(hs_condensed_join_bytes(n_units, 0), 2 * number + graph);
    uint64_t answered = tops + hs_condensed_memory_bytes(&later, n_units, n_edges, counts->n_tree);

    return most(made, most(joined, answered));
}
