#include "thrift.h"

#include <assert.h>

/* A field's head and a number take less. */
enum { NUMBER_BYTES = 1 + 2 * HS_VARINT_MAX_BYTES };

struct thrift thrift_begin(struct hs_buffer *buffer, struct hs_error *err)
{
    return (struct thrift){.buffer = buffer, .err = err, .status = HS_OK};
}

static bool has_room(struct thrift *t, size_t n_bytes)
{
    if (t->status == HS_OK)
        t->status = hs_buffer_reserve(t->buffer, n_bytes, t->err);
    return t->status == HS_OK;
}

static void put_head(struct thrift *t, int field, enum thrift_type type)
{
    int step = field - t->last[t->depth];
    t->last[t->depth] = field;
    if (!has_room(t, NUMBER_BYTES))
        return;
    if (step > 0 && step < 16) {
        hs_buffer_put_u8(t->buffer, (uint8_t)((unsigned)step << 4 | type));
        return;
    }
    hs_buffer_put_u8(t->buffer, (uint8_t)type);
    hs_buffer_put_zigzag(t->buffer, field);
}

static void put_number(struct thrift *t, int64_t value)
{
    if (has_room(t, HS_VARINT_MAX_BYTES))
        hs_buffer_put_zigzag(t->buffer, value);
}

static void put_bytes(struct thrift *t, const void *bytes, size_t n)
{
    if (!has_room(t, n + HS_VARINT_MAX_BYTES))
        return;
    hs_buffer_put_varint(t->buffer, n);
    hs_buffer_put_bytes(t->buffer, bytes, n);
}

void thrift_i32(struct thrift *t, int field, int64_t value)
{
    assert(value >= INT32_MIN && value <= INT32_MAX);
    put_head(t, field, THRIFT_I32);
    put_number(t, value);
}

void thrift_i64(struct thrift *t, int field, int64_t value)
{
    put_head(t, field, THRIFT_I64);
    put_number(t, value);
}

void thrift_bytes(struct thrift *t, int field, const void *bytes, size_t n)
{
    put_head(t, field, THRIFT_BINARY);
    put_bytes(t, bytes, n);
}

void thrift_text(struct thrift *t, int field, const char *text)
{
    thrift_bytes(t, field, text, strlen(text));
}

void thrift_true(struct thrift *t, int field)
{
    put_head(t, field, THRIFT_TRUE);
}

void thrift_open_item(struct thrift *t)
{
    assert(t->depth + 1 < THRIFT_DEPTH);
    t->last[++t->depth] = 0;
}

void thrift_open(struct thrift *t, int field)
{
    put_head(t, field, THRIFT_STRUCT);
    thrift_open_item(t);
}

static void put_stop(struct thrift *t)
{
    if (has_room(t, 1))
        hs_buffer_put_u8(t->buffer, 0);
}

void thrift_close(struct thrift *t)
{
    assert(t->depth > 0);
    t->depth--;
    put_stop(t);
}

hs_status thrift_end(struct thrift *t)
{
    assert(t->depth == 0);
    put_stop(t);
    return t->status;
}

void thrift_list(struct thrift *t, int field, size_t n, enum thrift_type type)
{
    put_head(t, field, THRIFT_LIST);
    if (!has_room(t, NUMBER_BYTES))
        return;
    hs_buffer_put_u8(t->buffer, (uint8_t)((n < 15 ? n : 15) << 4 | type));
    if (n >= 15)
        hs_buffer_put_varint(t->buffer, n);
}

void thrift_item_i32(struct thrift *t, int64_t value)
{
    put_number(t, value);
}

void thrift_item_text(struct thrift *t, const char *text)
{
    put_bytes(t, text, strlen(text));
}
