/* Rows of a query that are kept until it has ended.
 *
 *   row:    cells: u8 kind, then zigzag | 8 bytes | varint n, n bytes
 *   spill:  u64 bytes of a block | rows | u64 ... */
#include "query/result.h"

#include "base/alloc.h"

void hs_sql_result_fini(struct hs_sql_result *result)
{
    for (size_t i = 0; i < result->n_columns; i++)
        hs_free(result->columns[i].name);
    hs_free(result->columns);
    hs_buffer_fini(&result->kept);
    if (result->is_spilled)
        hs_spill_close(&result->spill);
    *result = (struct hs_sql_result){0};
}

static hs_status spill(struct hs_sql_result *result, struct hs_error *err)
{
    if (!result->is_spilled)
        HS_TRY(hs_spill_open(result->budget, "the rows of the query", &result->spill, err));
    result->is_spilled = true;
    HS_TRY(hs_spill_put_fixed(&result->spill, result->kept.n_bytes, 8, err));
    HS_TRY(hs_spill_write(&result->spill, result->kept.bytes, result->kept.n_bytes, err));
    result->kept.n_bytes = 0;
    return HS_OK;
}

static void put_cell(struct hs_buffer *buffer, const struct hs_sql_cell *cell)
{
    uint64_t bits;
    hs_buffer_put_u8(buffer, (uint8_t)cell->kind);
    switch (cell->kind) {
    case HS_SQL_NULL:
        return;
    case HS_SQL_INTEGER:
        hs_buffer_put_zigzag(buffer, cell->integer);
        return;
    case HS_SQL_REAL:
        memcpy(&bits, &cell->real, sizeof bits);
        hs_buffer_put_u64(buffer, bits);
        return;
    default:
        hs_buffer_put_varint(buffer, cell->n_bytes);
        hs_buffer_put_bytes(buffer, cell->text, cell->n_bytes);
    }
}

hs_status hs_sql_result_add(struct hs_sql_result *result, const struct hs_sql_cell *cells,
                            struct hs_error *err)
{
    size_t room = 0;
    for (size_t i = 0; i < result->n_columns; i++)
        room += 1 + HS_VARINT_MAX_BYTES + cells[i].n_bytes;
    if (result->kept.n_bytes != 0 && result->kept.n_bytes + room > HS_SQL_KEPT_BYTES)
        HS_TRY(spill(result, err));
    HS_TRY(hs_buffer_reserve(&result->kept, room, err));
    for (size_t i = 0; i < result->n_columns; i++)
        put_cell(&result->kept, &cells[i]);
    result->n_rows++;
    return HS_OK;
}

/* ---- reading: the bytes are our own, so only sizes need care */

static const uint8_t *get_varint(const uint8_t *at, uint64_t *ret)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            break;
    }
    *ret = value;
    return at;
}

static const uint8_t *get_cell(const uint8_t *at, struct hs_sql_cell *cell)
{
    uint64_t number;
    *cell = (struct hs_sql_cell){.kind = (enum hs_sql_kind) * at++};
    switch (cell->kind) {
    case HS_SQL_NULL:
        return at;
    case HS_SQL_INTEGER:
        at = get_varint(at, &number);
        cell->integer = hs_zigzag_decode(number);
        return at;
    case HS_SQL_REAL:
        memcpy(&cell->real, at, sizeof cell->real);
        return at + sizeof cell->real;
    default:
        at = get_varint(at, &number);
        cell->text = (const char *)at;
        cell->n_bytes = number;
        return at + number;
    }
}

static hs_status each_of(const struct hs_sql_result *result, const uint8_t *bytes, size_t n_bytes,
                         const struct hs_sql_row_sink *sink, struct hs_sql_cell *cells,
                         struct hs_error *err)
{
    for (const uint8_t *at = bytes; at < bytes + n_bytes;) {
        for (size_t i = 0; i < result->n_columns; i++)
            at = get_cell(at, &cells[i]);
        HS_TRY(sink->put(sink->context, cells, err));
    }
    return HS_OK;
}

static hs_status each_spilled(struct hs_sql_result *result, const struct hs_sql_row_sink *sink,
                              struct hs_sql_cell *cells, struct hs_error *err)
{
    struct hs_buffer block = {0};
    hs_status status = HS_OK;
    for (uint64_t at = 0; at < result->spill.n_bytes && status == HS_OK;) {
        uint64_t n = 0;
        status = hs_spill_read_at(&result->spill, at, &n, sizeof n, err);
        if (status == HS_OK && n > block.capacity)
            status = hs_buffer_reserve(&block, n, err);
        if (status == HS_OK)
            status = hs_spill_read_at(&result->spill, at + sizeof n, block.bytes, n, err);
        if (status == HS_OK)
            status = each_of(result, block.bytes, n, sink, cells, err);
        at += sizeof n + n;
    }
    hs_buffer_fini(&block);
    return status;
}

hs_status hs_sql_result_each(struct hs_sql_result *result, const struct hs_sql_row_sink *sink,
                             struct hs_error *err)
{
    hs_auto_free struct hs_sql_cell *cells = NULL;
    HS_TRY(HS_ALLOC(&cells, result->n_columns, err));
    if (!result->is_spilled)
        return each_of(result, result->kept.bytes, result->kept.n_bytes, sink, cells, err);
    if (result->kept.n_bytes != 0)
        HS_TRY(spill(result, err));
    if (result->spill.buffer != NULL)
        HS_TRY(hs_spill_seal(&result->spill, err));
    return each_spilled(result, sink, cells, err);
}
