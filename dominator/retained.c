#include "dominator/retained.h"

#include <assert.h>

#include "graph/pages.h"

/* ---- all nodes ---- */

void hs_retained_fini(struct hs_retained *retained)
{
    if (retained == NULL)
        return;
    hs_pages_free(retained->narrow, retained->n, sizeof *retained->narrow);
    hs_pages_free(retained->wide, retained->n, sizeof *retained->wide);
    *retained = (struct hs_retained){0};
}

/* Tells whether no sum exceeds 32 bits. Objects are no more than nodes. */
static bool sums_are_narrow(const struct hs_weights *weights, enum hs_dimension dimension)
{
    uint64_t total = 0;

    if (dimension == HS_DIM_OBJECTS || dimension == HS_DIM_STATIC_OBJECTS)
        return true;
    if (weights->n_huge != 0)
        return false;
    for (uint32_t node = 0; node < weights->n_nodes; node++)
        total += weights->words[node]; /* both kinds: at most 2^64 */
    return total <= UINT32_MAX;
}

static void sum_narrow(const struct hs_domtree *tree, const struct hs_weights *weights,
                       enum hs_dimension dimension, uint32_t *sum)
{
    bool asks_static = dimension == HS_DIM_STATIC_WORDS || dimension == HS_DIM_STATIC_OBJECTS;
    bool counts = dimension == HS_DIM_OBJECTS || dimension == HS_DIM_STATIC_OBJECTS;

    for (uint32_t node = weights->n_tree; node < tree->n_nodes; node++)
        if (tree->number[node] != 0 && hs_bitmap_get(&weights->is_static, node) == asks_static)
            sum[tree->number[node] - 1] = counts ? 1 : weights->words[node];
    for (uint32_t i = tree->n_reached; i-- > 1;)
        sum[tree->idom[i]] += sum[i];
}

static void sum_wide(const struct hs_domtree *tree, const struct hs_weights *weights,
                     enum hs_dimension dimension, uint64_t *sum)
{
    for (uint32_t node = weights->n_tree; node < tree->n_nodes; node++)
        if (tree->number[node] != 0)
            sum[tree->number[node] - 1] = hs_weights_in(weights, node, dimension);
    for (uint32_t i = tree->n_reached; i-- > 1;)
        sum[tree->idom[i]] += sum[i];
}

hs_status hs_retained_sum(const struct hs_domtree *tree, const struct hs_weights *weights,
                          enum hs_dimension dimension, struct hs_retained *ret,
                          struct hs_error *err)
{
    struct hs_retained retained = {.n = tree->n_reached};
    void *memory;

    assert(tree->n_nodes == weights->n_nodes);
    if (sums_are_narrow(weights, dimension)) {
        HS_TRY(hs_dense_pages(retained.n, sizeof *retained.narrow, &memory, err));
        retained.narrow = memory;
        sum_narrow(tree, weights, dimension, retained.narrow);
    } else {
        HS_TRY(hs_dense_pages(retained.n, sizeof *retained.wide, &memory, err));
        retained.wide = memory;
        sum_wide(tree, weights, dimension, retained.wide);
    }
    *ret = retained;
    return HS_OK;
}

/* ---- static blocks and what is above them ---- */

void hs_retained_static_fini(struct hs_retained_static *retained)
{
    if (retained == NULL)
        return;
    hs_pages_free(retained->sum, retained->n_has, sizeof *retained->sum);
    hs_bitmap_fini(&retained->has);
    *retained = (struct hs_retained_static){0};
}

/* Marks static blocks that are reached, then all that dominates them. */
static void static_mark(const struct hs_domtree *tree, const struct hs_weights *weights,
                        struct hs_bitmap *has)
{
    const struct hs_bitmap *is_static = &weights->is_static;

    for (uint64_t node = hs_bitmap_next(is_static, 0); node < is_static->n_bits;
         node = hs_bitmap_next(is_static, node + 1))
        if (tree->number[node] != 0)
            hs_bitmap_set(has, tree->number[node] - 1);
    for (uint64_t at = hs_bitmap_previous(has, has->n_bits); at != UINT64_MAX && at != 0;
         at = hs_bitmap_previous(has, at - 1))
        hs_bitmap_set(has, tree->idom[at]);
}

static void static_add(const struct hs_domtree *tree, const struct hs_weights *weights,
                       enum hs_dimension dimension, struct hs_retained_static *retained)
{
    const struct hs_bitmap *is_static = &weights->is_static, *has = &retained->has;
    uint64_t rank = retained->n_has;

    for (uint64_t node = hs_bitmap_next(is_static, 0); node < is_static->n_bits;
         node = hs_bitmap_next(is_static, node + 1))
        if (tree->number[node] != 0)
            retained->sum[hs_bitmap_rank(has, tree->number[node] - 1)] =
                hs_weights_in(weights, (uint32_t)node, dimension);
    for (uint64_t at = hs_bitmap_previous(has, has->n_bits); at != UINT64_MAX && at != 0;
         at = hs_bitmap_previous(has, at - 1))
        retained->sum[hs_bitmap_rank(has, tree->idom[at])] += retained->sum[--rank];
}

hs_status hs_retained_static_sum(const struct hs_domtree *tree, const struct hs_weights *weights,
                                 enum hs_dimension dimension, struct hs_retained_static *ret,
                                 struct hs_error *err)
{
    struct hs_retained_static retained = {0};
    void *memory;

    assert(tree->n_nodes == weights->n_nodes);
    assert(dimension == HS_DIM_STATIC_WORDS || dimension == HS_DIM_STATIC_OBJECTS);
    HS_TRY(hs_bitmap_init(&retained.has, tree->n_reached, err));
    static_mark(tree, weights, &retained.has);
    hs_status status = hs_bitmap_index(&retained.has, &retained.n_has, err);
    if (status == HS_OK)
        status = hs_pages_alloc(retained.n_has, sizeof *retained.sum, &memory, err);
    if (status == HS_OK) {
        retained.sum = memory;
        static_add(tree, weights, dimension, &retained);
        *ret = retained;
    } else {
        hs_bitmap_fini(&retained.has);
    }
    return status;
}
