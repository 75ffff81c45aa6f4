#include "unaligned.h"

enum { TOP_SHIFT = 40, MOST_TOP = 0xff };
#define EACH_BYTE UINT64_C(0x0101010101010101)

static void note_top(struct hs_unaligned *of, uint64_t top)
{
    for (size_t i = 0; i < of->n_tops; i++)
        if (of->tops[i] == top * EACH_BYTE)
            return;
    if (of->n_tops == HS_UNALIGNED_TOPS || top > MOST_TOP)
        of->is_any = true;
    else
        of->tops[of->n_tops++] = top * EACH_BYTE;
}

struct hs_unaligned hs_unaligned_of(const struct hs_heap_map *map, uint64_t mask)
{
    struct hs_unaligned of = {.is_any = (mask >> TOP_SHIFT & MOST_TOP) != 0};

    if (map->n_spans == 0)
        return of;
    of.low = map->spans[0].begin;
    of.high = map->spans[map->n_spans - 1].end;
    for (size_t i = 0; i < map->n_spans && !of.is_any; i++)
        for (uint64_t top = map->spans[i].begin >> TOP_SHIFT;
             top <= (map->spans[i].end - 1) >> TOP_SHIFT && !of.is_any; top++)
            note_top(&of, top);
    if (of.is_any)
        of.n_tops = 0;
    return of;
}
