/* Reverses edges: counts in-edges, divides targets into buckets, fills these in one sweep, and
 * emits them sorted. */
#include "graph/reverse.h"

#include "base/alloc.h"
#include "reverse_plan.h"

/* The runs of the tree begin at node 0, those of the blocks at n_tree. */
struct reversal {
    const struct hs_sweep *forward;
    const struct hs_reverse_options *options;
    struct hs_reverse_counts counts;
    uint64_t *counted; /* owned pages: counts.of_blocks, when they are not given */
    uint64_t counts_taken;
    struct hs_reverse_plan plan;
    struct hs_reverse_buckets buckets;
    uint64_t told, total; /* edges, over all passes */
};

static uint64_t block_runs(const struct hs_sweep *forward)
{
    uint64_t n_blocks = forward->n_nodes - forward->n_tree;
    return n_blocks / HS_SWEEP_RUN + (n_blocks % HS_SWEEP_RUN != 0);
}

static hs_status reversal_tell(struct reversal *r, uint64_t n_edges, struct hs_error *err)
{
    HS_TRY(hs_progress_tell(r->options->progress, r->options->phase, r->told, r->total, err));
    r->told += n_edges;
    return HS_OK;
}

/* A sweep comes from elsewhere; its promises are what our arrays depend on. */
static hs_status reversal_verify(const struct reversal *r, hs_node source, const hs_node *target,
                                 uint64_t n, struct hs_error *err)
{
    if (n != 0 && (target[n - 1] >= r->forward->n_nodes || source >= r->forward->n_nodes))
        return hs_fail(err, HS_BUG, "a sweep gave an edge of node %llu, beyond its %llu nodes",
                       (unsigned long long)source, (unsigned long long)r->forward->n_nodes);
    return HS_OK;
}

/* ---- counting ---- */

static hs_status count_piece(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    struct reversal *r = context;
    const hs_node n_tree = r->forward->n_tree;

    for (uint32_t i = 0; i < piece->n; i++) {
        const hs_node *target = piece->target + piece->begin[i];
        uint64_t n = piece->begin[i + 1] - piece->begin[i];
        HS_TRY(reversal_verify(r, piece->first + i, target, n, err));
        for (uint64_t e = 0; e < n; e++)
            if (target[e] >= n_tree)
                r->counted[(target[e] - n_tree) / HS_SWEEP_RUN]++;
    }
    return reversal_tell(r, piece->begin[piece->n], err);
}

/* Counts that add up to more than all edges are wrong: buckets would be many and small. */
static bool counts_are_possible(const struct hs_sweep *forward, const uint64_t *counts)
{
    uint64_t left = forward->max_edges;
    for (uint64_t i = 0; counts != NULL && i < block_runs(forward); i++) {
        if (counts[i] > left)
            return false;
        left -= counts[i];
    }
    return counts != NULL;
}

static hs_status reversal_count(struct reversal *r, bool is_counted, struct hs_error *err)
{
    const struct hs_piece_sink sink = {count_piece, r};
    uint64_t n_runs = block_runs(r->forward), n_tree = r->forward->n_tree;
    void *memory;

    r->counts = (struct hs_reverse_counts){
        .n_tree_runs = n_tree / HS_SWEEP_RUN + (n_tree % HS_SWEEP_RUN != 0),
        .of_blocks = is_counted ? r->options->in_degrees : NULL,
    };
    r->counts.n_runs = n_runs + r->counts.n_tree_runs;
    if (is_counted)
        return HS_OK;
    HS_TRY(hs_budget_reserve(r->options->budget, n_runs * sizeof *r->counted, "turning edges round",
                             err));
    r->counts_taken = n_runs * sizeof *r->counted;
    HS_TRY(hs_pages_alloc(n_runs, sizeof *r->counted, &memory, err));
    r->counts.of_blocks = r->counted = memory;
    return r->forward->run(r->forward->context, &sink, err);
}

/* ---- the first half ---- */

static hs_status put_piece(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    struct reversal *r = context;

    for (uint32_t i = 0; i < piece->n; i++) {
        const hs_node source = piece->first + i, *target = piece->target + piece->begin[i];
        uint64_t n = piece->begin[i + 1] - piece->begin[i];
        HS_TRY(reversal_verify(r, source, target, n, err));
        for (uint64_t e = 0; e < n; e++)
            HS_TRY(hs_reverse_put(&r->buckets, target[e], source, err));
    }
    return reversal_tell(r, piece->begin[piece->n], err);
}

static hs_status pages_reserved(struct reversal *r, uint64_t n, size_t size, uint64_t *reserved,
                                void **ret, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(r->options->budget, n * size, "turning edges round", err));
    *reserved += n * size;
    return hs_pages_alloc(n, size, ret, err);
}

static hs_status buckets_init(struct reversal *r, struct hs_error *err)
{
    struct hs_reverse_buckets *b = &r->buckets;
    const struct hs_reverse_plan *plan = &r->plan;
    const char *directory = hs_spill_directory(r->options->budget);
    void *memory;

    b->in_memory = plan->in_memory;
    b->extent_words = plan->extent_words;
    HS_TRY(pages_reserved(r, plan->n_buckets, sizeof *b->buckets, &b->kept, &memory, err));
    b->buckets = memory;
    b->n = (uint32_t)plan->n_buckets;
    hs_reverse_cut(&r->counts, plan, b);
    HS_TRY(pages_reserved(r, plan->buffer_words, sizeof *b->words,
                          plan->in_memory ? &b->kept : &b->reserved, &memory, err));
    b->words = memory;
    b->n_words = plan->buffer_words;
    if (plan->in_memory)
        return HS_OK;
    HS_TRY(hs_budget_reserve(b->budget, HS_SPILL_BUFFER_BYTES, "turning edges round", err));
    b->reserved += HS_SPILL_BUFFER_BYTES;
    HS_TRY(hs_disk_need(directory, plan->n_words * sizeof(uint32_t), err));
    return hs_spill_open(r->options->budget, "edges turned round", &b->spill, err);
}

