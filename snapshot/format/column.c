/* The table codec. A column of a record that does not change costs one byte 0 per record, which
 * zstd then takes away. */
#include "column.h"

#include <assert.h>

#include "base/alloc.h"

static uint64_t column_load(const uint8_t *member, unsigned n_bytes)
{
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (n_bytes) {
    case 1:
        memcpy(&u8, member, sizeof u8);
        return u8;
    case 2:
        memcpy(&u16, member, sizeof u16);
        return u16;
    case 4:
        memcpy(&u32, member, sizeof u32);
        return u32;
    default:
        assert(n_bytes == 8);
        memcpy(&u64, member, sizeof u64);
        return u64;
    }
}

static void column_store(uint8_t *member, unsigned n_bytes, uint64_t value)
{
    uint8_t u8 = (uint8_t)value;
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;
    switch (n_bytes) {
    case 1:
        memcpy(member, &u8, sizeof u8);
        break;
    case 2:
        memcpy(member, &u16, sizeof u16);
        break;
    case 4:
        memcpy(member, &u32, sizeof u32);
        break;
    default:
        assert(n_bytes == 8);
        memcpy(member, &value, sizeof value);
    }
}

static uint64_t column_mask(const struct hs_column *column)
{
    return column->bytes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * column->bytes)) - 1;
}

/* Decoding holds the same values against the same limits: what is written can be read. */
static hs_status column_encode(const struct hs_schema *schema, const struct hs_column *column,
                               const uint8_t *records, size_t n, uint64_t max,
                               struct hs_buffer *out, struct hs_error *err)
{
    uint64_t previous = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *member = records + i * schema->record_bytes + column->at;
        uint64_t value = column_load(member, column->bytes);
        if (column->form & HS_COLUMN_NONE)
            value = (value + 1) & column_mask(column);
        if (value > max)
            return hs_fail(err, HS_BUG, "%s %zu: column %zu would hold %llu, over its limit %llu",
                           schema->what, i, (size_t)(column - schema->columns),
                           (unsigned long long)value, (unsigned long long)max);
        if (column->form & HS_COLUMN_FIXED) {
            hs_buffer_put_u64(out, value);
        } else if (column->form & HS_COLUMN_DELTA) {
            hs_buffer_put_zigzag(out, (int64_t)(value - previous));
            previous = value;
        } else {
            hs_buffer_put_varint(out, value);
        }
    }
    return HS_OK;
}

static uint64_t column_max(const struct hs_column *column, const struct hs_column_limits *limits)
{
    uint64_t mask = column_mask(column);
    uint64_t max = column->form & HS_COLUMN_STRING ? limits->n_strings : column->max;
    if (limits->version == 1 && column->first_max != 0)
        max = column->first_max;
    return max < mask ? max : mask;
}

static bool column_is_there(const struct hs_column *column, const struct hs_column_limits *limits)
{
    assert(limits->version != 0);
    return column->since <= limits->version;
}

hs_status hs_schema_encode(const struct hs_schema *schema, const void *records, size_t n,
                           const struct hs_column_limits *limits, struct hs_buffer *out,
                           struct hs_error *err)
{
    for (size_t i = 0; i < schema->n_columns; i++) {
        const struct hs_column *column = &schema->columns[i];
        size_t room;
        if (!column_is_there(column, limits))
            continue;
        if (__builtin_mul_overflow(n, HS_VARINT_MAX_BYTES, &room))
            return hs_fail(err, HS_LIMIT, "cannot write %zu records: too many", n);
        HS_TRY(hs_buffer_reserve(out, room, err));
        HS_TRY(column_encode(schema, column, records, n, column_max(column, limits), out, err));
    }
    return HS_OK;
}

static hs_status column_decode(const struct hs_schema *schema, const struct hs_column *column,
                               struct hs_cursor *c, uint8_t *records, size_t n, uint64_t max,
                               struct hs_error *err)
{
    uint64_t previous = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t value;
        if (column->form & HS_COLUMN_FIXED)
            value = hs_cursor_u64(c);
        else if (column->form & HS_COLUMN_DELTA)
            value = previous + (uint64_t)hs_cursor_zigzag(c);
        else
            value = hs_cursor_varint(c);
        HS_TRY(hs_cursor_check(c, schema->what, err));
        if (value > max)
            return hs_fail(err, HS_FORMAT, "%s %zu: column %zu holds %llu, over its limit %llu",
                           schema->what, i, (size_t)(column - schema->columns),
                           (unsigned long long)value, (unsigned long long)max);
        previous = value;
        if (column->form & HS_COLUMN_NONE)
            value--;
        column_store(records + i * schema->record_bytes + column->at, column->bytes, value);
    }
    return HS_OK;
}

hs_status hs_schema_decode(const struct hs_schema *schema, struct hs_cursor *c, void *records,
                           size_t n, const struct hs_column_limits *limits, struct hs_error *err)
{
    for (size_t i = 0; i < schema->n_columns; i++) {
        const struct hs_column *column = &schema->columns[i];
        if (column_is_there(column, limits))
            HS_TRY(column_decode(schema, column, c, records, n, column_max(column, limits), err));
    }
    return HS_OK;
}

hs_status hs_schema_encode_list(const struct hs_schema *schema, const void *records, size_t n,
                                const struct hs_column_limits *limits, struct hs_buffer *out,
                                struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(out, HS_VARINT_MAX_BYTES, err));
    hs_buffer_put_varint(out, n);
    return hs_schema_encode(schema, records, n, limits, out, err);
}

hs_status hs_schema_decode_list(const struct hs_schema *schema, struct hs_cursor *c,
                                const struct hs_column_limits *limits, void *ret_records,
                                size_t *ret_n, struct hs_error *err)
{
    uint64_t n = hs_cursor_varint(c);
    HS_TRY(hs_cursor_check(c, schema->what, err));
    size_t n_columns = 0; /* each takes a byte of a record at least */
    for (size_t i = 0; i < schema->n_columns; i++)
        n_columns += column_is_there(&schema->columns[i], limits);
    assert(n_columns != 0);
    if (n > hs_cursor_left(c) / n_columns)
        return hs_fail(err, HS_FORMAT, "%s: %llu of them cannot stand in %zu bytes", schema->what,
                       (unsigned long long)n, hs_cursor_left(c));
    void *records;
    HS_TRY(hs_alloc((size_t)n, schema->record_bytes, &records, err));
    hs_status status = hs_schema_decode(schema, c, records, (size_t)n, limits, err);
    if (status != HS_OK) {
        hs_free(records);
        return status;
    }
    memcpy(ret_records, &records, sizeof records);
    *ret_n = (size_t)n;
    return HS_OK;
}
