#include "edge_runs.h"

#include "base/alloc.h"
#include "edge_sort.h"

enum { EDGES_PER_PUT = 1024, CLASS_BITS = 3, WORD_BITS = 64 };
static_assert(HS_N_EDGE_CLASSES <= 1 << CLASS_BITS);

static void runs_free_keys(struct hs_edge_runs *runs, struct hs_budget *budget)
{
    hs_pages_free(runs->keys, runs->keys_capacity, sizeof *runs->keys);
    hs_budget_release(budget, runs->keys_capacity * sizeof *runs->keys);
    runs->keys = NULL;
    runs->keys_capacity = 0;
}

void hs_edge_runs_fini(struct hs_edge_runs *runs, struct hs_budget *budget)
{
    for (unsigned i = 0; i < runs->n_runs; i++)
        hs_spill_close(&runs->runs[i].spill);
    runs->n_runs = 0;
    runs_free_keys(runs, budget);
}

/* ---- writing a run */

struct run_writer {
    struct hs_spill *spill;
    struct hs_edge last;
};

static hs_status run_put(void *context, const struct hs_edge *edges, size_t n, struct hs_error *err)
{
    struct run_writer *w = context;

    for (size_t i = 0; i < n; i++) {
        uint64_t gap = edges[i].target - w->last.target;
        uint64_t before = gap == 0 ? w->last.offset_words : 0;
        HS_TRY(hs_spill_put_varint(w->spill, gap << CLASS_BITS | edges[i].edge_class, err));
        HS_TRY(hs_spill_put_varint(w->spill, edges[i].offset_words - before, err));
        if (hs_edge_has_reason(edges[i].edge_class))
            HS_TRY(hs_spill_put_varint(w->spill, edges[i].reason, err));
        w->last = edges[i];
    }
    return HS_OK;
}

/* ---- the order of a part
 *
 * Pointers are found in the order of their places, so what is left is to go by target, and to keep
 * that order: keys of a target and a place in the part, by digits from the last, are a third of the
 * edges and in two sweeps where these need five and more. */

enum { DIGIT_BITS = 11, N_DIGITS = 1 << DIGIT_BITS };

/* Room for n keys twice; false: there is none, and the edges themselves are sorted. */
static bool order_room(struct hs_edge_runs *runs, struct hs_budget *budget, size_t n)
{
    struct hs_error full = HS_ERROR_INIT;

    if (runs->keys_capacity >= 2 * n)
        return true;
    runs_free_keys(runs, budget);
    if (n > SIZE_MAX / 2 / sizeof *runs->keys ||
        hs_budget_reserve(budget, 2 * n * sizeof *runs->keys, "an order", &full) != HS_OK)
        return false;
    if (HS_PAGES_ALLOC(&runs->keys, 2 * n, &full) != HS_OK) {
        hs_budget_release(budget, 2 * n * sizeof *runs->keys);
        return false;
    }
    runs->keys_capacity = 2 * n;
    return true;
}

struct order {
    uint64_t *keys;  /* in order: above index_bits what is between the least target and theirs */
    uint64_t *other; /* room for as many */
    size_t n;
    unsigned index_bits, key_bits;
    hs_node least;
};

/* The places ascend, and keys have the bits for it? */
static bool order_fits(struct order *order, const struct hs_edge *edges)
{
    hs_node most = edges[0].target;

    order->least = most;
    for (size_t i = 1; i < order->n; i++) {
        if (edges[i].offset_words < edges[i - 1].offset_words ||
            (edges[i].offset_words == edges[i - 1].offset_words &&
             hs_edge_kind_key(&edges[i]) < hs_edge_kind_key(&edges[i - 1])))
            return false;
        most = edges[i].target > most ? edges[i].target : most;
        order->least = edges[i].target < order->least ? edges[i].target : order->least;
    }
    order->index_bits = WORD_BITS - (unsigned)__builtin_clzll(order->n);
    unsigned bits =
        most == order->least ? 0 : WORD_BITS - (unsigned)__builtin_clzll(most - order->least);
    order->key_bits = order->index_bits + bits;
    return order->key_bits <= WORD_BITS;
}

static void order_by_digit(struct order *order, unsigned shift)
{
    size_t next[N_DIGITS] = {0}, sum = 0;

    for (size_t i = 0; i < order->n; i++)
        next[order->keys[i] >> shift & (N_DIGITS - 1)]++;
    for (size_t digit = 0; digit < N_DIGITS; digit++) {
        size_t n = next[digit];
        next[digit] = sum;
        sum += n;
    }
    for (size_t i = 0; i < order->n; i++)
        order->other[next[order->keys[i] >> shift & (N_DIGITS - 1)]++] = order->keys[i];
    uint64_t *swapped = order->keys;
    order->keys = order->other;
    order->other = swapped;
}

