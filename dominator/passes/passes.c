/* The steps in turn. */
#include "passes/passes.h"

#include <assert.h>

#include "pass_steps.h"

/* Bits of a position or of a node that frames of the search have room for (forest_stack.h), with
 * lists of up to six bytes per node in 40 bits. */
#define MAX_NODE_BITS 37

static hs_status passes_steps(const struct hs_passes_input *input, struct hs_passes *passes,
                              struct hs_error *err)
{
    HS_TRY(pass_forest_run(input, passes, err));
    HS_TRY(pass_core_run(input, passes, err));
    return pass_attach_run(input, passes, err);
}

hs_status hs_passes_run(const struct hs_passes_input *input, struct hs_passes *ret,
                        struct hs_error *err)
{
    struct hs_passes passes = {
        .n_nodes = input->forward.n_nodes,
        .n_tree = input->forward.n_tree,
        .budget = input->budget,
    };

    assert(passes.n_nodes >= 1 && input->backward.n_nodes == passes.n_nodes);
    if (passes.n_nodes >> MAX_NODE_BITS != 0)
        return hs_fail(err, HS_LIMIT, "%llu blocks are more than dominators can be found of",
                       (unsigned long long)passes.n_nodes);
    hs_status status = passes_steps(input, &passes, err);
    if (status == HS_OK)
        *ret = passes;
    else
        hs_passes_fini(&passes);
    return status;
}

void hs_passes_fini(struct hs_passes *passes)
{
    if (passes == NULL)
        return;
    hs_spill_close(&passes->order);
    hs_spill_close(&passes->depths);
    hs_spill_close(&passes->core_edges);
    pass_bitmap_fini(passes->budget, &passes->is_head);
    pass_bitmap_fini(passes->budget, &passes->is_reached);
    pass_array_fini(passes->budget, &passes->region, passes->n_core);
    pass_array_fini(passes->budget, &passes->sequence, passes->n_core);
    hs_ids_fini(&passes->attach);
    *passes = (struct hs_passes){0};
}

uint64_t hs_passes_min_bytes(uint64_t n_nodes, uint64_t n_tree)
{
    (void)n_tree;
    /* When edges between regions are written: a place per node, and the regions' heads with ranks.
     */
    return n_nodes * hs_ids_width(n_nodes + 1) + n_nodes / 8 + n_nodes / 64;
}
