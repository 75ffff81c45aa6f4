#include "pass_condense.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "pass_steps.h"

#define WHAT "the graph of what roots share"

/* Units are told apart: ends by their rank in is_end, the others (nodes of the root tree first) by
 * what is left of their number: *inner* units. */
struct condense {
    struct pass_links *links;
    struct hs_bitmap is_end; /* by unit; indexed */
    uint32_t n_ends, n_inner;
    uint32_t *component; /* owned pages: by inner unit */
    struct hs_condensed condensed;
    struct hs_spill tops; /* with places */
};

void pass_condense_links_fini(struct pass_links *links)
{
    hs_spill_close(&links->sizes);
    hs_spill_close(&links->tops);
    hs_spill_close(&links->edges);
    pass_bitmap_fini(links->budget, &links->leads);
    pass_array_fini(links->budget, &links->parent, links->n_tree);
}

static inline bool unit_is_end(const struct condense *c, uint64_t unit)
{
    return hs_bitmap_get(&c->is_end, unit);
}

static inline uint32_t unit_end(const struct condense *c, uint64_t unit)
{
    return (uint32_t)hs_bitmap_rank(&c->is_end, unit);
}

static inline uint32_t unit_inner(const struct condense *c, uint64_t unit)
{
    return (uint32_t)(unit - hs_bitmap_rank(&c->is_end, unit));
}

static hs_status ends_find(struct condense *c, struct hs_error *err)
{
    struct pass_links *links = c->links;
    uint64_t n_ends;

    HS_TRY(pass_bitmap_init(links->budget, links->n_units, WHAT, &c->is_end, err));
    for (uint32_t i = links->n_tree; i < links->n_units; i++)
        if (!hs_bitmap_get(&links->leads, i))
            hs_bitmap_set(&c->is_end, i);
    pass_bitmap_fini(links->budget, &links->leads);
    HS_TRY(hs_bitmap_index(&c->is_end, &n_ends, err));
    c->n_ends = (uint32_t)n_ends;
    c->n_inner = links->n_units - c->n_ends;
    return HS_OK;
}

/* ---- edges between inner units ---- */

struct link_sink {
    void (*put)(void *sink, uint32_t from, uint32_t to);
    void *sink;
};

static hs_status record_take(const struct condense *c, struct hs_spill_reader *reader,
                             const struct link_sink *sink, struct hs_error *err)
{
    uint64_t to, n, unit;

    HS_TRY(hs_spill_get_varint(reader, &to, err));
    HS_TRY(hs_spill_get_varint(reader, &n, err));
    bool is_end = unit_is_end(c, to);
    uint32_t inner = is_end ? 0 : unit_inner(c, to);
    for (uint64_t i = 0; i < n; i++) {
        HS_TRY(hs_spill_get_varint(reader, &unit, err));
        assert(unit < c->links->n_units);
        if (!is_end)
            sink->put(sink->sink, unit_inner(c, unit), inner);
    }
    return HS_OK;
}

static hs_status links_run(const void *context, void (*put)(void *sink, uint32_t from, uint32_t to),
                           void *sink, struct hs_error *err)
{
    const struct condense *c = context;
    const struct link_sink edges = {put, sink};
    struct hs_spill_reader reader = {0};
    hs_status status = hs_spill_read(&c->links->edges, 0, c->links->edges.n_bytes, &reader, err);

    for (uint32_t i = 1; i < c->links->n_tree; i++)
        put(sink, c->links->parent[i], i);
    while (status == HS_OK && !hs_spill_at_end(&reader))
        status = record_take(c, &reader, &edges, err);
    hs_spill_reader_close(&reader);
    return status;
}

/* ---- the graph of inner units ---- */

static void graph_count(void *sink, uint32_t from, uint32_t to)
{
    struct hs_graph *graph = sink;
    (void)to;
    graph->begin[from + 1]++;
}

static void graph_place(void *sink, uint32_t from, uint32_t to)
{
    struct hs_graph *graph = sink;
    graph->target[graph->begin[from]++] = to;
}