static hs_status order_put(const struct order *order, const struct hs_edge *edges,
                           struct run_writer *to, struct hs_error *err)
{
    struct hs_edge some[EDGES_PER_PUT];

    for (size_t at = 0; at < order->n; at += EDGES_PER_PUT) {
        size_t n = order->n - at < EDGES_PER_PUT ? order->n - at : EDGES_PER_PUT;
        for (size_t i = 0; i < n; i++)
            some[i] = edges[order->keys[at + i] & ((UINT64_C(1) << order->index_bits) - 1)];
        HS_TRY(run_put(to, some, n, err));
    }
    return HS_OK;
}

static hs_status run_put_part(struct hs_edge_runs *runs, struct hs_budget *budget,
                              struct run_writer *to, struct hs_edge *edges, size_t n,
                              struct hs_error *err)
{
    struct order order = {.n = n};

    if (n < EDGES_PER_PUT || !order_fits(&order, edges) || !order_room(runs, budget, n)) {
        hs_edges_sort(edges, n);
        return run_put(to, edges, n, err);
    }
    order.keys = runs->keys;
    order.other = runs->keys + n;
    for (size_t i = 0; i < n; i++)
        order.keys[i] = (edges[i].target - order.least) << order.index_bits | i;
    for (unsigned shift = order.index_bits; shift < order.key_bits; shift += DIGIT_BITS)
        order_by_digit(&order, shift);
    return order_put(&order, edges, to, err);
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
    uint64_t head, offset, reason = HS_REASON_NONE;

    *ret_more = !hs_spill_at_end(&r->reader);
    if (!*ret_more)
        return HS_OK;
    HS_TRY(hs_spill_get_varint(&r->reader, &head, err));
    HS_TRY(hs_spill_get_varint(&r->reader, &offset, err));
    if (head >> CLASS_BITS != 0)
        r->edge.offset_words = 0;
    r->edge.target += head >> CLASS_BITS;
    r->edge.offset_words += offset;
    r->edge.edge_class = (uint8_t)(head & ((1 << CLASS_BITS) - 1));
    if (hs_edge_has_reason(r->edge.edge_class))
        HS_TRY(hs_spill_get_varint(&r->reader, &reason, err));
    r->edge.reason = (uint8_t)reason;
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

hs_status hs_edge_runs_add(struct hs_edge_runs *runs, struct hs_budget *budget,
                           struct hs_edge *edges, size_t n, struct hs_error *err)
{
    struct hs_edge_run *run = &runs->runs[runs->n_runs];
    struct run_writer writer = {.spill = &run->spill};

    while (runs_are_many(runs)) {
        HS_TRY(runs_collapse(runs, budget, err));
        run = &runs->runs[runs->n_runs];
        writer.spill = &run->spill;
    }
    if (runs->n_runs == HS_EDGE_RUNS_FAN * HS_EDGE_RUNS_LEVELS - 1)
        return hs_fail(err, HS_LIMIT, "one block has too many pointers");
    *run = (struct hs_edge_run){0};
    HS_TRY(hs_spill_open(budget, "the pointers of one block", &run->spill, err));
    hs_status status = run_put_part(runs, budget, &writer, edges, n, err);
    if (status == HS_OK)
        status = hs_spill_seal(&run->spill, err);
    if (status == HS_OK)
        runs->n_runs++;
    else
        hs_spill_close(&run->spill);
    return status;
}

uint64_t hs_edge_runs_bytes(const struct hs_edge_runs *runs)
{
    uint64_t n_bytes = 0;

    for (unsigned i = 0; i < runs->n_runs; i++)
        n_bytes += runs->runs[i].spill.n_bytes;
    return n_bytes;
}

hs_status hs_edge_runs_merge(struct hs_edge_runs *runs, struct hs_budget *budget,
                             const struct hs_edge_sink *sink, struct hs_error *err)
{
    runs_free_keys(runs, budget);
    while (runs->n_runs > HS_EDGE_RUNS_FAN)
        HS_TRY(runs_collapse(runs, budget, err));
    HS_TRY(merge_runs(runs->runs, runs->n_runs, sink, err));
    hs_edge_runs_fini(runs, budget);
    return HS_OK;
}
