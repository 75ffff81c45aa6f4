/* The queries of the attach pass: nearest common ancestors in the forest of a node's first and last
 * point. */
#include "pass_attach.h"

#include <assert.h>

#include "base/alloc.h"

struct query_batch {
    struct pass_query *queries;
    uint64_t n, capacity;
};

/* Tells whether the forest has to be asked: not for a node with one point, or whose first point is
 * a head. */
static bool node_asks(const struct attach_work *work, uint32_t node)
{
    uint64_t low = hs_ids_get(&work->passes->attach, node);

    return low != HS_IDS_NONE && !hs_bitmap_get(&work->passes->is_head, low) &&
           low != hs_ids_get(&work->high, node);
}

static uint64_t queries_count(const struct attach_work *work)
{
    uint64_t n = 0;
    for (uint32_t node = 0; node < work->passes->n_core; node++)
        n += node_asks(work, node);
    return n;
}

static hs_status batch_ask(struct attach_work *work, struct query_batch *batch,
                           struct hs_error *err)
{
    if (batch->n == 0)
        return HS_OK;
    HS_TRY(pass_answer_run(work->passes, batch->queries, batch->n, work->progress, err));
    work->counts.n_queries += batch->n;
    work->counts.n_batches++;
    batch->n = 0;
    return HS_OK;
}

static hs_status batches_ask(struct attach_work *work, struct query_batch *batch,
                             struct hs_error *err)
{
    for (uint32_t node = 0; node < work->passes->n_core; node++) {
        if (!node_asks(work, node))
            continue;
        batch->queries[batch->n++] = (struct pass_query){
            .low = hs_ids_get(&work->passes->attach, node),
            .high = hs_ids_get(&work->high, node),
            .core = node,
        };
        if (batch->n == batch->capacity)
            HS_TRY(batch_ask(work, batch, err));
    }
    return batch_ask(work, batch, err);
}

/* Returns how many are asked at a time: as many as half of what is left has room for, beside the
 * way through a region. Each batch is a sweep over the regions. */
static uint64_t batch_capacity(const struct attach_work *work, uint64_t n_queries)
{
    uint64_t left = hs_budget_left_bytes(work->passes->budget),
             way = pass_answer_bytes(work->passes);
    uint64_t room = left > way ? (left - way) / 2 / sizeof(struct pass_query) : 0;

    room = room < ATTACH_QUERIES_MIN ? ATTACH_QUERIES_MIN : room;
    return n_queries < room ? n_queries : room;
}

static hs_status batches_run(struct attach_work *work, uint64_t n_queries, struct hs_error *err)
{
    struct hs_budget *budget = work->passes->budget;
    struct query_batch batch = {.capacity = batch_capacity(work, n_queries)};
    uint64_t n_bytes = batch.capacity * sizeof *batch.queries;

    HS_TRY(hs_budget_reserve(budget, n_bytes, "questions to the regions", err));
    hs_status status = HS_PAGES_ALLOC(&batch.queries, batch.capacity, err);
    if (status == HS_OK) {
        status = batches_ask(work, &batch, err);
        hs_pages_free(batch.queries, batch.capacity, sizeof *batch.queries);
    }
    hs_budget_release(budget, n_bytes);
    return status;
}

/* A region may be as deep as there are nodes: then region[] is on disk meanwhile. */
static hs_status queries_ask(struct attach_work *work, struct hs_error *err)
{
    struct hs_passes *passes = work->passes;
    uint64_t n_queries = queries_count(work);
    uint64_t least = pass_answer_bytes(passes) + ATTACH_QUERIES_MIN * sizeof(struct pass_query);
    struct hs_parked region = {0};

    if (n_queries == 0)
        return HS_OK;
    bool is_parked = hs_budget_left_bytes(passes->budget) < least;
    if (is_parked)
        HS_TRY(core_work_region_park(passes, &region, err));
    hs_status status = batches_run(work, n_queries, err);
    if (status == HS_OK && is_parked)
        status = core_work_region_fetch(passes, &region, err);
    hs_parked_close(&region);
    return status;
}

/* ---- regions of one node ---- */

static hs_status heads_list(const struct hs_passes *passes, struct hs_ids *ret,
                            struct hs_error *err)
{
    const struct hs_bitmap *is_head = &passes->is_head;
    uint64_t core = 0;

    HS_TRY(hs_ids_init(passes->n_core, passes->n_positions, passes->budget, "heads of regions", ret,
                       err));
    for (uint64_t at = 0; at < is_head->n_bits; at = hs_bitmap_next(is_head, at + 1))
        hs_ids_set(ret, core++, at);
    return HS_OK;
}

/* Nodes without points are those under a region of one node. */
static hs_status singles_attach(struct attach_work *work, struct hs_error *err)
{
    struct hs_passes *passes = work->passes;
    struct hs_ids heads = {0};

    HS_TRY(heads_list(passes, &heads, err));
    for (uint32_t node = 1; node < passes->n_core; node++) {
        if (!hs_bitmap_get(&passes->is_reached, node) ||
            hs_ids_get(&passes->attach, node) != HS_IDS_NONE)
            continue;
        assert(hs_bitmap_get(&work->is_single, passes->region[node]));
        hs_ids_set(&passes->attach, node, hs_ids_get(&heads, passes->region[node]));
    }
    hs_ids_fini(&heads);
    return HS_OK;
}

hs_status attach_ask_run(struct attach_work *work, struct hs_error *err)
{
    HS_TRY(queries_ask(work, err));
    hs_ids_fini(&work->high);
    return singles_attach(work, err);
}
