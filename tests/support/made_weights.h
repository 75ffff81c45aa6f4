/* Random sizes of the blocks of a graph, static and huge ones among them, and the same as the
 * out-of-core passes take them. Header only, as made_passes.h is. */
#ifndef HS_TEST_MADE_WEIGHTS_H
#define HS_TEST_MADE_WEIGHTS_H

#include <stdlib.h>

#include "dominator/weights.h"
#include "edge_list.h"
#include "passes/passes.h"

/* Every fourth seed has no static blocks. */
static void made_weights_init(const struct hs_graph *graph, uint64_t seed, struct hs_weights *ret)
{
    uint64_t random = seed + 99;
    struct hs_error err;

    if (hs_weights_init(graph->n_nodes, graph->n_tree, ret, &err) != HS_OK)
        abort();
    for (uint32_t i = graph->n_tree; i < graph->n_nodes; i++) {
        uint64_t words = 1 + hs_random_below(&random, hs_random_below(&random, 4) == 0 ? 1000 : 9);
        bool is_huge = hs_random_below(&random, 500) == 0;
        bool is_static = seed % 4 != 0 && hs_random_below(&random, 4) == 0;
        if (is_huge)
            words = UINT32_MAX - 1 + (uint64_t)hs_random_below(&random, 5);
        if (hs_weights_set(ret, i, words, is_static, &err) != HS_OK)
            abort();
    }
}

static hs_status made_weights_run(const void *context,
                                  hs_status (*put)(void *sink, hs_node node, uint64_t words,
                                                   bool is_static, struct hs_error *err),
                                  void *sink, struct hs_error *err)
{
    const struct hs_weights *weights = context;
    for (uint32_t i = weights->n_tree; i < weights->n_nodes; i++)
        HS_TRY(
            put(sink, i, hs_weights_words(weights, i), hs_bitmap_get(&weights->is_static, i), err));
    return HS_OK;
}

static inline struct hs_weight_source made_weight_source(const struct hs_weights *weights)
{
    return (struct hs_weight_source){made_weights_run, weights};
}

#endif
