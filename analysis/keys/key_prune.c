#include "key_prune.h"

#include <stdlib.h>

#include "base/alloc.h"

struct candidate {
    uint64_t words; /* with what is below it */
    uint32_t key, rank;
    bool is_root;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->is_root != b->is_root)
        return a->is_root ? -1 : 1;
    if (a->words != b->words)
        return a->words < b->words ? 1 : -1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* A key is not smaller than those below it, and of a lower rank: where it goes, they do. */
static hs_status choose(const struct key_table *table, uint32_t *merged, struct hs_error *err)
{
    const struct hs_keys *out = table->out;
    hs_auto_free struct candidate *all = NULL;
    HS_TRY(HS_ALLOC(&all, out->n, err));
    for (size_t i = 0; i < out->n; i++)
        all[i] = (struct candidate){.words = out->keys[i].own.words + out->keys[i].own.static_words,
                                    .key = (uint32_t)i,
                                    .rank = table->rank[i],
                                    .is_root = out->keys[i].form != HS_KEY_TYPE};
    for (size_t i = out->n; i-- > 1;)
        all[out->keys[i].parent].words += all[i].words;
    qsort(all, out->n, sizeof *all, compare_candidates);
    for (size_t i = 0; i < out->n; i++)
        merged[all[i].key] = i < HS_KEYS_MOST ? 0 : HS_NO_KEY;
    return HS_OK;
}

/* Moves what stays to the front, in the order of before, in which keys above come first. */
static void move(struct key_table *table, uint32_t *merged)
{
    struct hs_keys *out = table->out;
    uint32_t n = 0;
    for (uint32_t i = 0; i < out->n; i++) {
        struct hs_key key = out->keys[i];
        uint32_t above = key.parent == HS_NO_KEY ? HS_NO_KEY : merged[key.parent];
        if (merged[i] == HS_NO_KEY) {
            merged[i] = above;
            hs_sizes_add(&out->keys[above].own, &key.own);
            continue;
        }
        merged[i] = n;
        key.parent = above;
        table->kind[n] = table->kind[i];
        table->rank[n] = table->rank[i];
        out->keys[n++] = key;
    }
    out->n = n;
}

struct ranked {
    uint32_t rank, key;
};

static int compare_ranked(const void *left, const void *right)
{
    uint32_t a = ((const struct ranked *)left)->rank, b = ((const struct ranked *)right)->rank;
    return (a > b) - (a < b);
}

/* Ranks without gaps, in the same order. */
static hs_status rank_again(struct key_table *table, struct hs_error *err)
{
    size_t n = table->out->n;
    hs_auto_free struct ranked *ranked = NULL;
    HS_TRY(HS_ALLOC(&ranked, n, err));
    for (size_t i = 0; i < n; i++)
        ranked[i] = (struct ranked){table->rank[i], (uint32_t)i};
    qsort(ranked, n, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < n; i++)
        table->rank[ranked[i].key] = (uint32_t)i;
    table->n_ranked = n;
    return HS_OK;
}

hs_status key_prune_keys(struct key_table *table, uint32_t **ret, struct hs_error *err)
{
    hs_auto_free uint32_t *merged = NULL;
    *ret = NULL;
    if (table->out->n <= HS_KEYS_MOST)
        return HS_OK;
    HS_TRY(HS_ALLOC(&merged, table->out->n, err));
    HS_TRY(choose(table, merged, err));
    move(table, merged);
    HS_TRY(rank_again(table, err));
    table->out->is_cut = true;
    *ret = HS_STEAL(merged);
    return HS_OK;
}
