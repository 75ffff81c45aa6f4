#include "attach_places.h"

#include <assert.h>

#include "pass_steps.h"

hs_status attach_places_find(const struct hs_passes *passes, struct attach_places *ret,
                             struct hs_error *err)
{
    struct attach_places places = {.budget = passes->budget};

    HS_TRY(pass_bitmap_init(passes->budget, passes->n_positions, "the places of core nodes",
                            &places.is_place, err));
    for (uint32_t i = 1; i < passes->n_sequence; i++) {
        uint64_t at = hs_ids_get(&passes->attach, passes->sequence[i]);
        assert(at < passes->n_positions);
        hs_bitmap_set(&places.is_place, at);
    }
    hs_status status = hs_bitmap_index(&places.is_place, &places.n, err);
    if (status == HS_OK)
        *ret = places;
    else
        attach_places_fini(&places);
    return status;
}

void attach_places_fini(struct attach_places *places)
{
    pass_bitmap_fini(places->budget, &places->is_place);
    *places = (struct attach_places){0};
}