/* Room for targets is lazily backed: it is taken once they are counted. */
static hs_status graph_fill(struct condense *c, struct hs_graph *graph, struct hs_error *err)
{
    uint32_t n = graph->n_nodes;

    HS_TRY(links_run(c, graph_count, graph, err));
    for (uint32_t i = 0; i < n; i++)
        graph->begin[i + 1] += graph->begin[i];
    uint64_t n_edges = graph->begin[n];
    HS_TRY(hs_budget_reserve(c->links->budget, n_edges * sizeof(uint32_t), WHAT, err));
    graph->n_edges = n_edges;
    HS_TRY(links_run(c, graph_place, graph, err));
    memmove(graph->begin + 1, graph->begin, (size_t)n * sizeof(uint32_t));
    graph->begin[0] = 0;
    return HS_OK;
}

static hs_status graph_make(struct condense *c, struct hs_graph *ret, struct hs_error *err)
{
    struct hs_budget *budget = c->links->budget;
    uint64_t n_bytes = hs_condensed_graph_bytes(c->n_inner, 0);

    HS_TRY(hs_budget_reserve(budget, n_bytes, WHAT, err));
    hs_status status = hs_graph_init(c->n_inner, c->links->n_tree, c->links->n_edges, ret, err);
    if (status == HS_OK) {
        status = graph_fill(c, ret, err);
        n_bytes = hs_condensed_graph_bytes(c->n_inner, ret->n_edges);
    }
    if (status != HS_OK) {
        hs_graph_fini(ret);
        hs_budget_release(budget, n_bytes);
    }
    return status;
}

/* ---- ends ---- */

/* The rows of ends, with nodes instead of units, each once. */
struct ending {
    struct condense *c;
    struct hs_spill_reader reader;
    uint32_t *number; /* owned pages: by end, 1 + its number in the order of rows; 0: not reached */
    uint32_t *seen;   /* owned pages: by node, 1 + the last end that it led to */
    uint32_t *degree; /* owned pages: by node; NULL of a stored graph */
    uint32_t end;     /* whose row is open; HS_NONE: none is */
};

static hs_status ending_close_row(struct ending *ending, struct hs_error *err)
{
    if (ending->end == HS_NONE)
        return HS_OK;
    ending->end = HS_NONE;
    return hs_spill_put_varint(&ending->c->condensed.ends.spill, 0, err);
}

static hs_status ending_put(struct ending *ending, uint32_t end, uint32_t node,
                            struct hs_error *err)
{
    struct hs_condensed_ends *ends = &ending->c->condensed.ends;

    if (node == HS_NONE || ending->seen[node] == end + 1)
        return HS_OK;
    if (ending->end != end) {
        HS_TRY(ending_close_row(ending, err));
        HS_TRY(hs_spill_put_varint(&ends->spill, ends->n, err));
        ending->end = end;
        ending->number[end] = ++ends->n;
    }
    ending->seen[node] = end + 1;
    if (ending->degree != NULL)
        ending->degree[node]++;
    ends->n_edges++;
    return hs_spill_put_varint(&ends->spill, (uint64_t)node + 1, err);
}

static hs_status ending_take_record(struct ending *ending, struct hs_error *err)
{
    const struct condense *c = ending->c;
    uint64_t to, n, unit;

    HS_TRY(hs_spill_get_varint(&ending->reader, &to, err));
    HS_TRY(hs_spill_get_varint(&ending->reader, &n, err));
    bool is_end = unit_is_end(c, to);
    uint32_t end = is_end ? unit_end(c, to) : 0;
    for (uint64_t i = 0; i < n; i++) {
        HS_TRY(hs_spill_get_varint(&ending->reader, &unit, err));
        if (is_end)
            HS_TRY(ending_put(ending, end, c->component[unit_inner(c, unit)], err));
        if (is_end && c->condensed.is_stored && unit < c->links->n_tree)
            c->condensed.files.alone[unit] = c->condensed.of_tree[unit];
    }
    return HS_OK;
}

