#include "marshal.h"

#include "base/alloc.h"
#include "base/cursor.h"

static const uint32_t magic_small = 0x8495A6BE, magic_big = 0x8495A6BF;

enum {
    MAGIC_BYTES = 4,
    HEAD_SMALL_BYTES = 20,
    HEAD_BIG_BYTES = 32,
    BYTES_MAX = 1 << 28,
};
enum {
    CODE_INT8 = 0x00,
    CODE_INT16,
    CODE_INT32,
    CODE_INT64,
    CODE_SHARED8,
    CODE_SHARED16,
    CODE_SHARED32,
    CODE_BLOCK32 = 0x08,
    CODE_STRING8 = 0x09,
    CODE_STRING32 = 0x0A,
    SMALL_STRING = 0x20,
    SMALL_INT = 0x40,
    SMALL_BLOCK = 0x80,
};

/* A block whose fields are being read. */
struct open_block {
    uint32_t object, next;
};

struct reader {
    struct hs_marshal *value;
    struct hs_cursor cursor;
    struct open_block *open; /* owned: innermost last */
    size_t n_open, open_capacity;
    struct hs_error *err;
};

void hs_marshal_fini(struct hs_marshal *value)
{
    if (value == NULL)
        return;
    hs_free(value->objects);
    hs_free(value->fields);
    *value = (struct hs_marshal){0};
}

const struct hs_marshal_object *hs_marshal_at(const struct hs_marshal *value, uint64_t field)
{
    return (field & 1) == 0 && field / 2 < value->n_objects ? &value->objects[field / 2] : NULL;
}

static hs_status refuse(const struct reader *r, const char *what)
{
    return hs_fail(r->err, HS_FORMAT, "marshalled value: %s at byte %zu", what, r->cursor.at);
}

/* Reads a number of n bytes, the highest first. */
static uint64_t read_big(struct hs_cursor *c, unsigned n)
{
    const uint8_t *bytes = hs_cursor_bytes(c, n);
    uint64_t number = 0;

    for (unsigned i = 0; bytes != NULL && i < n; i++)
        number = number << 8 | bytes[i];
    return number;
}

static int64_t sign_extend(uint64_t number, unsigned n_bytes)
{
    unsigned shift = 64 - 8 * n_bytes;
    return (int64_t)(number << shift) >> shift;
}

static hs_status add_object(struct reader *r, unsigned tag, uint64_t first, uint64_t n,
                            uint64_t *ret_field)
{
    struct hs_marshal *v = r->value;

    HS_TRY(HS_GROW(&v->objects, &v->objects_capacity, v->n_objects + 1, r->err));
    v->objects[v->n_objects] =
        (struct hs_marshal_object){(uint32_t)first, (uint32_t)n, (uint8_t)tag};
    *ret_field = 2 * (uint64_t)v->n_objects++;
    return HS_OK;
}

static hs_status read_text(struct reader *r, uint64_t n, uint64_t *ret_field)
{
    size_t first = r->cursor.at;

    if (n > hs_cursor_left(&r->cursor))
        return refuse(r, "a text that is too long");
    hs_cursor_skip(&r->cursor, (size_t)n);
    return add_object(r, HS_MARSHAL_TEXT, first, n, ret_field);
}

/* Opens a block: each field takes a byte at least. One without fields is no object. */
static hs_status read_block(struct reader *r, unsigned tag, uint64_t n, uint64_t *ret_field)
{
    struct hs_marshal *v = r->value;

    if (n == 0) {
        *ret_field = 1;
        return HS_OK;
    }
    if (n > hs_cursor_left(&r->cursor))
        return refuse(r, "a block that is too large");
    HS_TRY(HS_GROW(&r->open, &r->open_capacity, r->n_open + 1, r->err));
    HS_TRY(HS_GROW(&v->fields, &v->fields_capacity, v->n_fields + n, r->err));
    r->open[r->n_open++] = (struct open_block){.object = (uint32_t)v->n_objects};
    HS_TRY(add_object(r, tag, v->n_fields, n, ret_field));
    for (uint64_t i = 0; i < n; i++)
        v->fields[v->n_fields + i] = 1;
    v->n_fields += n;
    return v->n_fields > BYTES_MAX ? refuse(r, "too many fields") : HS_OK;
}

