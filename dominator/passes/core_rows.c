#include "core_rows.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/buffer.h"

hs_status core_rows_open(const struct hs_budget *budget, const char *what, struct core_rows *ret,
                         struct hs_error *err)
{
    struct core_rows rows = {0};
    HS_TRY(hs_spill_open(budget, what, &rows.spill, err));
    *ret = rows;
    return HS_OK;
}

void core_rows_close(struct core_rows *rows)
{
    hs_spill_close(&rows->spill);
    *rows = (struct core_rows){0};
}

hs_status core_rows_put(struct core_rows *rows, const struct core_row *row, struct hs_error *err)
{
    uint32_t before = row->node;

    assert(row->node >= rows->last && row->n <= CORE_ROW_MAX);
    HS_TRY(hs_spill_put_varint(&rows->spill, row->node - rows->last, err));
    HS_TRY(hs_spill_put_varint(&rows->spill, row->n, err));
    for (uint32_t i = 0; i < row->n; i++) {
        int64_t step = (int64_t)row->source[i] - before;
        HS_TRY(hs_spill_put_varint(&rows->spill, hs_zigzag_encode(step), err));
        before = row->source[i];
    }
    rows->last = row->node;
    rows->n_edges += row->n;
    return HS_OK;
}

uint64_t core_rows_restart(struct core_rows *rows)
{
    rows->last = 0;
    return rows->spill.n_bytes;
}

hs_status core_rows_read(const struct core_rows *rows, uint64_t begin, uint64_t end,
                         struct core_row_reader *ret, struct hs_error *err)
{
    struct core_row_reader reader = {0};
    HS_TRY(hs_spill_read(&rows->spill, begin, end, &reader.reader, err));
    *ret = reader;
    return HS_OK;
}

hs_status core_rows_read_all(const struct core_rows *rows, struct core_row_reader *ret,
                             struct hs_error *err)
{
    return core_rows_read(rows, 0, rows->spill.n_bytes, ret, err);
}

void core_rows_reader_close(struct core_row_reader *reader)
{
    hs_spill_reader_close(&reader->reader);
    reader->last = 0;
}

hs_status core_rows_get(struct core_row_reader *reader, struct core_row *ret, bool *ret_more,
                        struct hs_error *err)
{
    uint64_t step, n;

    *ret_more = !hs_spill_at_end(&reader->reader);
    if (!*ret_more)
        return HS_OK;
    HS_TRY(hs_spill_get_varint(&reader->reader, &step, err));
    HS_TRY(hs_spill_get_varint(&reader->reader, &n, err));
    assert(step <= UINT32_MAX - reader->last && n <= CORE_ROW_MAX);
    ret->node = reader->last += (uint32_t)step;
    ret->n = (uint32_t)n;
    uint32_t source = ret->node;
    for (uint32_t i = 0; i < ret->n; i++) {
        HS_TRY(hs_spill_get_varint(&reader->reader, &step, err));
        source += (uint32_t)hs_zigzag_decode(step);
        ret->source[i] = source;
    }
    return HS_OK;
}

static hs_status sweep_read(struct core_row_reader *reader, struct core_row *row,
                            const struct hs_bitmap *is_resolved, const struct core_row_sink *sink,
                            struct hs_error *err)
{
    bool more;

    for (;;) {
        HS_TRY(core_rows_get(reader, row, &more, err));
        if (!more)
            return HS_OK;
        if (!hs_bitmap_get(is_resolved, row->node))
            HS_TRY(sink->put(sink->context, row, err));
    }
}

hs_status core_rows_sweep(const struct core_rows *rows, const struct hs_bitmap *is_resolved,
                          const struct core_row_sink *sink, struct hs_error *err)
{
    struct core_row_reader reader = {0};
    hs_auto_free void *row = NULL;

    HS_TRY(hs_alloc(1, sizeof(struct core_row), &row, err));
    HS_TRY(core_rows_read_all(rows, &reader, err));
    hs_status status = sweep_read(&reader, row, is_resolved, sink, err);
    core_rows_reader_close(&reader);
    return status;
}
