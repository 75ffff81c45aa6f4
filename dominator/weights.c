#include "dominator/weights.h"

#include <assert.h>

#include "base/bisect.h"
#include "base/checked.h"
#include "graph/pages.h"

hs_status hs_weights_init(uint32_t n_nodes, uint32_t n_tree, struct hs_weights *ret,
                          struct hs_error *err)
{
    struct hs_weights weights = {.n_nodes = n_nodes, .n_tree = n_tree};
    void *words;

    assert(n_tree >= 1 && n_tree <= n_nodes);
    HS_TRY(hs_dense_pages(n_nodes, sizeof(uint32_t), &words, err));
    hs_status status = hs_bitmap_init(&weights.is_static, n_nodes, err);
    if (status != HS_OK) {
        hs_pages_free(words, n_nodes, sizeof(uint32_t));
        return status;
    }
    weights.words = words;
    *ret = weights;
    return HS_OK;
}

void hs_weights_drop(struct hs_weights *weights)
{
    hs_pages_free(weights->words, weights->n_nodes, sizeof(uint32_t));
    weights->words = NULL;
    hs_bitmap_fini(&weights->is_static);
    hs_free(weights->huge);
    weights->huge = NULL;
    weights->n_huge = weights->huge_capacity = 0;
}

void hs_weights_fini(struct hs_weights *weights)
{
    if (weights == NULL)
        return;
    hs_weights_drop(weights);
    *weights = (struct hs_weights){0};
}

hs_status hs_weights_set(struct hs_weights *weights, uint32_t node, uint64_t words, bool is_static,
                         struct hs_error *err)
{
    assert(node >= weights->n_tree && node < weights->n_nodes);
    if (is_static) {
        hs_bitmap_set(&weights->is_static, node);
        weights->n_static++;
    }
    if (words < UINT32_MAX) {
        weights->words[node] = (uint32_t)words;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&weights->huge, &weights->huge_capacity, weights->n_huge + 1, err));
    assert(weights->n_huge == 0 || weights->huge[weights->n_huge - 1].node < node);
    weights->huge[weights->n_huge++] = (struct hs_huge_block){node, words};
    weights->words[node] = UINT32_MAX;
    return HS_OK;
}

uint64_t hs_weights_huge(const struct hs_weights *weights, uint32_t node)
{
    size_t low = HS_FIRST_NOT(at, 0, weights->n_huge, weights->huge[at].node < node);
    assert(low < weights->n_huge && weights->huge[low].node == node);
    return weights->huge[low].words;
}

struct hs_sizes hs_weights_of(const struct hs_weights *weights, uint32_t node)
{
    if (node < weights->n_tree)
        return (struct hs_sizes){0};
    uint64_t words = hs_weights_words(weights, node);
    if (hs_bitmap_get(&weights->is_static, node))
        return (struct hs_sizes){.static_words = words, .static_objects = 1};
    return (struct hs_sizes){.words = words, .objects = 1};
}

uint64_t hs_weights_in(const struct hs_weights *weights, uint32_t node, enum hs_dimension dimension)
{
    bool is_static = hs_bitmap_get(&weights->is_static, node);
    bool asks_static = dimension == HS_DIM_STATIC_WORDS || dimension == HS_DIM_STATIC_OBJECTS;

    assert(dimension < HS_N_DIMENSIONS);
    if (node < weights->n_tree || is_static != asks_static)
        return 0;
    if (dimension == HS_DIM_OBJECTS || dimension == HS_DIM_STATIC_OBJECTS)
        return 1;
    return hs_weights_words(weights, node);
}

/* ---- from a snapshot ---- */

struct weights_sum {
    uint64_t words, static_words;
};

static hs_status weights_add_chunk(const struct hs_chunk *chunk, struct hs_weights *weights,
                                   struct weights_sum *sum, struct hs_error *err)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        bool is_static = (chunk->state[i] & HS_BLOCK_STATIC) != 0;
        uint64_t *total = is_static ? &sum->static_words : &sum->words;
        if (!hs_add_fits(*total, chunk->words[i], total))
            return hs_fail(err, HS_FORMAT,
                           "the sizes of the blocks add up to more than 2^64 words");
        HS_TRY(
            hs_weights_set(weights, (uint32_t)(chunk->first + i), chunk->words[i], is_static, err));
    }
    return HS_OK;
}

static hs_status weights_load(const struct hs_snap *snap, const struct hs_progress *progress,
                              struct hs_chunk *chunk, struct hs_weights *weights,
                              struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    struct weights_sum sum = {0};
    uint64_t next = totals->n_tree;

    for (uint64_t at = 0; at < totals->n_chunks; at++) {
        HS_TRY(hs_progress_tell(progress, "reading sizes", at, totals->n_chunks, err));
        HS_TRY(hs_snap_load_chunk(snap, at, HS_COL_SIZES, chunk, err));
        if (chunk->first != next || chunk->n_blocks > weights->n_nodes - next)
            return hs_fail(err, HS_FORMAT, "chunk %llu does not follow the one before it",
                           (unsigned long long)at);
        HS_TRY(weights_add_chunk(chunk, weights, &sum, err));
        next += chunk->n_blocks;
    }
    if (next != weights->n_nodes || sum.words != totals->heap_words ||
        sum.static_words != totals->static_words)
        return hs_fail(err, HS_FORMAT, "the blocks do not add up to the totals of the trailer");
    return HS_OK;
}

hs_status hs_weights_load(const struct hs_snap *snap, const struct hs_progress *progress,
                          struct hs_weights *ret, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    struct hs_weights weights = {0};
    struct hs_chunk chunk = {0};
    uint64_t n_nodes;

    if (!hs_add_fits(totals->n_tree, totals->n_blocks, &n_nodes) || n_nodes >= UINT32_MAX)
        return hs_fail(err, HS_LIMIT, "the snapshot has too many blocks");
    HS_TRY(hs_weights_init((uint32_t)n_nodes, (uint32_t)totals->n_tree, &weights, err));
    hs_status status = weights_load(snap, progress, &chunk, &weights, err);
    hs_chunk_fini(&chunk);
    if (status == HS_OK)
        *ret = weights;
    else
        hs_weights_fini(&weights);
    return status;
}
