#include "carve.h"

#include <stdlib.h>
#include <string.h>

#include "process/constants.h"
#include "region_bits.h"

bool hs_carve_is_one_piece(const struct hs_process_copy *process, hs_addr begin, hs_addr end)
{
    const struct hs_image_range *range = hs_image_find(process->image, begin, NULL);

    if (range != NULL && begin < end && end <= range->end)
        return true;
    const struct hs_mapping *mapping =
        process->target == NULL ? NULL : hs_target_mapping_at(process->target, begin);
    return mapping != NULL && begin < end && end <= mapping->end;
}

bool hs_carve_constant_text(const struct hs_process_copy *process, hs_addr at, char *text, size_t n)
{
    const struct hs_mapping *mapping =
        process->target == NULL ? NULL : hs_target_mapping_at(process->target, at);

    return mapping != NULL && !mapping->writable &&
           hs_objects_object_at(process->objects, at) != NULL &&
           hs_constant_string(process->image, process->objects, at, text, n) && text[0] != '\0';
}

static int by_begin(const void *left, const void *right)
{
    const struct hs_extent *a = left, *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

bool hs_carve_are_disjoint(struct hs_extent *extents, size_t n)
{
    qsort(extents, n, sizeof *extents, by_begin);
    for (size_t i = 1; i < n; i++)
        if (extents[i - 1].end > extents[i].begin)
            return false;
    return true;
}

bool hs_carve_is_placed(const struct hs_heap_map *map, const struct hs_heap_span *expected)
{
    const struct hs_heap_span *span = hs_heap_map_span_at(map, expected->begin);

    return span != NULL && span->begin == expected->begin && span->end == expected->end &&
           span->owner == expected->owner && span->tag == expected->tag;
}

hs_status hs_carve_take_over(struct hs_heap_map *map, struct hs_ledger *ledger,
                             const struct hs_strtab *strings, unsigned owner, hs_addr begin,
                             hs_addr end, struct hs_error *err)
{
    const struct hs_heap_span *span = hs_heap_map_span_at(map, begin);
    const char *before = hs_strtab_get(strings, hs_ledger_owner_at(ledger, begin));
    const char *name = hs_allocators[owner]->name;
    uint64_t n_bytes;

    if (span != NULL && span->owner != owner)
        (void)hs_heap_map_take(map, begin, &n_bytes);
    if (before[0] == '\0' || strcmp(before, name) == 0)
        return HS_OK;
    return hs_ledger_hand_over(ledger, before, name, begin, end, err);
}

hs_status hs_carve_mark_one(struct hs_carve_marking *m, hs_addr begin, uint64_t n_bytes,
                            struct hs_error *err)
{
    const struct hs_heap_span *span = hs_heap_map_span_at(m->map, begin);
    bool is_ours = span != NULL && span->owner == m->owner;

    if (span == NULL || (is_ours && !hs_heap_map_set(m->map, begin)) ||
        (!is_ours && (span->begin < begin || span->end > begin + n_bytes))) {
        m->n_missing++;
        return HS_OK;
    }
    return hs_ledger_move(m->ledger, hs_allocators[m->owner]->name, HS_MEMORY_FREE, HS_MEMORY_LIVE,
                          begin, begin + n_bytes, 0, err);
}

hs_status hs_carve_mark(struct hs_carve_marking *m, const struct hs_heap_span *expected,
                        const uint64_t *live, struct hs_error *err)
{
    const unsigned n = (unsigned)((expected->end - expected->begin) / expected->unit_bytes);
    struct hs_region_move move = {hs_allocators[m->owner]->name, HS_MEMORY_FREE, HS_MEMORY_LIVE,
                                  expected->begin, expected->unit_bytes};

    if (hs_carve_is_placed(m->map, expected)) {
        hs_region_bits_set(&m->map->starts, hs_heap_map_span_at(m->map, expected->begin)->first_bit,
                           live, n);
        return hs_region_bits_move(m->ledger, &move, live, n, err);
    }
    for (unsigned i = 0; i < n; i++)
        if ((live[i / 64] >> (i % 64) & 1) != 0)
            HS_TRY(hs_carve_mark_one(m, expected->begin + i * expected->unit_bytes,
                                     expected->unit_bytes, err));
    return HS_OK;
}
