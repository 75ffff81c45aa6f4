/* The state of the core: what is resolved, and what is put aside meanwhile. */
#include "pass_core.h"

hs_status core_work_resolve(struct core_work *work, uint32_t node, struct hs_error *err)
{
    hs_bitmap_set(&work->passes->is_reached, node);
    if (work->tree.jump != NULL)
        core_tree_add(&work->tree, node);
    return hs_spill_put_fixed(&work->sequence.spill, node, sizeof node, err);
}

hs_status core_work_region_park(struct hs_passes *passes, struct hs_parked *ret,
                                struct hs_error *err)
{
    uint64_t n_bytes = (uint64_t)passes->n_core * sizeof *passes->region;

    HS_TRY(hs_parked_put(passes->budget, "the core", passes->region, n_bytes, ret, err));
    pass_array_fini(passes->budget, &passes->region, passes->n_core);
    return HS_OK;
}

hs_status core_work_region_fetch(struct hs_passes *passes, struct hs_parked *parked,
                                 struct hs_error *err)
{
    HS_TRY(pass_array_init(passes->budget, passes->n_core, "the core", &passes->region, err));
    return hs_parked_get(parked, passes->region, err);
}

hs_status core_work_sequence_fetch(struct hs_passes *passes, struct hs_parked *parked,
                                   struct hs_error *err)
{
    HS_TRY(pass_array_init(passes->budget, passes->n_core, "the core's order", &passes->sequence,
                           err));
    passes->n_sequence = (uint32_t)(parked->spill.n_bytes / sizeof *passes->sequence);
    return hs_parked_get(parked, passes->sequence, err);
}
