#include <assert.h>

#include "base/alloc.h"
#include "packed_table.h"

#define PIECE_NODES ((uint32_t)4096)
#define PIECE_TARGETS ((uint32_t)65536)

struct packed_sweep {
    const struct hs_packed_rows *rows;
    const struct hs_piece_sink *sink;
    uint64_t begin[PIECE_NODES + 1];
    hs_node target[PIECE_TARGETS];
    struct hs_piece piece; /* being filled */
    uint64_t n_target;
    uint64_t n_edges; /* in all */
};

static hs_status piece_emit(struct packed_sweep *sweep, struct hs_error *err)
{
    struct hs_piece *piece = &sweep->piece;
    hs_node next = piece->first + piece->n;

    if (piece->n == 0)
        return HS_OK;
    HS_TRY(sweep->sink->put(sweep->sink->context, piece, err));
    *piece = (struct hs_piece){.first = next, .begin = sweep->begin, .target = sweep->target};
    sweep->n_target = 0;
    return HS_OK;
}

/* Values of a row, at most n. */
static uint64_t row_take(struct hs_row *row, hs_node *values, uint64_t n)
{
    uint64_t i = 0;
    while (i < n && hs_row_next(row, &values[i]))
        i++;
    return i;
}

static hs_status row_add_in_parts(struct packed_sweep *sweep, struct hs_row *row,
                                  struct hs_error *err)
{
    HS_TRY(piece_emit(sweep, err));
    while (row->left != 0) {
        uint64_t n = row_take(row, sweep->target, PIECE_TARGETS);
        HS_TRY(hs_row_check(row, err));
        sweep->piece.of_row = row->n;
        sweep->piece.n = 1;
        sweep->begin[1] = n;
        HS_TRY(piece_emit(sweep, err));
        sweep->piece.first = row->node;
    }
    sweep->piece.first = row->node + 1;
    return HS_OK;
}

static hs_status row_add(struct packed_sweep *sweep, struct hs_row *row, struct hs_error *err)
{
    struct hs_piece *piece = &sweep->piece;

    if (row->n > sweep->rows->max_edges - sweep->n_edges)
        return hs_fail(err, HS_FORMAT, "the index is damaged: it has too many edges");
    sweep->n_edges += row->n;
    if (row->n > PIECE_TARGETS)
        return row_add_in_parts(sweep, row, err);
    if (row->n > PIECE_TARGETS - sweep->n_target || piece->n == PIECE_NODES)
        HS_TRY(piece_emit(sweep, err));
    sweep->n_target += row_take(row, sweep->target + sweep->n_target, row->n);
    sweep->begin[++piece->n] = sweep->n_target;
    return hs_row_check(row, err);
}

static hs_status page_add(struct packed_sweep *sweep, uint64_t page, struct hs_error *err)
{
    struct hs_packed *packed = sweep->rows->packed;
    hs_node first = page * HS_PACKED_PAGE;
    struct hs_cursor cursor;
    uint64_t before;

    HS_TRY(packed_page_of(packed, page, &cursor, &before, err));
    for (hs_node node = first; node < packed->n_nodes && node < first + HS_PACKED_PAGE; node++) {
        struct hs_row row;
        HS_TRY(packed_row_at(packed, node, before, &cursor, &row, err));
        HS_TRY(row_add(sweep, &row, err));
        if (row.is_long)
            hs_packed_skip_row(&cursor, 1);
        else
            cursor = row.cursor;
    }
    packed_release(packed, (uint64_t)(cursor.bytes - packed->bytes));
    return HS_OK;
}

static hs_status sweep_run(const void *context, const struct hs_piece_sink *sink,
                           struct hs_error *err)
{
    const struct hs_packed_rows *rows = context;
    uint64_t n_pages = packed_pages(rows->packed->n_nodes);
    hs_status status = HS_OK;
    void *memory;

    HS_TRY(hs_pages_alloc(1, sizeof(struct packed_sweep), &memory, err));
    struct packed_sweep *sweep = memory;
    sweep->rows = rows;
    sweep->sink = sink;
    sweep->piece = (struct hs_piece){.begin = sweep->begin, .target = sweep->target};
    for (uint64_t page = 0; page < n_pages && status == HS_OK; page++) {
        if (page % 1024 == 0)
            status = hs_progress_tell(rows->progress, rows->phase, page, n_pages, err);
        if (status == HS_OK)
            status = page_add(sweep, page, err);
    }
    if (status == HS_OK)
        status = piece_emit(sweep, err);
    hs_pages_free(memory, 1, sizeof *sweep);
    return status;
}

struct hs_sweep hs_sweep_of_packed(const struct hs_packed_rows *rows)
{
    return (struct hs_sweep){
        .run = sweep_run,
        .context = rows,
        .n_nodes = rows->packed->n_nodes,
        .n_tree = rows->n_tree,
        .max_edges = rows->max_edges,
    };
}
