/* All allocators over one copy of a process. */
#include <string.h>

#include "heaps/allocator.h"

#define HEAPS_ENTRY(name) [HS_OWNER_##name] = &hs_allocator_##name,
const struct hs_allocator *const hs_allocators[HS_N_ALLOCATORS] = {HS_ALLOCATORS(HEAPS_ENTRY)};

void hs_heaps_close(struct hs_heaps *heaps)
{
    if (heaps == NULL)
        return;
    for (size_t i = HS_N_ALLOCATORS; i-- > 0;)
        if (heaps->states[i] != NULL)
            hs_allocators[i]->close(heaps->states[i]);
    hs_ledger_fini(&heaps->ledger);
    hs_heap_map_fini(&heaps->map);
    memset(heaps, 0, sizeof *heaps);
}

static hs_status heaps_open_each(struct hs_heaps *heaps, const struct hs_process_copy *process,
                                 struct hs_error *err)
{
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++) {
        HS_TRY(hs_allocators[i]->open(process, &heaps->states[i], err));
        if (heaps->states[i] != NULL && hs_allocators[i]->add_spans != NULL)
            HS_TRY(hs_allocators[i]->add_spans(heaps->states[i], &heaps->map, &heaps->ledger, err));
    }
    hs_ledger_seal(&heaps->ledger);
    return HS_OK;
}

hs_status hs_heaps_open(struct hs_heaps *heaps, const struct hs_process_copy *process,
                        struct hs_error *err)
{
    memset(heaps, 0, sizeof *heaps);
    hs_heap_map_init(&heaps->map, process->image);
    hs_ledger_init(&heaps->ledger, process->findings->strings, process->image);
    hs_status status = heaps_open_each(heaps, process, err);
    if (status != HS_OK)
        hs_heaps_close(heaps);
    return status;
}

/* Unclaimed mappings have no allocator: each of their spans is a block. */
static void heaps_mark_mappings(struct hs_heap_map *map)
{
    for (size_t i = 0; i < map->n_spans; i++)
        if (map->spans[i].owner == HS_OWNER_MAPPING)
            hs_heap_map_set(map, map->spans[i].begin);
}

/* Tells the ledger how many blocks are alive; only allocators have a row for them. */
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

hs_status hs_heaps_mark(struct hs_heaps *heaps, const struct hs_process_copy *process,
                        struct hs_error *err)
{
    uint64_t n_refused = 0;

    HS_TRY(hs_heap_map_seal(&heaps->map, &n_refused, err));
    if (n_refused != 0)
        HS_TRY(hs_findings_note(process->findings, true, err,
                                "%llu pieces of heaps overlap others and are left out",
                                (unsigned long long)n_refused));
    heaps_mark_mappings(&heaps->map);
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        if (heaps->states[i] != NULL && hs_allocators[i]->mark != NULL)
            HS_TRY(hs_allocators[i]->mark(heaps->states[i], &heaps->map, &heaps->ledger, err));
    HS_TRY(hs_heap_map_index(&heaps->map, err));
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        if (heaps->states[i] != NULL && hs_allocators[i]->look != NULL)
            HS_TRY(hs_allocators[i]->look(heaps->states[i], &heaps->map, err));
    return heaps_count_blocks(heaps, err);
}

struct hs_interpreter hs_heaps_interpreter(const struct hs_heaps *heaps)
{
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        if (heaps->states[i] != NULL && hs_allocators[i]->objects != NULL)
            return (struct hs_interpreter){hs_allocators[i]->objects, heaps->states[i]};
    return (struct hs_interpreter){0};
}

bool hs_heaps_have_object_names(const struct hs_heaps *heaps)
{
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        if (heaps->states[i] != NULL && hs_allocators[i]->object_name != NULL)
            return true;
    return false;
}

bool hs_heaps_object_name(const struct hs_heaps *heaps, const struct hs_heap_block *block,
                          struct hs_object_name *ret)
{
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        if (heaps->states[i] != NULL && hs_allocators[i]->object_name != NULL &&
            hs_allocators[i]->object_name(heaps->states[i], block, ret))
            return true;
    return false;
}

struct hs_distances hs_heaps_distances(const struct hs_heaps *heaps,
                                       const struct hs_heap_block *block)
{
    struct hs_distances distances = {0};

    for (size_t i = 0; i < HS_N_ALLOCATORS && distances.n_words == 0; i++)
        if (heaps->states[i] != NULL && hs_allocators[i]->distances != NULL)
            distances = hs_allocators[i]->distances(heaps->states[i], block);
    return distances;
}

bool hs_heaps_have_owners(const struct hs_heaps *heaps)
{
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        if (heaps->states[i] != NULL && hs_allocators[i]->owner != NULL)
            return true;
    return false;
}

/* The allocator of a block; NULL: it has none that is in use. */
static const struct hs_allocator *heaps_allocator(const struct hs_heaps *heaps,
                                                  const struct hs_heap_block *block)
{
    unsigned owner = block->span->owner;
    return owner < HS_N_ALLOCATORS && heaps->states[owner] != NULL ? hs_allocators[owner] : NULL;
}

hs_addr hs_heaps_owner(const struct hs_heaps *heaps, const struct hs_heap_block *block)
{
    const struct hs_allocator *allocator = heaps_allocator(heaps, block);

    return allocator != NULL && allocator->owner != NULL
               ? allocator->owner(heaps->states[block->span->owner], block)
               : 0;
}

bool hs_heaps_owned(const struct hs_heaps *heaps, const struct hs_heap_block *owner,
                    uint64_t *cursor, hs_addr *ret_begin, hs_addr *ret_end)
{
    const struct hs_allocator *allocator = heaps_allocator(heaps, owner);

    return allocator != NULL && allocator->owned != NULL &&
           allocator->owned(heaps->states[owner->span->owner], owner, cursor, ret_begin, ret_end);
}

const struct hs_registered_root *hs_heaps_roots(const struct hs_heaps *heaps, size_t *ret_n)
{
    *ret_n = 0;
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        if (heaps->states[i] != NULL && hs_allocators[i]->roots != NULL)
            return hs_allocators[i]->roots(heaps->states[i], ret_n);
    return NULL;
}

hs_str hs_heaps_pool_name(const struct hs_heaps *heaps, const struct hs_heap_span *span)
{
    if (span->owner >= HS_N_ALLOCATORS || heaps->states[span->owner] == NULL ||
        hs_allocators[span->owner]->pool_name == NULL)
        return 0;
    return hs_allocators[span->owner]->pool_name(heaps->states[span->owner], span->tag);
}
