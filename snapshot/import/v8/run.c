/* The functions that the passes over one file share. */
#include "run.h"

hs_status hs_v8_bitmap(struct v8_run *run, uint64_t n_bits, struct hs_bitmap *ret,
                       struct hs_error *err)
{
    uint64_t n_bytes = n_bits / 8 + n_bits / 64 + 64;
    HS_TRY(hs_budget_reserve(run->maker->options->budget, n_bytes, "bits for each object", err));
    run->n_bitmap_bytes += n_bytes;
    return hs_bitmap_init(ret, n_bits, err);
}

hs_status hs_v8_tell(const struct v8_run *run, const struct v8_walk *walk, const char *phase,
                     struct hs_error *err)
{
    if (walk->n_nodes % 65536 != 0)
        return HS_OK;
    return hs_progress_tell(run->maker->options->progress, phase, walk->n_nodes, run->file.n_nodes,
                            err);
}

bool hs_v8_retains(const struct v8_run *run, uint64_t from, uint64_t from_id,
                   const struct v8_edge *edge)
{
    const struct hs_import_policy *policy = run->policy;
    if (edge->kind == V8_WEAK)
        return policy->weak == HS_WEAK_STRONG;
    if (from == run->file.root)
        return true;
    if (edge->kind == V8_SHORTCUT && !policy->shortcuts)
        return false;
    if (edge->kind == V8_INTERNAL && !policy->weakmap_both &&
        hs_bitmap_get(&run->pairs, edge->name) &&
        run->pair_table[hs_bitmap_rank(&run->pairs, edge->name)] == from_id)
        return false;
    return run->page.words == NULL || !hs_bitmap_get(&run->page, edge->to) ||
           hs_bitmap_get(&run->page, from);
}
