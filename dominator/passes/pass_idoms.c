/* Immediate dominators from positions to nodes. One sweep finds which nodes core nodes are attached
 * to, another one follows the way down in every region and scatters parents over the nodes. */
#include <assert.h>

#include "attach_places.h"
#include "pass_scatter.h"
#include "pass_stack.h"
#include "position_reader.h"

struct way_row {
    uint64_t position;
    hs_node node;
};

struct idoms {
    const struct hs_passes *passes;
    struct attach_places places;
    struct hs_ids node_of_place;
    struct pass_stack way; /* from the head of the region down */
    struct pass_scatter scatter;
    const struct hs_idom_sink *sink;
};

static void idoms_fini(struct idoms *idoms)
{
    attach_places_fini(&idoms->places);
    hs_ids_fini(&idoms->node_of_place);
    pass_stack_fini(&idoms->way);
    pass_scatter_fini(&idoms->scatter);
}

/* The nodes of positions, out of the order of the forest. */
static hs_status way_read(struct hs_spill_reader *order, unsigned width, struct way_row *rows,
                          uint64_t n, struct hs_error *err)
{
    uint64_t at = rows[0].position;

    for (uint64_t i = 0; i < n; i++) {
        do
            HS_TRY(hs_spill_get_fixed(order, width, &rows[i].node, err));
        while (at++ != rows[i].position);
    }
    return HS_OK;
}

static hs_status way_fill(void *context, uint64_t *words, uint64_t n, struct hs_error *err)
{
    const struct idoms *idoms = context;
    struct way_row *rows = (struct way_row *)words;
    unsigned width = hs_ids_width(idoms->passes->n_nodes);
    struct hs_spill_reader order = {0};

    HS_TRY(hs_spill_read(&idoms->passes->order, rows[0].position * width,
                         (rows[n - 1].position + 1) * width, &order, err));
    hs_status status = way_read(&order, width, rows, n, err);
    hs_spill_reader_close(&order);
    return status;
}

static hs_status idoms_init(struct idoms *idoms, struct hs_error *err)
{
    const struct hs_passes *passes = idoms->passes;
    uint64_t max_rows = passes->max_depth + 1;

    HS_TRY(attach_places_find(passes, &idoms->places, err));
    HS_TRY(hs_ids_init(idoms->places.n, passes->n_nodes, passes->budget, "the places of core nodes",
                       &idoms->node_of_place, err));
    HS_TRY(pass_stack_init(passes->budget, "the way down in a region", max_rows,
                           sizeof(struct way_row), &idoms->way, err));
    idoms->way.rest = (struct pass_stack_rest){way_fill, idoms};
    struct pass_scatter_shape shape = {
        .n_keys = passes->n_nodes,
        .n_columns = 1,
        .max = {passes->n_nodes}, /* the number after each node; 0: none */
        .reserve_bytes = pass_scatter_leave(pass_stack_max_bytes(max_rows, sizeof(struct way_row)),
                                            attach_places_bytes(&idoms->places) +
                                                hs_ids_width(passes->n_nodes) * idoms->places.n,
                                            idoms->sink->first_bytes),
    };
    return pass_scatter_init(&shape, passes->budget, "the immediate dominators", &idoms->scatter,
                             err);
}

/* ---- where core nodes are attached ---- */

static hs_status places_read(struct idoms *idoms, struct hs_spill_reader *order,
                             struct hs_error *err)
{
    unsigned width = hs_ids_width(idoms->passes->n_nodes);
    const struct hs_bitmap *is_place = &idoms->places.is_place;
    uint64_t place = 0;

    for (uint64_t at = 0; at < idoms->passes->n_positions && place < idoms->places.n; at++) {
        hs_node node;
        HS_TRY(hs_spill_get_fixed(order, width, &node, err));
        if (hs_bitmap_get(is_place, at))
            hs_ids_set(&idoms->node_of_place, place++, node);
    }
    assert(place == idoms->places.n);
    return HS_OK;
}

static hs_status places_find(struct idoms *idoms, struct hs_error *err)
{
    const struct hs_spill *order = &idoms->passes->order;
    struct hs_spill_reader reader = {0};

    HS_TRY(hs_spill_read(order, 0, order->n_bytes, &reader, err));
    hs_status status = places_read(idoms, &reader, err);
    hs_spill_reader_close(&reader);
    return status;
}

/* ---- all positions ---- */

/* The immediate dominator of the first of a region that is reached. */
static hs_node idoms_of_core(const struct idoms *idoms, uint32_t core)
{
    if (core == 0)
        return HS_NO_NODE;
    return hs_ids_get(&idoms->node_of_place, attach_place_of(&idoms->places, idoms->passes, core));
}

static hs_status idoms_read(struct idoms *idoms, struct position_reader *positions,
                            struct hs_error *err)
{
    const struct hs_passes *passes = idoms->passes;
    uint32_t core = UINT32_MAX; /* before the first */
    bool is_reached = false;

    for (uint64_t at = 0; at < passes->n_positions; at++) {
        hs_node node, idom = HS_NO_NODE;
        uint64_t depth;
        HS_TRY(position_next(positions, &node, &depth, err));
        if (depth == 0)
            is_reached = hs_bitmap_get(&passes->is_reached, ++core);
        if (!is_reached)
            continue;
        HS_TRY(pass_stack_cut(&idoms->way, depth, err));
        if (depth == 0)
            idom = idoms_of_core(idoms, core);
        else
            idom = ((const struct way_row *)pass_stack_top(&idoms->way))->node;
        HS_TRY(pass_stack_push(&idoms->way, &(struct way_row){at, node}, err));
        uint64_t value = idom + 1; /* HS_NO_NODE becomes 0 */
        HS_TRY(pass_scatter_put(&idoms->scatter, node, &value, err));
    }
    return HS_OK;
}

static hs_status idoms_put(void *context, uint64_t key, const uint64_t *values,
                           struct hs_error *err)
{
    const struct idoms *idoms = context;
    return idoms->sink->put(idoms->sink->context, key, values[0] - 1, err);
}

static hs_status idoms_run(struct idoms *idoms, struct hs_error *err)
{
    const struct pass_scatter_sink sink = {idoms_put, idoms};
    struct position_reader positions = {0};

    HS_TRY(idoms_init(idoms, err));
    HS_TRY(places_find(idoms, err));
    hs_status status = position_reader_open(idoms->passes, &positions, err);
    if (status == HS_OK)
        status = idoms_read(idoms, &positions, err);
    position_reader_close(&positions);
    attach_places_fini(&idoms->places);
    hs_ids_fini(&idoms->node_of_place);
    pass_stack_fini(&idoms->way);
    return status == HS_OK ? pass_scatter_emit(&idoms->scatter, &sink, err) : status;
}

hs_status hs_passes_idoms(const struct hs_passes *passes, const struct hs_idom_sink *sink,
                          struct hs_error *err)
{
    struct idoms idoms = {.passes = passes, .sink = sink};

    hs_status status = idoms_run(&idoms, err);
    idoms_fini(&idoms);
    return status;
}
