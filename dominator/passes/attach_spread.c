/* Points along cycles of siblings, in linear time: starts in ascending order of their first point,
 * each visits what it reaches and what no start before it did; the same with the last points,
 * descending. Where memory has no room for the edges, they are put into a file and read there. */
#include "pass_attach.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "dominator/stored_rows.h"

#define DIGIT_BITS 11
#define NODES_PER_TELL ((uint32_t)1 << 20)
#define WHAT "the core's cycles"

struct spread {
    struct attach_work *work;
    struct core_rows *rows;
    struct hs_budget *budget;
    struct hs_bitmap is_in; /* by core node, with ranks */
    struct hs_bitmap is_visited;
    uint32_t n_nodes, n_starts;
    uint64_t n_edges;
    uint32_t *begin;  /* n_nodes + 1, by rank */
    uint32_t *target; /* core nodes */
    bool is_stored;
    struct hs_stored_rows stored; /* instead of both */
    struct link_sink {
        void (*put)(void *sink, uint32_t from, uint32_t to);
        void *sink;
    } links;          /* where the edges go that are to be stored */
    uint32_t *starts; /* n_nodes: core nodes with points */
    uint32_t *other;  /* n_nodes: for sorting; the stack */
};

static void spread_fini(struct spread *spread)
{
    pass_bitmap_fini(spread->budget, &spread->is_in);
    pass_bitmap_fini(spread->budget, &spread->is_visited);
    pass_array_fini(spread->budget, &spread->begin, (uint64_t)spread->n_nodes + 1);
    pass_array_fini(spread->budget, &spread->target, spread->n_edges);
    pass_array_fini(spread->budget, &spread->starts, spread->n_nodes);
    pass_array_fini(spread->budget, &spread->other, spread->n_nodes);
    hs_stored_rows_fini(&spread->stored);
}

static inline uint32_t spread_rank(const struct spread *spread, uint32_t core)
{
    return (uint32_t)hs_bitmap_rank(&spread->is_in, core);
}

/* ---- edges ---- */

static hs_status row_mark(void *context, struct core_row *row, struct hs_error *err)
{
    struct spread *spread = context;

    (void)err;
    hs_bitmap_set(&spread->is_in, row->node);
    for (uint32_t i = 0; i < row->n; i++)
        hs_bitmap_set(&spread->is_in, row->source[i]);
    spread->n_edges += row->n;
    return HS_OK;
}

static hs_status row_count(void *context, struct core_row *row, struct hs_error *err)
{
    struct spread *spread = context;

    (void)err;
    for (uint32_t i = 0; i < row->n; i++)
        spread->begin[spread_rank(spread, row->source[i]) + 1]++;
    return HS_OK;
}

static hs_status row_fill(void *context, struct core_row *row, struct hs_error *err)
{
    struct spread *spread = context;

    (void)err;
    for (uint32_t i = 0; i < row->n; i++)
        spread->target[spread->begin[spread_rank(spread, row->source[i])]++] = row->node;
    return HS_OK;
}

static hs_status rows_sweep(struct spread *spread,
                            hs_status (*put)(void *, struct core_row *, struct hs_error *),
                            struct hs_error *err)
{
    const struct core_row_sink sink = {put, spread};
    return core_rows_sweep(spread->rows, &spread->work->is_resolved, &sink, err);
}

/* Returns the memory of two arrays of nodes, made while one of values is on disk. */
static uint64_t starts_bytes(const struct spread *spread)
{
    const struct hs_ids *high = &spread->work->high;
    uint64_t n_bytes = 2 * (uint64_t)spread->n_nodes * sizeof(uint32_t);
    uint64_t parked = high->n * high->width;

    return n_bytes > parked ? n_bytes - parked : 0;
}

static bool edges_fit(const struct spread *spread)
{
    uint64_t n_bytes = hs_graph_bytes(spread->n_nodes, spread->n_edges) + starts_bytes(spread);
    return hs_budget_left_bytes(spread->budget) >= n_bytes;
}

static hs_status nodes_find(struct spread *spread, struct hs_error *err)
{
    uint32_t n_core = spread->work->passes->n_core;
    uint64_t n_in;

    HS_TRY(pass_bitmap_init(spread->budget, n_core, WHAT, &spread->is_in, err));
    HS_TRY(pass_bitmap_init(spread->budget, n_core, WHAT, &spread->is_visited, err));
    HS_TRY(rows_sweep(spread, row_mark, err));
    HS_TRY(hs_bitmap_index(&spread->is_in, &n_in, err));
    HS_TRY(hs_graph_fits(n_in, spread->n_edges, err));
    spread->n_nodes = (uint32_t)n_in;
    spread->is_stored = !edges_fit(spread);
    return HS_OK;
}

