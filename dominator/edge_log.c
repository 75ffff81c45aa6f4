#include "edge_log.h"

#include <assert.h>

#include "base/buffer.h"
#include "graph/pages.h"

#define WHAT "the edges beside the search tree"
/* The number of edges in a block. */
#define BLOCK ((uint64_t)32 << 10)

static uint64_t log_bytes(const struct edge_log *log)
{
    return log->capacity * sizeof *log->edges;
}

hs_status edge_log_init(struct hs_budget *budget, uint64_t capacity, bool spills,
                        struct edge_log *ret, struct hs_error *err)
{
    struct edge_log log = {
        .budget = budget, .capacity = capacity == 0 ? 1 : capacity, .spills = spills};
    void *memory;

    if (spills && capacity > BLOCK)
        log.capacity = BLOCK;
    HS_TRY(hs_budget_reserve(budget, log_bytes(&log), WHAT, err));
    hs_status status = hs_dense_pages(log.capacity, sizeof *log.edges, &memory, err);
    if (status != HS_OK) {
        hs_budget_release(budget, log_bytes(&log));
        return status;
    }
    log.edges = memory;
    if (spills)
        status = hs_spill_open(budget, WHAT, &log.spill, err);
    if (status == HS_OK)
        *ret = log;
    else
        edge_log_fini(&log);
    return status;
}

void edge_log_fini(struct edge_log *log)
{
    if (log->edges == NULL)
        return;
    hs_budget_release(log->budget, log_bytes(log));
    hs_pages_free(log->edges, log->capacity, sizeof *log->edges);
    hs_spill_close(&log->spill);
    *log = (struct edge_log){0};
}

/* ---- in a file: the source as a difference from the one before, since a search goes from a node
 * to a near one; the target as it is. Some 5 bytes where memory takes 8. ---- */

static hs_status edges_write(struct hs_spill *spill, uint32_t *last,
                             const struct numbered_edge *edges, uint64_t n, struct hs_error *err)
{
    for (uint64_t i = 0; i < n; i++) {
        int64_t step = (int64_t)edges[i].source - *last;
        HS_TRY(hs_spill_put_varint(spill, hs_zigzag_encode(step), err));
        HS_TRY(hs_spill_put_varint(spill, edges[i].target, err));
        *last = edges[i].source;
    }
    return HS_OK;
}

static hs_status edges_read(struct hs_spill_reader *reader, uint32_t *last,
                            struct numbered_edge *edges, uint64_t n, struct hs_error *err)
{
    uint64_t step, target;

    for (uint64_t i = 0; i < n; i++) {
        HS_TRY(hs_spill_get_varint(reader, &step, err));
        HS_TRY(hs_spill_get_varint(reader, &target, err));
        *last += (uint32_t)hs_zigzag_decode(step);
        edges[i] = (struct numbered_edge){(uint32_t)target, *last};
    }
    return HS_OK;
}

hs_status edge_log_flush(struct edge_log *log, struct hs_error *err)
{
    assert(log->spills);
    HS_TRY(edges_write(&log->spill, &log->last, log->edges, log->n, err));
    log->n_all += log->n;
    log->n = 0;
    return HS_OK;
}

hs_status edge_log_end(struct edge_log *log, struct hs_error *err)
{
    if (!log->spills) {
        log->n_all = log->n;
        return HS_OK;
    }
    HS_TRY(edge_log_flush(log, err));
    return hs_spill_seal(&log->spill, err);
}

/* ---- block by block ---- */

/* Runs all of the spill through edges[]. */
static hs_status blocks_run(struct edge_log *log,
                            hs_status (*take)(void *context, struct edge_log *log,
                                              struct hs_error *err),
                            void *context, struct hs_error *err)
{
    struct hs_spill_reader reader = {0};
    uint32_t last = 0;
    hs_status status = hs_spill_read(&log->spill, 0, log->spill.n_bytes, &reader, err);

    for (uint64_t at = 0; at < log->n_all && status == HS_OK; at += log->n) {
        log->n = log->n_all - at < log->capacity ? log->n_all - at : log->capacity;
        status = edges_read(&reader, &last, log->edges, log->n, err);
        if (status == HS_OK)
            status = take(context, log, err);
    }
    hs_spill_reader_close(&reader);
    return status;
}

static hs_status count_take(void *context, struct edge_log *log, struct hs_error *err)
{
    (void)context;
    (void)err;
    log->n_kept += log->keep(log->keep_context, log->edges, log->n);
    return HS_OK;
}

hs_status edge_log_filter(struct edge_log *log,
                          uint64_t (*keep)(void *context, struct numbered_edge *edges, uint64_t n),
                          void *context, struct hs_error *err)
{
    if (!log->spills) {
        log->n = log->n_all = log->n_kept = keep(context, log->edges, log->n);
        return HS_OK;
    }
    log->keep = keep;
    log->keep_context = context;
    return blocks_run(log, count_take, NULL, err);
}

struct reading {
    void (*put)(void *context, const struct numbered_edge *edges, uint64_t n);
    void *context;
};

static hs_status reading_take(void *context, struct edge_log *log, struct hs_error *err)
{
    const struct reading *reading = context;
    uint64_t n = log->n;

    (void)err;
    if (log->keep != NULL)
        n = log->keep(log->keep_context, log->edges, n);
    reading->put(reading->context, log->edges, n);
    return HS_OK;
}

hs_status edge_log_read(struct edge_log *log,
                        void (*put)(void *context, const struct numbered_edge *edges, uint64_t n),
                        void *context, struct hs_error *err)
{
    struct reading reading = {put, context};

    if (log->spills)
        return blocks_run(log, reading_take, &reading, err);
    put(context, log->edges, log->n);
    return HS_OK;
}
