/* The edges by which a block of a chunk keeps others alive: its strong edges, and those of active
 * ephemerons. Blocks are asked for in their order.
 *
 *     struct hs_out_edges edges = {.chunk = &chunk};
 *     for (uint32_t i = 0; i < chunk.n_blocks; i++) {
 *         hs_out_edges_of(&edges, i);
 *         for (struct hs_out_edge e; hs_out_edges_next(&edges, &e);) ...
 *     } */
#ifndef HS_EXPORT_OUT_EDGES_H
#define HS_EXPORT_OUT_EDGES_H

#include "snapshot/reader.h"

struct hs_out_edge {
    hs_node target;
    uint64_t offset_words; /* of an ephemeron's: 0 */
};

struct hs_out_edges {
    const struct hs_chunk *chunk; /* borrowed; with HS_COL_FIELDS and HS_COL_EXTRA */
    uint32_t block;
    uint64_t at, extra; /* the next of either kind */
    uint64_t first_extra;
};

static inline void hs_out_edges_of(struct hs_out_edges *edges, uint32_t block)
{
    const struct hs_chunk *chunk = edges->chunk;
    hs_node node = chunk->first + block;
    edges->block = block;
    edges->at = chunk->edge_begin[block];
    while (edges->extra < chunk->n_extra && chunk->extra[edges->extra].source < node)
        edges->extra++;
    edges->first_extra = edges->extra;
}

/* Begins the edges of the same block once more. */
static inline void hs_out_edges_again(struct hs_out_edges *edges)
{
    edges->at = edges->chunk->edge_begin[edges->block];
    edges->extra = edges->first_extra;
}

static inline bool hs_out_edges_next(struct hs_out_edges *edges, struct hs_out_edge *ret)
{
    const struct hs_chunk *chunk = edges->chunk;
    if (edges->at < chunk->edge_begin[edges->block + 1]) {
        *ret = (struct hs_out_edge){chunk->target[edges->at], chunk->offset_words[edges->at]};
        edges->at++;
        return true;
    }
    hs_node node = chunk->first + edges->block;
    for (; edges->extra < chunk->n_extra && chunk->extra[edges->extra].source == node;
         edges->extra++) {
        const struct hs_extra_edge *extra = &chunk->extra[edges->extra];
        if (extra->edge_class != HS_EDGE_EPHEMERON)
            continue;
        *ret = (struct hs_out_edge){extra->target, 0};
        edges->extra++;
        return true;
    }
    return false;
}

#endif
