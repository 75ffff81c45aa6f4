/* links: hs_graph */
#include "piece_sweep.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

#define ISOLATED (1U << 20)

struct piece_writer {
    const struct hs_piece_source *source;
    const struct hs_piece_sink *sink;
    uint32_t first, n; /* of the graph's nodes */
    uint64_t n_targets;
    uint64_t *begin;
    hs_node *target;
};

static void *piece_alloc(size_t n, size_t size)
{
    void *memory = calloc(n, size); /* not counted as an allocation of what is tested */
    if (memory == NULL) {
        (void)fprintf(stderr, "piece sweep: out of memory\n");
        abort();
    }
    return memory;
}

static hs_status piece_emit(const struct piece_writer *writer, const struct hs_piece *piece,
                            struct hs_error *err)
{
    uint32_t *fail_after = writer->source->fail_after;
    if (fail_after != NULL && (*fail_after)-- == 0)
        return hs_fail(err, HS_FORMAT, "a sweep that fails");
    return writer->sink->put(writer->sink->context, piece, err);
}

static hs_status piece_flush(struct piece_writer *writer, struct hs_error *err)
{
    if (writer->n == 0)
        return HS_OK;
    const struct hs_piece piece = {
        .first = hs_piece_node(writer->source, writer->first),
        .n = writer->n,
        .begin = writer->begin,
        .target = writer->target,
    };
    HS_TRY(piece_emit(writer, &piece, err));
    writer->first += writer->n;
    writer->n = 0;
    writer->n_targets = 0;
    return HS_OK;
}

static hs_status piece_gap(struct piece_writer *writer, struct hs_error *err)
{
    hs_status status = HS_OK;
    uint64_t *begin = piece_alloc(ISOLATED + 1, sizeof *begin);
    uint64_t left = writer->source->gap;
    for (hs_node first = writer->source->gap_at; left != 0 && status == HS_OK;) {
        uint32_t n = left < ISOLATED ? (uint32_t)left : ISOLATED;
        status =
            piece_emit(writer, &(struct hs_piece){.first = first, .n = n, .begin = begin}, err);
        first += n;
        left -= n;
    }
    free(begin);
    return status;
}

/* The distinct targets of a row, no self loops. */
static uint64_t piece_row(const struct hs_piece_source *source, uint32_t node, hs_node *targets)
{
    uint32_t degree;
    uint64_t n = 0;
    const uint32_t *row = hs_graph_row(source->graph, node, &degree);
    for (uint32_t i = 0; i < degree; i++)
        if (row[i] != node && (i == 0 || row[i] != row[i - 1]))
            targets[n++] = hs_piece_node(source, row[i]);
    return n;
}

static hs_status piece_long_row(struct piece_writer *writer, const hs_node *targets, uint64_t n,
                                struct hs_error *err)
{
    HS_TRY(piece_flush(writer, err));
    for (uint64_t at = 0; at < n;) {
        uint64_t n_part = n - at;
        if (n_part > writer->source->piece_edges)
            n_part = writer->source->piece_edges;
        uint64_t begin[2] = {0, n_part};
        struct hs_piece piece = {
            .first = hs_piece_node(writer->source, writer->first),
            .n = 1,
            .of_row = n,
            .begin = begin,
            .target = targets + at,
        };
        HS_TRY(piece_emit(writer, &piece, err));
        at += n_part;
    }
    writer->first++;
    return HS_OK;
}

static hs_status piece_run_rows(struct piece_writer *writer, hs_node *row, struct hs_error *err)
{
    const struct hs_piece_source *source = writer->source;

    for (uint32_t node = 0; node < source->graph->n_nodes; node++) {
        if (source->gap != 0 && node == source->gap_at) {
            HS_TRY(piece_flush(writer, err));
            HS_TRY(piece_gap(writer, err));
        }
        uint64_t n = piece_row(source, node, row);
        if (n > source->piece_edges) {
            HS_TRY(piece_long_row(writer, row, n, err));
            continue;
        }
        if (writer->n == source->piece_nodes || writer->n_targets + n > source->piece_edges)
            HS_TRY(piece_flush(writer, err));
        for (uint64_t i = 0; i < n; i++)
            writer->target[writer->n_targets++] = row[i];
        writer->begin[++writer->n] = writer->n_targets;
    }
    return piece_flush(writer, err);
}

static hs_status piece_run(const void *context, const struct hs_piece_sink *sink,
                           struct hs_error *err)
{
    const struct hs_piece_source *source = context;
    struct piece_writer writer = {
        .source = source,
        .sink = sink,
        .begin = piece_alloc((size_t)source->piece_nodes + 1, sizeof(uint64_t)),
        .target = piece_alloc((size_t)source->piece_edges + 1, sizeof(hs_node)),
    };
    hs_node *row = piece_alloc(source->graph->n_edges + 1, sizeof *row);
    hs_status status = piece_run_rows(&writer, row, err);
    free(row);
    free(writer.begin);
    free(writer.target);
    return status;
}

struct hs_sweep hs_piece_sweep(const struct hs_piece_source *source)
{
    return (struct hs_sweep){
        .run = piece_run,
        .context = source,
        .n_nodes = source->graph->n_nodes + source->gap,
        .n_tree = source->graph->n_tree,
        .max_edges = source->graph->n_edges,
    };
}
