/* The places of nodes, from the order of the forest: random writes, fetched ahead. */
#include "forest_search.h"

#define BATCH 8192 /* of the order, read at once */
#define TELL_BATCHES 64
#define AHEAD 32

static inline uint64_t place_node(const uint8_t *order, size_t at, unsigned width)
{
    uint64_t node = 0;
    memcpy(&node, order + at * width, width);
    return node;
}

/* Fills the places of the nodes at the positions [first, first + n). */
static void places_fill(struct hs_ids *places, const uint8_t *order, uint64_t first, size_t n)
{
    unsigned width = hs_ids_width(places->n);

    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            hs_ids_prefetch(places, place_node(order, i + AHEAD, width));
        hs_ids_set(places, place_node(order, i, width), first + i + 1);
    }
}

static hs_status places_scatter(const struct hs_passes *passes, const struct hs_progress *progress,
                                struct hs_spill_reader *reader, struct hs_ids *places,
                                struct hs_error *err)
{
    uint64_t n = passes->n_positions;
    unsigned width = hs_ids_width(passes->n_nodes);

    for (uint64_t first = 0, n_batches = 0; first < n; n_batches++) {
        const uint8_t *order;
        size_t n_batch = n - first < BATCH ? (size_t)(n - first) : BATCH;
        if (n_batches % TELL_BATCHES == 0)
            HS_TRY(hs_progress_tell(progress, "placing the forest", first, n, err));
        HS_TRY(hs_spill_get_bytes(reader, n_batch * width, &order, err));
        places_fill(places, order, first, n_batch);
        first += n_batch;
    }
    return HS_OK;
}

hs_status forest_places_read(const struct hs_passes *passes, const struct hs_progress *progress,
                             struct hs_ids *ret, struct hs_error *err)
{
    struct hs_ids places;
    struct hs_spill_reader reader = {0};

    HS_TRY(hs_ids_init(passes->n_nodes, passes->n_nodes + 1, passes->budget,
                       "the places of all blocks", &places, err));
    hs_status status = hs_spill_read(&passes->order, 0, passes->order.n_bytes, &reader, err);
    if (status == HS_OK)
        status = places_scatter(passes, progress, &reader, &places, err);
    hs_spill_reader_close(&reader);
    if (status == HS_OK)
        *ret = places;
    else
        hs_ids_fini(&places);
    return status;
}