static hs_status read_shared(struct reader *r, unsigned n_bytes, uint64_t *ret_field)
{
    uint64_t back = read_big(&r->cursor, n_bytes);

    if (back == 0 || back > r->value->n_objects)
        return refuse(r, "no such object before");
    *ret_field = 2 * (r->value->n_objects - back);
    return HS_OK;
}

static hs_status read_int(struct reader *r, unsigned n_bytes, uint64_t *ret_field)
{
    *ret_field = (uint64_t)sign_extend(read_big(&r->cursor, n_bytes), n_bytes) << 1 | 1;
    return HS_OK;
}

static hs_status read_code(struct reader *r, uint64_t *ret_field)
{
    unsigned code = hs_cursor_u8(&r->cursor);

    if (code >= SMALL_BLOCK)
        return read_block(r, code & 15, code >> 4 & 7, ret_field);
    if (code >= SMALL_INT) {
        *ret_field = (uint64_t)(code & 0x3F) << 1 | 1;
        return HS_OK;
    }
    if (code >= SMALL_STRING)
        return read_text(r, code & 0x1F, ret_field);
    switch (code) {
    case CODE_INT8:
    case CODE_INT16:
    case CODE_INT32:
    case CODE_INT64:
        return read_int(r, 1u << code, ret_field);
    case CODE_SHARED8:
    case CODE_SHARED16:
    case CODE_SHARED32:
        return read_shared(r, 1u << (code - CODE_SHARED8), ret_field);
    case CODE_BLOCK32: {
        uint64_t header = read_big(&r->cursor, 4);
        return read_block(r, header & 255, header >> 10, ret_field);
    }
    case CODE_STRING8:
        return read_text(r, read_big(&r->cursor, 1), ret_field);
    case CODE_STRING32:
        return read_text(r, read_big(&r->cursor, 4), ret_field);
    default:
        return refuse(r, "a code that is not read");
    }
}

/* Reads the fields of the innermost block that is open, up to one that is a block itself. */
static hs_status read_fields(struct reader *r)
{
    struct hs_marshal *v = r->value;
    size_t here = r->n_open - 1;

    while (r->n_open - 1 == here) {
        uint32_t object = r->open[here].object, next = r->open[here].next;
        if (next == v->objects[object].n) {
            r->n_open--;
            return HS_OK;
        }
        uint64_t field = 1;
        r->open[here].next++;
        HS_TRY(read_code(r, &field));
        if (r->cursor.failed)
            return refuse(r, "it ends early");
        v->fields[v->objects[object].first + next] = field;
    }
    return HS_OK;
}

static hs_status read_all(struct reader *r)
{
    uint64_t magic = read_big(&r->cursor, MAGIC_BYTES), field;

    if (magic != magic_small && magic != magic_big)
        return refuse(r, "no such magic number");
    hs_cursor_seek(&r->cursor, magic == magic_small ? HEAD_SMALL_BYTES : HEAD_BIG_BYTES);
    HS_TRY(read_code(r, &field));
    while (r->n_open != 0)
        HS_TRY(read_fields(r));
    return r->cursor.failed ? refuse(r, "it ends early") : HS_OK;
}

hs_status hs_marshal_read(struct hs_marshal *value, const void *bytes, size_t n_bytes,
                          struct hs_error *err)
{
    struct reader r = {.value = value, .cursor = hs_cursor_make(bytes, n_bytes), .err = err};

    *value = (struct hs_marshal){.bytes = bytes};
    hs_status status = n_bytes > BYTES_MAX ? refuse(&r, "it is too large") : read_all(&r);
    hs_free(r.open);
    if (status != HS_OK)
        hs_marshal_fini(value);
    return status;
}
