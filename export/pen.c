/* Buffered writing whose failures wait until they are asked for. */
#include "pen.h"

#include "report/json.h"

enum { FLUSH_BYTES = 1 << 20 };

static void pen_flush(struct hs_pen *pen)
{
    if (pen->status == HS_OK && pen->buffer.n_bytes != 0)
        pen->status = hs_out_write(pen->out, pen->buffer.bytes, pen->buffer.n_bytes, &pen->error);
    pen->buffer.n_bytes = 0;
}

bool hs_pen_room(struct hs_pen *pen, size_t n_bytes)
{
    if (pen->buffer.n_bytes >= FLUSH_BYTES)
        pen_flush(pen);
    if (pen->status == HS_OK)
        pen->status = hs_buffer_reserve(&pen->buffer, n_bytes, &pen->error);
    return pen->status == HS_OK;
}

void hs_pen_bytes(struct hs_pen *pen, const void *bytes, size_t n_bytes)
{
    if (hs_pen_room(pen, n_bytes))
        hs_buffer_put_bytes(&pen->buffer, bytes, n_bytes);
}

void hs_pen_byte(struct hs_pen *pen, uint8_t byte)
{
    if (hs_pen_room(pen, 1))
        hs_buffer_put_u8(&pen->buffer, byte);
}

static void pen_digits(struct hs_pen *pen, uint64_t number, unsigned base)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    hs_pen_bytes(pen, digits + at, sizeof digits - at);
}

void hs_pen_number(struct hs_pen *pen, uint64_t number)
{
    pen_digits(pen, number, 10);
}

void hs_pen_hex(struct hs_pen *pen, uint64_t number)
{
    pen_digits(pen, number, 16);
}

void hs_pen_clean_n(struct hs_pen *pen, const char *name, size_t n_bytes,
                    enum hs_text_escape escape)
{
    if (hs_pen_room(pen, 0))
        pen->status = hs_text_sanitise(name, n_bytes, escape, &pen->buffer, &pen->error);
}

void hs_pen_json(struct hs_pen *pen, const char *name)
{
    struct hs_json json;
    if (!hs_pen_room(pen, 0))
        return;
    hs_json_init_buffer(&json, &pen->buffer, HS_JSON_COMPACT);
    hs_json_string(&json, NULL, name);
    pen->status = hs_json_finish(&json, &pen->error);
    if (pen->status == HS_OK)
        pen->buffer.n_bytes--; /* its newline */
}

hs_status hs_pen_finish(struct hs_pen *pen, hs_status status, struct hs_error *err)
{
    pen_flush(pen);
    hs_buffer_fini(&pen->buffer);
    if (status != HS_OK || pen->status == HS_OK)
        return status;
    *err = pen->error;
    return pen->status;
}