static hs_status edges_fill(struct spread *spread, struct hs_error *err)
{
    uint64_t n_begin = (uint64_t)spread->n_nodes + 1;

    HS_TRY(pass_array_init(spread->budget, n_begin, WHAT, &spread->begin, err));
    HS_TRY(pass_array_init(spread->budget, spread->n_edges, WHAT, &spread->target, err));
    uint32_t *begin = spread->begin, n = spread->n_nodes;
    HS_TRY(rows_sweep(spread, row_count, err));
    for (uint32_t i = 0; i < n; i++)
        begin[i + 1] += begin[i];
    assert(begin[n] == spread->n_edges);
    HS_TRY(rows_sweep(spread, row_fill, err));
    memmove(begin + 1, begin, (size_t)n * sizeof *begin);
    begin[0] = 0;
    return HS_OK;
}

/* ---- edges in a file ---- */

static hs_status row_link(void *context, struct core_row *row, struct hs_error *err)
{
    const struct spread *spread = context;

    (void)err;
    for (uint32_t i = 0; i < row->n; i++)
        spread->links.put(spread->links.sink, spread_rank(spread, row->source[i]), row->node);
    return HS_OK;
}

static hs_status edges_run(const void *context, void (*put)(void *sink, uint32_t from, uint32_t to),
                           void *sink, struct hs_error *err)
{
    struct spread spread = *(const struct spread *)context;

    spread.links = (struct link_sink){put, sink};
    return rows_sweep(&spread, row_link, err);
}

static hs_status edges_store(struct spread *spread, struct hs_error *err)
{
    const struct hs_unit_edge_source edges = {edges_run, spread};
    return hs_stored_rows_make(spread->n_nodes, &edges, spread->budget, WHAT, &spread->stored, err);
}

/* ---- starts in order ---- */

static void starts_list(struct spread *spread, const struct hs_ids *values)
{
    const struct hs_bitmap *is_in = &spread->is_in;

    spread->n_starts = 0;
    for (uint64_t core = hs_bitmap_next(is_in, 0); core < is_in->n_bits;
         core = hs_bitmap_next(is_in, core + 1))
        if (hs_ids_get(values, core) != HS_IDS_NONE)
            spread->starts[spread->n_starts++] = (uint32_t)core;
}

/* Sorts ascending, by the digits of the values from the last to the first. */
static void starts_sort(struct spread *spread, const struct hs_ids *values)
{
    uint32_t count[1 << DIGIT_BITS];
    uint64_t max = spread->work->passes->n_positions, mask = (1 << DIGIT_BITS) - 1;

    for (unsigned shift = 0; shift < 64 && max >> shift != 0; shift += DIGIT_BITS) {
        uint32_t sum = 0, *from = spread->starts;
        memset(count, 0, sizeof count);
        for (uint32_t i = 0; i < spread->n_starts; i++)
            count[hs_ids_get(values, from[i]) >> shift & mask]++;
        for (size_t i = 0; i <= mask; i++) {
            uint32_t n = count[i];
            count[i] = sum;
            sum += n;
        }
        for (uint32_t i = 0; i < spread->n_starts; i++)
            spread->other[count[hs_ids_get(values, from[i]) >> shift & mask]++] = from[i];
        spread->starts = spread->other;
        spread->other = from;
    }
}

/* ---- the search ---- */

/* The stack has room: each node comes once. */
static inline void node_meet(struct spread *spread, uint32_t to, uint32_t *n_stack)
{
    spread->work->counts.n_spread++;
    if (hs_bitmap_get(&spread->is_visited, to))
        return;
    hs_bitmap_set(&spread->is_visited, to);
    spread->other[(*n_stack)++] = to;
}

static hs_status stored_row_meet(struct spread *spread, uint32_t rank, uint32_t *n_stack,
                                 struct hs_error *err)
{
    for (uint32_t at = spread->stored.begin[rank], to;; at++) {
        HS_TRY(hs_stored_rows_word(&spread->stored, at, &to, err));
        if (to == HS_NONE)
            return HS_OK;
        node_meet(spread, to, n_stack);
    }
}

