#include "edge_order.h"

#include <stdlib.h>

#include "base/alloc.h"

/* The bounds of a run in rows: it has as many as half of what is left has room for, within these. A
 * merge reads at least READ_LEAST rows of each run at a time. */
enum { RUN_LEAST = 1 << 14, RUN_MOST = 1 << 24, READ_LEAST = 16 };

static int compare_rows(const void *left, const void *right)
{
    const struct edge_row *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* ---- runs ---- */

static hs_status rows_open(struct edge_order *order, struct hs_error *err)
{
    uint64_t left = hs_budget_left_bytes(order->maker->options->budget);
    uint64_t n = left == UINT64_MAX ? RUN_MOST : left / 2 / sizeof *order->rows;
    n = n > RUN_MOST ? RUN_MOST : n < RUN_LEAST ? RUN_LEAST : n;
    void *rows;
    HS_TRY(maker_pages(order->maker, n, sizeof *order->rows, "the edges of a run", &rows, err));
    order->rows = rows;
    order->n_most = n;
    return HS_OK;
}

static hs_status run_write(struct edge_order *order, struct hs_error *err)
{
    struct edge_run run = {.begin = order->spill.n_bytes / sizeof *order->rows};
    if (!order->spill.is_open)
        HS_TRY(
            hs_spill_open(order->maker->options->budget, "the sorted edges", &order->spill, err));
    qsort(order->rows, (size_t)order->n_rows, sizeof *order->rows, compare_rows);
    run.end = run.begin + order->n_rows;
    HS_TRY(hs_spill_write(&order->spill, order->rows, (size_t)order->n_rows * sizeof *order->rows,
                          err));
    HS_TRY(maker_grow(order->maker, (void **)&order->runs, &order->runs_capacity, order->n_runs + 1,
                      sizeof run, "runs of edges", err));
    order->runs[order->n_runs++] = run;
    order->n_rows = 0;
    return HS_OK;
}

hs_status edge_order_add(struct edge_order *order, const struct edge_row *edge,
                         struct hs_error *err)
{
    if (order->rows == NULL)
        HS_TRY(rows_open(order, err));
    if (order->n_rows == order->n_most)
        HS_TRY(run_write(order, err));
    order->rows[order->n_rows++] = *edge;
    return HS_OK;
}

hs_status edge_order_end(struct edge_order *order, struct hs_error *err)
{
    if (order->n_runs == 0) {
        if (order->n_rows != 0)
            qsort(order->rows, (size_t)order->n_rows, sizeof *order->rows, compare_rows);
        return HS_OK;
    }
    HS_TRY(run_write(order, err));
    if (order->n_most / order->n_runs < READ_LEAST) {
        (void)hs_fail(err, HS_LIMIT, "%zu runs of edges are too many to merge", order->n_runs);
        return hs_hint(err, "allow more with --memory");
    }
    HS_TRY(maker_grow(order->maker, (void **)&order->heap, &order->heap_capacity, order->n_runs,
                      sizeof *order->heap, "runs of edges", err));
    return hs_spill_seal(&order->spill, err);
}

/* ---- the merge ---- */

/* More of a run, into its part of the rows; it has more. */
static hs_status run_read(struct edge_order *order, size_t number, struct hs_error *err)
{
    struct edge_run *run = &order->runs[number];
    size_t room = (size_t)(order->n_most / order->n_runs), n = room;
    if (run->end - run->at < n)
        n = (size_t)(run->end - run->at);
    run->next = number * room;
    run->stop = run->next + n;
    HS_TRY(hs_spill_read_at(&order->spill, run->at * sizeof *order->rows, order->rows + run->next,
                            n * sizeof *order->rows, err));
    run->at += n;
    return HS_OK;
}

static const struct edge_row *first_of(const struct edge_order *order, size_t place)
{
    return &order->rows[order->runs[order->heap[place]].next];
}

static void heap_down(struct edge_order *order, size_t place)
{
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= order->n_heap)
            return;
        if (child + 1 < order->n_heap &&
            compare_rows(first_of(order, child + 1), first_of(order, child)) < 0)
            child++;
        if (compare_rows(first_of(order, place), first_of(order, child)) <= 0)
            return;
        uint32_t run = order->heap[place];
        order->heap[place] = order->heap[child];
        order->heap[child] = run;
        place = child;
    }
}

hs_status edge_order_begin(struct edge_order *order, struct hs_error *err)
{
    order->at = 0;
    order->n_heap = order->n_runs;
    for (size_t i = 0; i < order->n_runs; i++) {
        order->runs[i].at = order->runs[i].begin;
        HS_TRY(run_read(order, i, err));
        order->heap[i] = (uint32_t)i;
    }
    for (size_t i = order->n_heap / 2; i-- > 0;)
        heap_down(order, i);
    return HS_OK;
}

bool edge_order_next(struct edge_order *order, struct edge_row *ret, hs_status *status,
                     struct hs_error *err)
{
    if (order->n_runs == 0) {
        if (order->at == order->n_rows)
            return false;
        *ret = order->rows[order->at++];
        return true;
    }
    if (order->n_heap == 0)
        return false;
    struct edge_run *run = &order->runs[order->heap[0]];
    *ret = order->rows[run->next++];
    if (run->next == run->stop && run->at < run->end) {
        *status = run_read(order, order->heap[0], err);
        if (*status != HS_OK)
            return false;
    }
    if (run->next == run->stop)
        order->heap[0] = order->heap[--order->n_heap];
    heap_down(order, 0);
    return true;
}

void edge_order_fini(struct edge_order *order)
{
    if (order->maker == NULL)
        return;
    maker_pages_free(order->maker, order->rows, order->n_most, sizeof *order->rows);
    hs_spill_close(&order->spill);
    hs_free(order->runs);
    hs_free(order->heap);
    *order = (struct edge_order){0};
}
