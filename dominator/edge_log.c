#include "edge_log.h"

#include <assert.h>

#include "graph/pages.h"

#define WHAT "the edges beside the search tree"
/* Edges of a block. */
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

hs_status edge_log_flush(struct edge_log *log, struct hs_error *err)
{
    assert(log->spills);
    HS_TRY(hs_spill_write(&log->spill, log->edges, log->n * sizeof *log->edges, err));
    log->n = 0;
    return HS_OK;
}

hs_status edge_log_end(struct edge_log *log, struct hs_error *err)
{
    log->n_all = log->n;
    if (!log->spills)
        return HS_OK;
    HS_TRY(edge_log_flush(log, err));
    log->n_all = log->spill.n_bytes / sizeof *log->edges;
    return hs_spill_seal(&log->spill, err);
}

/* The block of the spill that begins at edge `at` into edges[0..n). */
static hs_status block_read(struct edge_log *log, uint64_t at, struct hs_error *err)
{
    uint64_t begin = at * sizeof *log->edges;

    log->n = log->n_all - at < log->capacity ? log->n_all - at : log->capacity;
    uint64_t n_bytes = log->n * sizeof *log->edges;
    HS_TRY(hs_spill_read_at(&log->spill, begin, log->edges, n_bytes, err));
    hs_spill_drop(&log->spill, begin, begin + n_bytes);
    return HS_OK;
}

static hs_status spill_filter(struct edge_log *log, struct hs_spill *out,
                              uint64_t (*keep)(void *context, struct numbered_edge *edges,
                                               uint64_t n),
                              void *context, struct hs_error *err)
{
    for (uint64_t at = 0; at < log->n_all; at += log->n) {
        HS_TRY(block_read(log, at, err));
        uint64_t n_kept = keep(context, log->edges, log->n);
        HS_TRY(hs_spill_write(out, log->edges, n_kept * sizeof *log->edges, err));
    }
    return hs_spill_seal(out, err);
}

hs_status edge_log_filter(struct edge_log *log,
                          uint64_t (*keep)(void *context, struct numbered_edge *edges, uint64_t n),
                          void *context, struct hs_error *err)
{
    struct hs_spill out = {0};

    if (!log->spills) {
        log->n = log->n_all = keep(context, log->edges, log->n);
        return HS_OK;
    }
    HS_TRY(hs_spill_open(log->budget, WHAT, &out, err));
    hs_status status = spill_filter(log, &out, keep, context, err);
    if (status != HS_OK) {
        hs_spill_close(&out);
        return status;
    }
    hs_spill_close(&log->spill);
    log->spill = out;
    log->n_all = out.n_bytes / sizeof *log->edges;
    return HS_OK;
}

hs_status edge_log_read(struct edge_log *log,
                        void (*put)(void *context, const struct numbered_edge *edges, uint64_t n),
                        void *context, struct hs_error *err)
{
    if (!log->spills) {
        put(context, log->edges, log->n);
        return HS_OK;
    }
    for (uint64_t at = 0; at < log->n_all; at += log->n) {
        HS_TRY(block_read(log, at, err));
        put(context, log->edges, log->n);
    }
    return HS_OK;
}
