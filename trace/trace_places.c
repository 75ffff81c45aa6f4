#include "trace_places.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"

void hs_trace_places_fini(struct trace_places *places)
{
    hs_free(places->places);
    *places = (struct trace_places){0};
}

hs_status hs_trace_places_add(struct trace_places *places, uint64_t code, hs_str file,
                              struct hs_error *err)
{
    size_t at = HS_FIRST_FROM(places->places, places->n, code, code);
    if (at < places->n && places->places[at].code == code) {
        places->places[at].file = file;
        return HS_OK;
    }
    if (places->n == TRACE_MAX_PLACES)
        return HS_OK;
    HS_TRY(HS_GROW(&places->places, &places->capacity, places->n + 1, err));
    memmove(places->places + at + 1, places->places + at,
            (places->n - at) * sizeof *places->places);
    places->places[at] = (struct trace_place){.code = code, .file = file};
    places->n++;
    return HS_OK;
}

enum trace_neighbours hs_trace_places_judge(const struct trace_places *places, uint64_t code,
                                            hs_str file)
{
    size_t before = HS_FIRST_FROM(places->places, places->n, code, code);
    size_t after = before < places->n && places->places[before].code == code ? before + 1 : before;
    if (before == 0 || after == places->n)
        return TRACE_NEIGHBOURS_AGREE;
    hs_str low = places->places[before - 1].file, high = places->places[after].file;
    if (low == file || high == file)
        return TRACE_NEIGHBOURS_AGREE;
    return low == high ? TRACE_NEIGHBOURS_OPPOSE : TRACE_NEIGHBOURS_DOUBT;
}
