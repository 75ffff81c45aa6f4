#include "dominator/retained.h"

#include <assert.h>

#include "graph/pages.h"

hs_status hs_retained_sum(const struct hs_domtree *tree, const struct hs_weights *weights,
                          enum hs_dimension dimension, uint64_t **ret, struct hs_error *err)
{
    void *memory;

    assert(tree->n_nodes == weights->n_nodes);
    HS_TRY(hs_dense_pages(tree->n_nodes, sizeof(uint64_t), &memory, err));
    uint64_t *sum = memory;
    for (uint32_t node = weights->n_tree; node < tree->n_nodes; node++)
        if (tree->number[node] != 0)
            sum[tree->number[node] - 1] = hs_weights_in(weights, node, dimension);
    for (uint32_t i = tree->n_reached; i-- > 1;)
        sum[tree->idom[i]] += sum[i];
    *ret = sum;
    return HS_OK;
}