static hs_status ending_rows(struct ending *ending, struct hs_error *err)
{
    struct condense *c = ending->c;
    struct hs_condensed *condensed = &c->condensed;
    struct hs_budget *budget = c->links->budget;
    const struct hs_spill *edges = &c->links->edges;

    HS_TRY(pass_array_init(budget, c->n_ends, WHAT, &ending->number, err));
    HS_TRY(pass_array_init(budget, condensed->n_nodes, WHAT, &ending->seen, err));
    if (!condensed->is_stored)
        HS_TRY(pass_array_init(budget, condensed->n_nodes, WHAT, &ending->degree, err));
    HS_TRY(hs_spill_open(budget, WHAT, &condensed->ends.spill, err));
    condensed->ends.spill.is_read_often = true;
    HS_TRY(hs_spill_read(edges, 0, edges->n_bytes, &ending->reader, err));
    while (!hs_spill_at_end(&ending->reader))
        HS_TRY(ending_take_record(ending, err));
    HS_TRY(ending_close_row(ending, err));
    return hs_spill_seal(&condensed->ends.spill, err);
}

static hs_status ending_run(struct ending *ending, struct hs_error *err)
{
    struct hs_condensed *condensed = &ending->c->condensed;
    struct hs_budget *budget = ending->c->links->budget;

    HS_TRY(ending_rows(ending, err));
    if (condensed->is_stored)
        return HS_OK;
    HS_TRY(hs_budget_reserve(budget, condensed->n_nodes, WHAT, err));
    condensed->reserved_bytes += condensed->n_nodes;
    HS_TRY(HS_PAGES_ALLOC(&condensed->ends.degree, condensed->n_nodes, err));
    for (uint32_t i = 0; i < condensed->n_nodes; i++)
        if (ending->degree[i] != 0)
            condensed->ends.degree[i] = (uint8_t)(32 - __builtin_clz(ending->degree[i]));
    return HS_OK;
}

static void ending_fini(struct ending *ending)
{
    struct hs_budget *budget = ending->c->links->budget;

    hs_spill_reader_close(&ending->reader);
    pass_array_fini(budget, &ending->seen, ending->c->condensed.n_nodes);
    pass_array_fini(budget, &ending->degree, ending->c->condensed.n_nodes);
}

/* ---- sizes ---- */

/* Finds the place of a unit's size; false when it is not reached. */
static bool unit_place(const struct ending *ending, uint64_t unit, uint64_t *ret)
{
    const struct condense *c = ending->c;

    assert(unit < c->links->n_units);
    if (unit_is_end(c, unit)) {
        uint32_t number = ending->number[unit_end(c, unit)];
        *ret = (uint64_t)c->condensed.n_nodes + number - 1;
        return number != 0;
    }
    uint32_t node = c->component[unit_inner(c, unit)];
    *ret = node;
    return node != HS_NONE;
}

/* The sum of the weights of all that is reached: into memory, or those of some places, in the order
 * in which a stored graph has them. */
struct weighing {
    const struct ending *ending;
    struct hs_sizes *window; /* owned pages; NULL: into memory */
    uint64_t first, n;       /* of them */
};

static hs_status weighing_add(const struct weighing *weighing, uint64_t unit,
                              const struct hs_sizes *sizes, struct hs_error *err)
{
    struct hs_condensed *condensed = &weighing->ending->c->condensed;
    uint64_t at;

    if (!unit_place(weighing->ending, unit, &at))
        return HS_OK;
    if (weighing->window == NULL)
        return hs_unit_sizes_add(&condensed->sizes, at, sizes, err);
    if (unit < condensed->n_tree && weighing->first == 0)
        hs_sizes_add(&condensed->files.tree_own[unit], sizes);
    at = hs_condensed_turn(condensed, at);
    if (at >= weighing->first && at - weighing->first < weighing->n)
        hs_sizes_add(&weighing->window[at - weighing->first], sizes);
    return HS_OK;
}

static hs_status sizes_take(const struct weighing *weighing, struct hs_spill_reader *reader,
                            struct hs_error *err)
{
    uint64_t unit;
    struct hs_sizes sizes;

