#include "memprof.h"

#include <string.h>

#include "base/alloc.h"

hs_status hs_memprof_add_leaf(struct hs_root_walk *walk, hs_addr address, uint64_t value,
                              const char *unit, bool weak)
{
    struct hs_root_leaf leaf = hs_walk_leaf(HS_ROOT_MEMPROF);
    if (!hs_block_of_value(walk->blocks, value, &leaf.target))
        return HS_OK;
    leaf.root.address = address;
    leaf.root.weak = weak;
    HS_TRY(hs_walk_name(walk, &leaf.root.name, "Gc.Memprof %s", unit));
    HS_TRY(hs_walk_name(walk, &leaf.group_module, "Gc.Memprof"));
    HS_TRY(hs_walk_name(walk, &leaf.group_unit, "%s", unit));
    return hs_roots_add(&walk->roots->roots, &leaf, walk->err);
}

hs_status hs_memprof_add_sample(struct hs_root_walk *walk, const struct hs_memprof_entry *entry)
{
    struct hs_ocaml_roots *roots = walk->roots;
    hs_addr block;
    if (!hs_block_of_value(walk->blocks, entry->block, &block))
        block = entry->block;
    HS_TRY(HS_GROW(&roots->samples, &roots->samples_capacity, roots->n_samples + 1, walk->err));
    roots->samples[roots->n_samples++] = (struct hs_ocaml_sample){
        .block = block,
        .sample = {.id = entry->user_data >> 1,
                   .node = HS_NO_NODE,
                   .n_samples = entry->n_samples,
                   .words = entry->wosize + 1,
                   .site = HS_NO_SITE,
                   .state = entry->is_promoted ? HS_SAMPLE_PROMOTED : HS_SAMPLE_LIVE}};
    return HS_OK;
}

void hs_memprof_note_lambda(struct hs_root_walk *walk, uint64_t bits_of_lambda)
{
    struct hs_ocaml_roots *roots = walk->roots;
    double lambda;
    memcpy(&lambda, &bits_of_lambda, sizeof lambda);
    if (!(lambda > 1e-15 && lambda <= 1))
        return;
    double period_words = 1 / lambda;
    if (roots->has_period && roots->period_words != period_words)
        period_words = 0;
    roots->has_period = true;
    roots->period_words = period_words;
}
