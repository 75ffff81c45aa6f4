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
        heaps->has_distances |= heaps->states[i] != NULL && hs_allocators[i]->distances != NULL;
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

/* ---- who owns what */

static const struct hs_ownership *heaps_ownership(const struct hs_heaps *heaps, size_t allocator)
{
    return heaps->states[allocator] == NULL ? NULL : hs_allocators[allocator]->ownership;
}

bool hs_heaps_have_owners(const struct hs_heaps *heaps)
{
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        if (heaps_ownership(heaps, i) != NULL)
            return true;
    return false;
}

/* Returns who owns the block, and which allocator says so; 0: none knows. */
static hs_addr heaps_owner(const struct hs_heaps *heaps, const struct hs_heap_block *block,
                           size_t *ret_allocator)
{
    hs_addr owner = 0;

    for (size_t i = 0; i < HS_N_ALLOCATORS && owner == 0; i++) {
        const struct hs_ownership *known = heaps_ownership(heaps, i);
        *ret_allocator = i;
        if (known != NULL)
            owner = known->owner(heaps->states[i], block);
    }
    return owner;
}

hs_addr hs_heaps_owner(const struct hs_heaps *heaps, const struct hs_heap_block *block)
{
    size_t allocator;
    return heaps_owner(heaps, block, &allocator);
}

bool hs_heaps_owned(const struct hs_heaps *heaps, const struct hs_heap_block *owner,
                    uint64_t *cursor, hs_addr *ret_begin, hs_addr *ret_end)
{
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++) {
        const struct hs_ownership *known = heaps_ownership(heaps, i);
        if (known != NULL && known->owned(heaps->states[i], owner, cursor, ret_begin, ret_end))
            return true;
    }
    return false;
}

bool hs_heaps_end_together(const struct hs_heaps *heaps, const struct hs_heap_block *a,
                           const struct hs_heap_block *b)
{
    size_t allocator;

    return heaps_owner(heaps, a, &allocator) != 0 &&
           hs_allocators[allocator]->ownership->end_together != NULL &&
           hs_allocators[allocator]->ownership->end_together(a, b);
}

uint64_t hs_heaps_links(const struct hs_heaps *heaps, const struct hs_heap_block *block)
{
    uint64_t links = 0;

    for (size_t i = 0; i < HS_N_ALLOCATORS; i++) {
        const struct hs_ownership *known = heaps_ownership(heaps, i);
        if (known != NULL && known->links != NULL)
            links |= known->links(heaps->states[i], block);
    }
    return links;
}

uint64_t hs_heaps_finds(const struct hs_heaps *heaps, const struct hs_heap_block *block)
{
    uint64_t finds = 0;

    for (size_t i = 0; i < HS_N_ALLOCATORS; i++) {
        const struct hs_ownership *known = heaps_ownership(heaps, i);
        if (known != NULL && known->finds != NULL)
            finds |= known->finds(heaps->states[i], block);
    }
    return finds;
}

uint64_t hs_heaps_cleared(const struct hs_heaps *heaps, const struct hs_heap_block *block)
{
    uint64_t cleared = 0;

    for (size_t i = 0; i < HS_N_ALLOCATORS; i++) {
        const struct hs_ownership *known = heaps_ownership(heaps, i);
        if (known != NULL && known->cleared != NULL)
            cleared |= known->cleared(heaps->states[i], block);
    }
    return cleared;
}

bool hs_heaps_is_cleared_at(const struct hs_heaps *heaps, hs_addr at)
{
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++) {
        const struct hs_ownership *known = heaps_ownership(heaps, i);
        if (known != NULL && known->is_cleared_at != NULL &&
            known->is_cleared_at(heaps->states[i], at))
            return true;
    }
    return false;
}

bool hs_heaps_shares(const struct hs_heaps *heaps, const struct hs_heap_block *from,
                     const struct hs_heap_block *to)
{
    size_t allocator;

    return heaps_owner(heaps, to, &allocator) != 0 &&
           hs_allocators[allocator]->ownership->shares != NULL &&
           hs_allocators[allocator]->ownership->shares(heaps->states[allocator], from, to);
}

/* ---- what the program told */

const struct hs_registered_root *hs_heaps_roots(const struct hs_heaps *heaps, size_t *ret_n)
{
    *ret_n = 0;
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        if (heaps->states[i] != NULL && hs_allocators[i]->roots != NULL)
            return hs_allocators[i]->roots(heaps->states[i], ret_n);
    return NULL;
}

struct hs_known_variable hs_heaps_known_variable(const struct hs_heaps *heaps, hs_addr begin,
                                                 hs_addr end)
{
    struct hs_known_variable first = {0};

    for (size_t i = 0; i < HS_N_ALLOCATORS; i++) {
        if (heaps->states[i] == NULL || hs_allocators[i]->variable == NULL)
            continue;
        struct hs_known_variable known = hs_allocators[i]->variable(heaps->states[i]);
        if (known.name != NULL && known.address >= begin && known.address < end &&
            (first.name == NULL || known.address < first.address))
            first = known;
    }
    return first;
}

hs_str hs_heaps_pool_name(const struct hs_heaps *heaps, const struct hs_heap_span *span)
{
    if (span->owner >= HS_N_ALLOCATORS || heaps->states[span->owner] == NULL ||
        hs_allocators[span->owner]->pool_name == NULL)
        return 0;
    return hs_allocators[span->owner]->pool_name(heaps->states[span->owner], span->tag);
}