    while (!hs_spill_at_end(reader)) {
        HS_TRY(hs_spill_get_varint(reader, &unit, err));
        HS_TRY(hs_spill_get_varint(reader, &sizes.words, err));
        HS_TRY(hs_spill_get_varint(reader, &sizes.objects, err));
        HS_TRY(hs_spill_get_varint(reader, &sizes.static_words, err));
        HS_TRY(hs_spill_get_varint(reader, &sizes.static_objects, err));
        HS_TRY(weighing_add(weighing, unit, &sizes, err));
    }
    return HS_OK;
}

static hs_status weighing_run(const struct weighing *weighing, struct hs_error *err)
{
    const struct hs_spill *sizes = &weighing->ending->c->links->sizes;
    struct hs_spill_reader reader = {0};

    hs_status status = hs_spill_read(sizes, 0, sizes->n_bytes, &reader, err);
    if (status == HS_OK)
        status = sizes_take(weighing, &reader, err);
    hs_spill_reader_close(&reader);
    return status;
}

/* Weighs as many places at a time as there is room for. */
static hs_status windows_run(struct weighing *weighing, uint64_t n_room, struct hs_error *err)
{
    struct hs_condensed *condensed = &weighing->ending->c->condensed;
    struct hs_condensed_files *files = &condensed->files;
    uint64_t n_places = hs_condensed_places(condensed);

    for (; weighing->first < n_places; weighing->first += weighing->n) {
        uint64_t left = n_places - weighing->first;
        weighing->n = left < n_room ? left : n_room;
        memset(weighing->window, 0, weighing->n * sizeof *weighing->window);
        HS_TRY(weighing_run(weighing, err));
        for (uint64_t i = 0; i < weighing->n; i++) {
            if (weighing->first + i == condensed->n_nodes)
                files->ends_at = files->sizes.n_bytes;
            HS_TRY(hs_condensed_put_sizes(&files->sizes, &weighing->window[i], err));
        }
    }
    if (condensed->ends.n == 0)
        files->ends_at = files->sizes.n_bytes;
    files->sizes.is_read_often = true;
    return hs_spill_seal(&files->sizes, err);
}

static hs_status weigh_stored(const struct ending *ending, struct hs_error *err)
{
    struct hs_condensed *condensed = &ending->c->condensed;
    struct hs_budget *budget = condensed->budget;
    struct weighing weighing = {.ending = ending};
    uint64_t tree_bytes = condensed->n_tree * sizeof(struct hs_sizes);
    uint64_t least = HS_STORED_LEAST_BYTES / sizeof *weighing.window;

    HS_TRY(hs_spill_open(budget, WHAT, &condensed->files.sizes, err));
    HS_TRY(hs_budget_reserve(budget, tree_bytes, WHAT, err));
    condensed->reserved_bytes += tree_bytes;
    HS_TRY(HS_ALLOC(&condensed->files.tree_own, condensed->n_tree, err));
    uint64_t room = hs_budget_left_bytes(budget) / 2 / sizeof *weighing.window;
    room = room < least ? least : room;
    room = room < hs_condensed_places(condensed) ? room : hs_condensed_places(condensed);
    HS_TRY(hs_budget_reserve(budget, room * sizeof *weighing.window, WHAT, err));
    hs_status status = HS_PAGES_ALLOC(&weighing.window, room, err);
    if (status == HS_OK)
        status = windows_run(&weighing, room, err);
    hs_pages_free(weighing.window, room, sizeof *weighing.window);
    hs_budget_release(budget, room * sizeof *weighing.window);
    return status;
}

static hs_status condensed_weigh(const struct ending *ending, struct hs_error *err)
{
    struct hs_condensed *condensed = &ending->c->condensed;
    const struct weighing weighing = {.ending = ending};

    if (condensed->is_stored)
        return weigh_stored(ending, err);
    HS_TRY(hs_unit_sizes_init(hs_condensed_places(condensed), condensed->budget, &condensed->sizes,
                              err));
    return weighing_run(&weighing, err);
}

/* ---- top units ---- */

static hs_status tops_take(const struct ending *ending, struct hs_spill_reader *reader,
                           struct hs_error *err)
{
    uint64_t gap, unit, place, skipped = 0;