static hs_status reversal_plan(struct reversal *r, struct hs_error *err)
{
    struct hs_reverse_buckets *b = &r->buckets;
    const struct hs_budget *budget = r->options->budget;
    void *memory;

    b->budget = r->options->budget;
    b->n_nodes = r->forward->n_nodes;
    b->pad = (HS_SWEEP_RUN - r->forward->n_tree % HS_SWEEP_RUN) % HS_SWEEP_RUN;
    HS_TRY(pages_reserved(r, r->counts.n_runs, sizeof *b->of_run, &b->reserved, &memory, err));
    b->of_run = memory;
    b->n_runs = r->counts.n_runs;
    uint64_t left = hs_budget_left_bytes(budget);
    uint64_t large = r->forward->large_bytes; /* is wanted beside the buckets */
    if (left < HS_REVERSE_MIN_BYTES || left - HS_REVERSE_MIN_BYTES < large)
        return hs_budget_reserve(r->options->budget, HS_REVERSE_MIN_BYTES + large,
                                 "turning edges round", err);
    if (left != UINT64_MAX)
        left -= large;
    uint64_t usable = left - left / 8 - hs_reverse_emit_bytes();
    return hs_reverse_plan(&r->counts, r->forward, usable, budget == NULL ? 1 : budget->n_threads,
                           &r->plan, err);
}

static hs_status reversal_put(struct reversal *r, struct hs_error *err)
{
    const struct hs_piece_sink sink = {put_piece, r};

    HS_TRY(reversal_plan(r, err));
    HS_TRY(buckets_init(r, err));
    HS_TRY(r->forward->run(r->forward->context, &sink, err));
    return hs_reverse_buckets_seal(&r->buckets, err);
}

/* ---- both halves ---- */

static hs_status reversal_emit(struct reversal *r, const struct hs_piece_sink *sink,
                               struct hs_error *err)
{
    const struct hs_reverse_plan *plan = &r->plan;
    struct hs_budget *budget = r->options->budget;
    const struct hs_reverse_emission emission = {.buckets = &r->buckets,
                                                 .options = r->options,
                                                 .sink = sink,
                                                 .n_slots = plan->n_slots,
                                                 .n_threads = plan->n_threads,
                                                 .slot_bytes = plan->slot_bytes,
                                                 .source_bytes = plan->source_bytes,
                                                 .told = r->told,
                                                 .total = r->total};
    uint64_t slot = plan->slot_bytes;

    if (!plan->in_memory)
        slot += plan->extent_words * sizeof(uint32_t);
    slot = slot * plan->n_slots + hs_reverse_emit_bytes();
    HS_TRY(hs_budget_reserve(budget, slot, "turning edges round", err));
    hs_status status = hs_reverse_emit(&emission, err);
    hs_budget_release(budget, slot);
    return status;
}

static void reversal_fini(struct reversal *r)
{
    hs_reverse_buckets_fini(&r->buckets);
    hs_pages_free(r->counted, block_runs(r->forward), sizeof *r->counted);
    hs_budget_release(r->options->budget, r->counts_taken);
}

hs_status hs_reverse(const struct hs_sweep *forward, const struct hs_reverse_options *options,
                     const struct hs_piece_sink *sink, struct hs_error *err)
{
    struct reversal r = {.forward = forward, .options = options};

    assert(forward->n_tree >= 1 && forward->n_tree <= forward->n_nodes);
    if (forward->max_edges > HS_REVERSE_MAX_EDGES || forward->n_nodes > HS_REVERSE_MAX_NODES)
        return hs_fail(err, HS_LIMIT, "%llu nodes and %llu edges are too many to turn round",
                       (unsigned long long)forward->n_nodes,
                       (unsigned long long)forward->max_edges);
    bool is_counted = counts_are_possible(forward, options->in_degrees);
    r.total = forward->max_edges * (is_counted ? 2 : 3);
    hs_status status = reversal_count(&r, is_counted, err);
    r.told = r.total - 2 * forward->max_edges;
    if (status == HS_OK)
        status = reversal_put(&r, err);
    r.told = r.total - forward->max_edges;
    if (status == HS_OK)
        status = reversal_emit(&r, sink, err);
    reversal_fini(&r);
    return status;
}

uint64_t hs_reverse_disk_bytes(const struct hs_sweep *forward)
{
    /* A bucket of n targets escapes gaps of 2^32 / 2n and more, which add up to the number of all
     * nodes at most; over all buckets that is 2 * nodes^2 / 2^32, and a little. */
    unsigned __int128 square = (unsigned __int128)forward->n_nodes * forward->n_nodes;
    unsigned __int128 n_words = (square >> 31) + (square >> 36) + forward->max_edges;
    unsigned __int128 most = (unsigned __int128)2 * forward->max_edges;

    if (n_words > most)
        n_words = most;
    n_words += square >> 40;
    return n_words > UINT64_MAX / 4 ? UINT64_MAX : (uint64_t)n_words * 4;
}
