/* The node and the depth of each position, from first to last or from last to first. */
#ifndef HS_POSITION_READER_H
#define HS_POSITION_READER_H

#include "passes/passes.h"

struct position_reader {
    struct hs_spill_reader order, depths;
    unsigned width;
};

/* Opens a reader of all positions. Zero it first. */
static inline hs_status position_reader_open(const struct hs_passes *passes,
                                             struct position_reader *ret, struct hs_error *err)
{
    ret->width = hs_ids_width(passes->n_nodes);
    HS_TRY(hs_spill_read(&passes->order, 0, passes->order.n_bytes, &ret->order, err));
    return hs_spill_read(&passes->depths, 0, passes->depths.n_bytes, &ret->depths, err);
}

static inline void position_reader_close(struct position_reader *reader)
{
    hs_spill_reader_close(&reader->order);
    hs_spill_reader_close(&reader->depths);
}

/* Reads the next position; to be called exactly n_positions times. */
static inline hs_status position_next(struct position_reader *reader, hs_node *ret_node,
                                      uint64_t *ret_depth, struct hs_error *err)
{
    HS_TRY(hs_spill_get_fixed(&reader->order, reader->width, ret_node, err));
    return hs_spill_get_fixed(&reader->depths, 4, ret_depth, err);
}

/* The same from the end; not mixed with position_next. */
static inline hs_status position_previous(struct position_reader *reader, hs_node *ret_node,
                                          uint64_t *ret_depth, struct hs_error *err)
{
    HS_TRY(hs_spill_get_fixed_back(&reader->order, reader->width, ret_node, err));
    return hs_spill_get_fixed_back(&reader->depths, 4, ret_depth, err);
}

#endif