    while (!hs_spill_at_end(reader)) {
        HS_TRY(hs_spill_get_varint(reader, &gap, err));
        HS_TRY(hs_spill_get_varint(reader, &unit, err));
        skipped += gap;
        if (!unit_place(ending, unit, &place))
            continue;
        HS_TRY(hs_spill_put_varint(&ending->c->tops, skipped, err));
        HS_TRY(hs_spill_put_varint(&ending->c->tops, place, err));
        skipped = 0;
    }
    return hs_spill_seal(&ending->c->tops, err);
}

static hs_status tops_place(const struct ending *ending, struct hs_error *err)
{
    const struct hs_spill *tops = &ending->c->links->tops;
    struct hs_spill_reader reader = {0};

    if (!tops->is_open)
        return HS_OK;
    HS_TRY(hs_spill_open(ending->c->links->budget, WHAT, &ending->c->tops, err));
    hs_status status = hs_spill_read(tops, 0, tops->n_bytes, &reader, err);
    if (status == HS_OK)
        status = tops_take(ending, &reader, err);
    hs_spill_reader_close(&reader);
    return status;
}

/* ---- all of it ---- */

static hs_status ends_make(struct condense *c, struct hs_error *err)
{
    struct ending ending = {.c = c, .end = HS_NONE};

    hs_status status = c->n_ends == 0 ? HS_OK : ending_run(&ending, err);
    ending_fini(&ending);
    hs_spill_close(&c->links->edges);
    if (status == HS_OK)
        status = condensed_weigh(&ending, err);
    if (status == HS_OK)
        status = tops_place(&ending, err);
    pass_array_fini(c->links->budget, &ending.number, c->n_ends);
    return status;
}

static void edge_count(void *sink, uint32_t from, uint32_t to)
{
    uint64_t *n = sink;
    (void)from;
    (void)to;
    ++*n;
}

/* Tells whether the graph of units has room while its components are found. Most edges lead to ends
 * as a rule, and are not of it: they are counted only where that matters. */
static hs_status graph_fits(const struct condense *c, bool *ret, struct hs_error *err)
{
    uint64_t left = hs_budget_left_bytes(c->links->budget), n_edges = 0;

    *ret = hs_condensed_join_bytes(c->n_inner, c->links->n_edges) <= left;
    if (*ret)
        return HS_OK;
    HS_TRY(links_run(c, edge_count, &n_edges, err));
    *ret = hs_condensed_join_bytes(c->n_inner, n_edges) <= left;
    return HS_OK;
}

static hs_status condense_join(struct condense *c, struct hs_error *err)
{
    const struct hs_unit_edge_source edges = {links_run, c};
    const struct hs_condensed_room room = {.budget = c->links->budget,
                                           .n_ends = c->n_ends,
                                           .n_wide = c->links->n_wide,
                                           .sink_bytes = c->links->sink_bytes,
                                           .fits = hs_condensed_fits};
    struct hs_graph graph = {0};
    bool fits;

    HS_TRY(graph_fits(c, &fits, err));
    if (!fits)
        return hs_condensed_join_stored(c->n_inner, c->links->n_tree, &edges, &room, &c->condensed,
                                        &c->component, err);
    HS_TRY(graph_make(c, &graph, err));
    return hs_condensed_join(&graph, c->links->n_tree, &edges, &room, &c->condensed, &c->component,
                             err);
}

static hs_status condense_run(struct condense *c, struct hs_error *err)
{
    HS_TRY(ends_find(c, err));
    HS_TRY(condense_join(c, err));
    pass_array_fini(c->links->budget, &c->links->parent, c->links->n_tree);
    return ends_make(c, err);
}

hs_status pass_condense_run(struct pass_links *links, struct hs_condensed *ret,
                            struct hs_spill *ret_tops, struct hs_error *err)
{
    struct condense c = {.links = links};

    hs_status status = condense_run(&c, err);
    pass_bitmap_fini(links->budget, &c.is_end);
    pass_array_fini(links->budget, &c.component, c.n_inner);
    pass_condense_links_fini(links);
    if (status == HS_OK) {
        *ret = c.condensed;
        *ret_tops = c.tops;
    } else {
        hs_condensed_fini(&c.condensed);
        hs_spill_close(&c.tops);
    }
    return status;
}
