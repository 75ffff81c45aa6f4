#include "edge_runs.h"

#include "edge_sort.h"

enum { EDGES_PER_PUT = 1024 };

void hs_edge_runs_fini(struct hs_edge_runs *runs)
{
    for (unsigned i = 0; i < runs->n_runs; i++)
        hs_spill_close(&runs->runs[i].spill);
    runs->n_runs = 0;
}

/* ---- writing a run */

struct run_writer {
    struct hs_spill *spill;
    hs_node last;
};

static hs_status run_put(void *context, const struct hs_edge *edges, size_t n, struct hs_error *err)
{
    struct run_writer *w = context;

    for (size_t i = 0; i < n; i++) {
        HS_TRY(hs_spill_put_varint(w->spill, edges[i].target - w->last, err));
        HS_TRY(hs_spill_put_varint(w->spill, edges[i].offset_words, err));
        HS_TRY(hs_spill_put_fixed(w->spill, edges[i].edge_class, 1, err));
        w->last = edges[i].target;
    }
    return HS_OK;
}

/* ---- reading runs side by side */

struct run_reader {
    struct hs_spill_reader reader;
    struct hs_edge edge; /* the next */
};

struct merge {
    struct run_reader readers[HS_EDGE_RUNS_FAN];
    struct run_reader *heap[HS_EDGE_RUNS_FAN]; /* the least edge first */
    unsigned n;
};

static hs_status run_next(struct run_reader *r, bool *ret_more, struct hs_error *err)
{
    uint64_t gap, edge_class;

    *ret_more = !hs_spill_at_end(&r->reader);
    if (!*ret_more)
        return HS_OK;
    HS_TRY(hs_spill_get_varint(&r->reader, &gap, err));
    HS_TRY(hs_spill_get_varint(&r->reader, &r->edge.offset_words, err));
    HS_TRY(hs_spill_get_fixed(&r->reader, 1, &edge_class, err));
    r->edge.target += gap;
    r->edge.edge_class = (uint8_t)edge_class;
    return HS_OK;
}

static void merge_sift(struct merge *m, unsigned at)
{
    for (unsigned child; (child = 2 * at + 1) < m->n; at = child) {
        if (child + 1 < m->n && hs_edge_precedes(&m->heap[child + 1]->edge, &m->heap[child]->edge))
            child++;
        if (!hs_edge_precedes(&m->heap[child]->edge, &m->heap[at]->edge))
            return;
        struct run_reader *swapped = m->heap[at];
        m->heap[at] = m->heap[child];
        m->heap[child] = swapped;
    }
}

static hs_status merge_begin(struct merge *m, const struct hs_edge_run *runs, unsigned n_runs,
                             struct hs_error *err)
{
    bool more;

    for (unsigned i = 0; i < n_runs; i++) {
        struct run_reader *r = &m->readers[i];
        HS_TRY(hs_spill_read(&runs[i].spill, 0, runs[i].spill.n_bytes, &r->reader, err));
        HS_TRY(run_next(r, &more, err));
        if (more)
            m->heap[m->n++] = r;
    }
    for (unsigned i = m->n / 2; i-- > 0;)
        merge_sift(m, i);
    return HS_OK;
}

static hs_status merge_all(struct merge *m, const struct hs_edge_sink *sink, struct hs_error *err)
{
    struct hs_edge edges[EDGES_PER_PUT];
    size_t n = 0;
    bool more;

    while (m->n != 0) {
        edges[n++] = m->heap[0]->edge;
        if (n == EDGES_PER_PUT) {
            HS_TRY(sink->put(sink->context, edges, n, err));
            n = 0;
        }
        HS_TRY(run_next(m->heap[0], &more, err));
        if (!more)
            m->heap[0] = m->heap[--m->n];
        merge_sift(m, 0);
    }
    return sink->put(sink->context, edges, n, err);
}

static hs_status merge_runs(const struct hs_edge_run *runs, unsigned n_runs,
                            const struct hs_edge_sink *sink, struct hs_error *err)
{
    struct merge merge = {0};

    hs_status status = merge_begin(&merge, runs, n_runs, err);
    if (status == HS_OK)
        status = merge_all(&merge, sink, err);
    for (unsigned i = 0; i < n_runs; i++)
        hs_spill_reader_close(&merge.readers[i].reader);
    return status;
}

/* ---- runs of runs */

/* The last FAN runs, or all, become one. */
static hs_status runs_collapse(struct hs_edge_runs *runs, const struct hs_budget *budget,
                               struct hs_error *err)
{
    unsigned n = runs->n_runs < HS_EDGE_RUNS_FAN ? runs->n_runs : HS_EDGE_RUNS_FAN;
    struct hs_edge_run *from = &runs->runs[runs->n_runs - n];
    struct hs_edge_run made = {.level = from->level + 1};
    struct run_writer writer = {.spill = &made.spill};
    const struct hs_edge_sink sink = {.put = run_put, .context = &writer};

    HS_TRY(hs_spill_open(budget, "the pointers of one block", &made.spill, err));
    hs_status status = merge_runs(from, n, &sink, err);
    if (status == HS_OK)
        status = hs_spill_seal(&made.spill, err);
    if (status != HS_OK) {
        hs_spill_close(&made.spill);
        return status;
    }
    for (unsigned i = 0; i < n; i++)
        hs_spill_close(&from[i].spill);
    *from = made;
    runs->n_runs -= n - 1;
    return HS_OK;
}

static bool runs_are_many(const struct hs_edge_runs *runs)
{
    return runs->n_runs >= HS_EDGE_RUNS_FAN &&
           runs->runs[runs->n_runs - HS_EDGE_RUNS_FAN].level == runs->runs[runs->n_runs - 1].level;
}

hs_status hs_edge_runs_add(struct hs_edge_runs *runs, const struct hs_budget *budget,
                           struct hs_edge *edges, size_t n, struct hs_error *err)
{
    struct hs_edge_run *run = &runs->runs[runs->n_runs];
    struct run_writer writer = {.spill = &run->spill};

    if (runs->n_runs == HS_EDGE_RUNS_FAN * HS_EDGE_RUNS_LEVELS - 1)
        return hs_fail(err, HS_LIMIT, "one block has too many pointers");
    hs_edges_sort(edges, n);
    *run = (struct hs_edge_run){0};
    HS_TRY(hs_spill_open(budget, "the pointers of one block", &run->spill, err));
    runs->n_runs++; /* closed by fini from here on */
    HS_TRY(run_put(&writer, edges, n, err));
    HS_TRY(hs_spill_seal(&run->spill, err));
    while (runs_are_many(runs))
        HS_TRY(runs_collapse(runs, budget, err));
    return HS_OK;
}

hs_status hs_edge_runs_merge(struct hs_edge_runs *runs, const struct hs_budget *budget,
                             const struct hs_edge_sink *sink, struct hs_error *err)
{
    while (runs->n_runs > HS_EDGE_RUNS_FAN)
        HS_TRY(runs_collapse(runs, budget, err));
    HS_TRY(merge_runs(runs->runs, runs->n_runs, sink, err));
    hs_edge_runs_fini(runs);
    return HS_OK;
}