/* Gives the value of a start to all it reaches that have none from a start before. */
static hs_status start_spread(struct spread *spread, struct hs_ids *values, uint32_t start,
                              struct hs_error *err)
{
    uint64_t value = hs_ids_get(values, start);
    uint32_t n = 0, *stack = spread->other;

    hs_bitmap_set(&spread->is_visited, start);
    stack[n++] = start;
    while (n != 0) {
        uint32_t core = stack[--n], rank = spread_rank(spread, core);
        hs_ids_set(values, core, value);
        if (spread->is_stored) {
            HS_TRY(stored_row_meet(spread, rank, &n, err));
            continue;
        }
        for (uint32_t e = spread->begin[rank]; e < spread->begin[rank + 1]; e++)
            node_meet(spread, spread->target[e], &n);
    }
    return HS_OK;
}

static hs_status values_spread(struct spread *spread, struct hs_ids *values, bool ascending,
                               struct hs_error *err)
{
    struct hs_bitmap *visited = &spread->is_visited;

    HS_TRY(pass_array_init(spread->budget, spread->n_nodes, WHAT, &spread->starts, err));
    HS_TRY(pass_array_init(spread->budget, spread->n_nodes, WHAT, &spread->other, err));
    if (spread->is_stored)
        HS_TRY(hs_stored_rows_open(&spread->stored, 0, err));
    starts_list(spread, values);
    starts_sort(spread, values);
    hs_pages_discard(visited->words, (size_t)((visited->n_bits + 63) / 64 * sizeof(uint64_t)));
    for (uint32_t i = 0; i < spread->n_starts; i++) {
        uint32_t start = spread->starts[ascending ? i : spread->n_starts - 1 - i];
        if (i % NODES_PER_TELL == 0)
            HS_TRY(hs_progress_tell(spread->work->progress, "attaching the core's cycles", i,
                                    spread->n_starts, err));
        if (!hs_bitmap_get(visited, start))
            HS_TRY(start_spread(spread, values, start, err));
    }
    pass_array_fini(spread->budget, &spread->starts, spread->n_nodes);
    pass_array_fini(spread->budget, &spread->other, spread->n_nodes);
    hs_stored_rows_shut(&spread->stored);
    return HS_OK;
}

/* Spreads one of the two; the other is on disk meanwhile. */
static hs_status values_turn(struct spread *spread, struct hs_ids *values, bool ascending,
                             struct hs_ids *other, struct hs_error *err)
{
    uint64_t n_positions = spread->work->passes->n_positions;
    struct hs_parked parked = {0};

    HS_TRY(hs_parked_put(spread->budget, "where the core hangs", other->bytes,
                         other->n * other->width, &parked, err));
    hs_ids_fini(other);
    hs_status status = values_spread(spread, values, ascending, err);
    if (status == HS_OK)
        status = hs_ids_init(spread->work->passes->n_core, n_positions, spread->budget,
                             "where the core hangs", other, err);
    if (status == HS_OK)
        status = hs_parked_get(&parked, other->bytes, err);
    hs_parked_close(&parked);
    return status;
}

static hs_status spread_run(struct spread *spread, struct hs_error *err)
{
    struct attach_work *work = spread->work;

    HS_TRY(nodes_find(spread, err));
    HS_TRY(spread->is_stored ? edges_store(spread, err) : edges_fill(spread, err));
    core_rows_close(spread->rows);
    HS_TRY(values_turn(spread, &work->passes->attach, true, &work->high, err));
    HS_TRY(values_turn(spread, &work->high, false, &work->passes->attach, err));
    for (uint64_t core = hs_bitmap_next(&spread->is_in, 0); core < spread->is_in.n_bits;
         core = hs_bitmap_next(&spread->is_in, core + 1)) {
        assert(hs_ids_get(&work->passes->attach, core) != HS_IDS_NONE);
        hs_bitmap_set(&work->is_resolved, core);
    }
    return HS_OK;
}

hs_status attach_spread_run(struct attach_work *work, struct core_rows *rows, struct hs_error *err)
{
    struct spread spread = {.work = work, .rows = rows, .budget = work->passes->budget};
    struct hs_parked region = {0};

    if (rows->n_edges == 0)
        return HS_OK;
    HS_TRY(core_work_region_park(work->passes, &region, err));
    hs_status status = spread_run(&spread, err);
    work->counts.n_in_graph = spread.n_nodes;
    work->counts.n_in_graph_edges = spread.n_edges;
    spread_fini(&spread);
    if (status == HS_OK)
        status = core_work_region_fetch(work->passes, &region, err);
    hs_parked_close(&region);
    return status;
}
