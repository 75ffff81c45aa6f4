/* All walkers over one scene. */
#include <string.h>

#include "heaps/walkers.h"

/* Whoever stands first keeps what two want: malloc before what lies inside of its blocks. */
const struct hs_walker *const hs_walkers[HS_N_WALKERS] = {
    &hs_glibc_walker,      &hs_jemalloc_walker, &hs_cpython_walker,
    &hs_registered_walker, &hs_record_walker,
};

void hs_heaps_close(struct hs_heaps *heaps)
{
    if (heaps == NULL)
        return;
    for (size_t i = HS_N_WALKERS; i-- > 0;)
        if (heaps->states[i] != NULL)
            hs_walkers[i]->close(heaps->states[i]);
    hs_ledger_fini(&heaps->ledger);
    hs_heap_map_fini(&heaps->map);
    memset(heaps, 0, sizeof *heaps);
}

static hs_status heaps_open_walkers(struct hs_heaps *heaps, const struct hs_scene *scene,
                                    struct hs_error *err)
{
    for (size_t i = 0; i < HS_N_WALKERS; i++) {
        HS_TRY(hs_walkers[i]->open(scene, &heaps->states[i], err));
        if (heaps->states[i] != NULL)
            HS_TRY(hs_walkers[i]->add_spans(heaps->states[i], &heaps->map, &heaps->ledger, err));
    }
    hs_ledger_seal(&heaps->ledger);
    return HS_OK;
}

hs_status hs_heaps_open(struct hs_heaps *heaps, const struct hs_scene *scene, struct hs_error *err)
{
    memset(heaps, 0, sizeof *heaps);
    hs_heap_map_init(&heaps->map, scene->image);
    hs_ledger_init(&heaps->ledger, scene->findings->strings, scene->image);
    hs_status status = heaps_open_walkers(heaps, scene, err);
    if (status != HS_OK)
        hs_heaps_close(heaps);
    return status;
}

/* Unclaimed mappings have no walker: each of their spans is a block. */
static void heaps_mark_mappings(struct hs_heap_map *map)
{
    for (size_t i = 0; i < map->n_spans; i++)
        if (map->spans[i].owner == HS_OWNER_MAPPING)
            hs_heap_map_set(map, map->spans[i].begin);
}

/* Tells the ledger how many blocks are alive; only walkers' own owners have a row for them. */
static hs_status heaps_count_blocks(struct hs_heaps *heaps, struct hs_error *err)
{
    const struct hs_heap_map *map = &heaps->map;
    uint64_t n_blocks[HS_N_OWNERS] = {0};
    uint64_t before = 0;

    for (size_t i = 0; i < map->n_spans; i++) {
        uint64_t next_bit = i + 1 < map->n_spans ? map->spans[i + 1].first_bit : map->starts.n_bits;
        uint64_t rank = hs_bitmap_rank(&map->starts, next_bit);
        n_blocks[map->spans[i].owner] += rank - before;
        before = rank;
    }
    for (unsigned owner = 0; owner < HS_N_OWNERS; owner++)
        if (owner != HS_OWNER_MAPPING && n_blocks[owner] != 0)
            HS_TRY(hs_ledger_set_blocks(&heaps->ledger, hs_heap_owner_name(owner), HS_MEMORY_LIVE,
                                        n_blocks[owner], err));
    return HS_OK;
}

hs_status hs_heaps_mark(struct hs_heaps *heaps, const struct hs_scene *scene, struct hs_error *err)
{
    uint64_t n_refused = 0;

    HS_TRY(hs_heap_map_seal(&heaps->map, &n_refused, err));
    if (n_refused != 0)
        HS_TRY(hs_findings_note(scene->findings, true, err,
                                "%llu pieces of heaps overlap others and are left out",
                                (unsigned long long)n_refused));
    heaps_mark_mappings(&heaps->map);
    for (size_t i = 0; i < HS_N_WALKERS; i++)
        if (heaps->states[i] != NULL)
            HS_TRY(hs_walkers[i]->mark(heaps->states[i], &heaps->map, &heaps->ledger, err));
    HS_TRY(hs_heap_map_index(&heaps->map, err));
    return heaps_count_blocks(heaps, err);
}
