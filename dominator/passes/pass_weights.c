#include "pass_weights.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/checked.h"
#include "graph/pages.h"
#include "pass_steps.h"

#define PAID_LARGE 65536
#define WHAT "the sizes of the blocks"

/* ---- loading ---- */

static hs_status weights_add_huge(struct pass_weights *weights, hs_node node, uint64_t words,
                                  struct hs_error *err)
{
    void *huge = weights->huge;
    size_t before = weights->huge_capacity;

    if (weights->n_huge == before) {
        uint64_t more = (before == 0 ? 1024 : before) * sizeof *weights->huge;
        HS_TRY(hs_budget_reserve(weights->budget, more, WHAT, err));
        hs_status status = hs_grow(&huge, &weights->huge_capacity, before == 0 ? 1024 : 2 * before,
                                   sizeof *weights->huge, err);
        if (status != HS_OK) {
            hs_budget_release(weights->budget, more);
            return status;
        }
        assert(weights->huge_capacity == (before == 0 ? 1024 : 2 * before));
        weights->huge = huge;
    }
    weights->huge[weights->n_huge++] = (struct pass_huge){node, words};
    return HS_OK;
}

static hs_status weights_add_large(struct pass_weights *weights, hs_node node, uint64_t words,
                                   struct hs_error *err)
{
    if (weights->n_large == weights->large_taken) {
        HS_TRY(hs_budget_reserve(weights->budget, PAID_LARGE * sizeof *weights->large, WHAT, err));
        weights->large_taken += PAID_LARGE;
    }
    hs_bitmap_set(&weights->is_large, node);
    weights->large[weights->n_large++] = words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
    return words < UINT32_MAX ? HS_OK : weights_add_huge(weights, node, words, err);
}

static hs_status weights_put(void *context, hs_node node, uint64_t words, bool is_static,
                             struct hs_error *err)
{
    struct pass_weights *weights = context;

    if (node < weights->next || node >= weights->n_nodes)
        return hs_fail(err, HS_FORMAT, "the size of block %llu is out of place",
                       (unsigned long long)node);
    weights->next = node + 1;
    weights->n_static += is_static;
    bool is_small = words < WEIGHT_LARGE;
    weights->small[node] =
        (uint8_t)((is_small ? words : WEIGHT_LARGE) | (is_static ? WEIGHT_STATIC : 0));
    return is_small ? HS_OK : weights_add_large(weights, node, words, err);
}

static hs_status weights_load(struct pass_weights *weights, const struct hs_weight_source *source,
                              struct hs_error *err)
{
    uint64_t n_large;
    void *memory;

    HS_TRY(hs_budget_reserve(weights->budget, weights->n_nodes, WHAT, err));
    hs_status status = hs_dense_pages(weights->n_nodes, 1, &memory, err);
    if (status != HS_OK) {
        hs_budget_release(weights->budget, weights->n_nodes);
        return status;
    }
    weights->small = memory;
    HS_TRY(pass_bitmap_init(weights->budget, weights->n_nodes, WHAT, &weights->is_large, err));
    HS_TRY(HS_PAGES_ALLOC(&weights->large, weights->n_nodes, err));
    weights->next = weights->n_tree;
    HS_TRY(source->run(source->context, weights_put, weights, err));
    HS_TRY(hs_bitmap_index(&weights->is_large, &n_large, err));
    assert(n_large == weights->n_large);
    return HS_OK;
}

hs_status pass_weights_load(const struct hs_passes *passes, const struct hs_weight_source *source,
                            struct pass_weights *ret, struct hs_error *err)
{
    struct pass_weights weights = {
        .n_nodes = passes->n_nodes, .n_tree = passes->n_tree, .budget = passes->budget};

    hs_status status = weights_load(&weights, source, err);
    if (status == HS_OK)
        *ret = weights;
    else
        pass_weights_fini(&weights);
    return status;
}

void pass_weights_fini(struct pass_weights *weights)
{
    if (weights->small != NULL)
        hs_budget_release(weights->budget, weights->n_nodes);
    hs_pages_free(weights->small, weights->n_nodes, 1);
    hs_pages_free(weights->large, weights->n_nodes, sizeof *weights->large);
    hs_budget_release(weights->budget, weights->large_taken * sizeof *weights->large);
    pass_bitmap_fini(weights->budget, &weights->is_large);
    hs_budget_release(weights->budget, weights->huge_capacity * sizeof *weights->huge);
    hs_free(weights->huge);
    *weights = (struct pass_weights){0};
}

/* ---- looking ---- */

static uint64_t weights_huge(const struct pass_weights *weights, hs_node node)
{
    size_t low = HS_FIRST_NOT(at, 0, weights->n_huge, weights->huge[at].node < node);
    assert(low < weights->n_huge && weights->huge[low].node == node);
    return weights->huge[low].words;
}

uint64_t pass_weights_large(const struct pass_weights *weights, hs_node node)
{
    uint32_t words = weights->large[hs_bitmap_rank(&weights->is_large, node)];
    return words == UINT32_MAX ? weights_huge(weights, node) : words;
}

/* ---- from a snapshot ---- */

struct weight_run {
    hs_status (*put)(void *sink, hs_node node, uint64_t words, bool is_static,
                     struct hs_error *err);
    void *sink;
    uint64_t words, static_words;
};

static hs_status run_chunk(struct weight_run *run, const struct hs_chunk *chunk,
                           struct hs_error *err)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        bool is_static = (chunk->state[i] & HS_BLOCK_STATIC) != 0;
        uint64_t *total = is_static ? &run->static_words : &run->words;
        if (!hs_add_fits(*total, chunk->words[i], total))
            return hs_fail(err, HS_FORMAT,
                           "the sizes of the blocks add up to more than 2^64 words");
        HS_TRY(run->put(run->sink, chunk->first + i, chunk->words[i], is_static, err));
    }
    return HS_OK;
}

static hs_status run_chunks(const struct hs_snap *snap, struct weight_run *run,
                            struct hs_chunk *chunk, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    uint64_t next = totals->n_tree;

    for (uint64_t at = 0; at < totals->n_chunks; at++) {
        HS_TRY(hs_snap_load_chunk(snap, at, HS_COL_SIZES, chunk, err));
        if (chunk->first != next || chunk->n_blocks > totals->n_tree + totals->n_blocks - next)
            return hs_fail(err, HS_FORMAT, "chunk %llu does not follow the one before it",
                           (unsigned long long)at);
        HS_TRY(run_chunk(run, chunk, err));
        next += chunk->n_blocks;
    }
    if (next != totals->n_tree + totals->n_blocks || run->words != totals->heap_words ||
        run->static_words != totals->static_words)
        return hs_fail(err, HS_FORMAT, "the blocks do not add up to the totals of the trailer");
    return HS_OK;
}

static hs_status snap_run(const void *context,
                          hs_status (*put)(void *sink, hs_node node, uint64_t words, bool is_static,
                                           struct hs_error *err),
                          void *sink, struct hs_error *err)
{
    struct weight_run run = {.put = put, .sink = sink};
    struct hs_chunk chunk = {0};

    hs_status status = run_chunks(context, &run, &chunk, err);
    hs_chunk_fini(&chunk);
    return status;
}

struct hs_weight_source hs_weights_of_snap(const struct hs_snap *snap)
{
    return (struct hs_weight_source){snap_run, snap};
}
