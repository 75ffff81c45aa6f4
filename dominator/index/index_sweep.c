/* Finished sections, read while others are written. */
#include <assert.h>

#include "base/alloc.h"
#include "index_cells.h"
#include "index_write.h"

#define PIECE_NODES ((uint32_t)16384)

/* ---- nodes and their immediate dominators ---- */

struct idom_piece {
    uint64_t begin[PIECE_NODES + 1];
    hs_node target[PIECE_NODES];
};

static hs_status idom_piece_fill(struct index_sweep *sweep, hs_node first, struct idom_piece *piece,
                                 struct hs_piece *ret, struct hs_error *err)
{
    struct hs_packed *idoms = &sweep->reader.packed;
    uint64_t n_target = 0, left = idoms->n_nodes - first;
    uint32_t n = left < PIECE_NODES ? (uint32_t)left : PIECE_NODES;

    for (uint32_t i = 0; i < n; i++) {
        hs_node idom;
        HS_TRY(index_cells_idom(idoms, &sweep->sources.packed, first + i, &idom, err));
        if (idom != HS_NO_NODE)
            piece->target[n_target++] = idom;
        piece->begin[i + 1] = n_target;
    }
    hs_packed_release(idoms);
    hs_packed_release(&sweep->sources.packed);
    *ret =
        (struct hs_piece){.first = first, .n = n, .begin = piece->begin, .target = piece->target};
    return HS_OK;
}

static hs_status idoms_run(const void *context, const struct hs_piece_sink *sink,
                           struct hs_error *err)
{
    /* Reading moves places that are remembered, no content. */
    struct index_sweep *sweep = (struct index_sweep *)(uintptr_t)context;
    uint64_t n_nodes = sweep->reader.packed.n_nodes;
    hs_status status = HS_OK;
    struct hs_piece piece;
    void *memory;

    HS_TRY(hs_pages_alloc(1, sizeof(struct idom_piece), &memory, err));
    for (hs_node first = 0; first < n_nodes && status == HS_OK; first += piece.n) {
        status = hs_progress_tell(sweep->rows.progress, sweep->rows.phase, first, n_nodes, err);
        if (status == HS_OK)
            status = idom_piece_fill(sweep, first, memory, &piece, err);
        if (status == HS_OK)
            status = sink->put(sink->context, &piece, err);
    }
    hs_pages_free(memory, 1, sizeof(struct idom_piece));
    return status;
}

static hs_status sweep_idoms(struct index_writer *writer, struct index_sweep *sweep,
                             struct hs_error *err)
{
    HS_TRY(index_reader_open(writer, INDEX_IDOM, hs_packed_skip_number, &sweep->reader, err));
    hs_status status =
        index_reader_open(writer, INDEX_PREDECESSORS, hs_packed_skip_row, &sweep->sources, err);
    if (status != HS_OK) {
        index_sweep_close(sweep);
        return status;
    }
    sweep->sweep = (struct hs_sweep){
        .run = idoms_run,
        .context = sweep,
        .n_nodes = writer->header.n_nodes,
        .n_tree = writer->header.n_tree,
        .max_edges = writer->header.n_nodes,
    };
    return HS_OK;
}

hs_status index_sweep_open(struct index_writer *writer, enum index_section section,
                           const struct hs_progress *progress, const char *phase,
                           struct index_sweep *ret, struct hs_error *err)
{
    *ret = (struct index_sweep){
        .rows =
            {
                .packed = &ret->reader.packed,
                .n_tree = writer->header.n_tree,
                .max_edges = writer->header.n_predecessors,
                .progress = progress,
                .phase = phase,
            },
    };
    if (section == INDEX_IDOM)
        return sweep_idoms(writer, ret, err);
    assert(section == INDEX_PREDECESSORS);
    HS_TRY(index_reader_open(writer, section, hs_packed_skip_row, &ret->reader, err));
    ret->sweep = hs_sweep_of_packed(&ret->rows);
    return HS_OK;
}

void index_sweep_close(struct index_sweep *sweep)
{
    index_reader_close(&sweep->reader);
    index_reader_close(&sweep->sources);
}
