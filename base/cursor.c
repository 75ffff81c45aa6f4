/* Bounds-checked little-endian reads. Every bound is checked here and nowhere else. */
#include "base/cursor.h"

#include <assert.h>
#include <string.h>

const uint8_t *hs_cursor_bytes(struct hs_cursor *c, size_t n)
{
    if (c->failed || n > c->n_bytes - c->at) {
        c->failed = true;
        return NULL;
    }
    /* A view of nothing is not NULL, for NULL says that it failed. */
    const uint8_t *view = c->bytes == NULL ? (const uint8_t *)"" : c->bytes + c->at;
    c->at += n;
    return view;
}

/* The next n <= 8 bytes as one number. */
static uint64_t cursor_number(struct hs_cursor *c, size_t n)
{
    const uint8_t *bytes = hs_cursor_bytes(c, n);
    uint64_t value = 0;

    if (bytes == NULL)
        return 0;
    for (size_t i = n; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

uint8_t hs_cursor_u8(struct hs_cursor *c)
{
    return (uint8_t)cursor_number(c, 1);
}

uint16_t hs_cursor_u16(struct hs_cursor *c)
{
    return (uint16_t)cursor_number(c, 2);
}

uint32_t hs_cursor_u32(struct hs_cursor *c)
{
    return (uint32_t)cursor_number(c, 4);
}

uint64_t hs_cursor_u64(struct hs_cursor *c)
{
    return cursor_number(c, 8);
}

static uint64_t cursor_fail_at(struct hs_cursor *c, size_t at)
{
    c->at = at;
    c->failed = true;
    return 0;
}

/* Zero groups as padding are taken, for DWARF writers use them; a tenth byte may carry one bit. */
uint64_t hs_cursor_varint(struct hs_cursor *c)
{
    size_t start = c->at;
    uint64_t value = 0;

    if (c->failed)
        return 0;
    for (unsigned shift = 0;; shift += 7) {
        if (c->at == c->n_bytes)
            return cursor_fail_at(c, start);
        uint8_t byte = c->bytes[c->at++];
        if (shift == 63 && byte > 1)
            return cursor_fail_at(c, start);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
}

int64_t hs_cursor_zigzag(struct hs_cursor *c)
{
    uint64_t value = hs_cursor_varint(c);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

void hs_cursor_skip(struct hs_cursor *c, size_t n)
{
    (void)hs_cursor_bytes(c, n);
}

void hs_cursor_seek(struct hs_cursor *c, size_t at)
{
    if (c->failed)
        return;
    if (at > c->n_bytes)
        c->failed = true;
    else
        c->at = at;
}

void hs_cursor_align(struct hs_cursor *c, size_t power_of_two)
{
    assert(power_of_two != 0 && (power_of_two & (power_of_two - 1)) == 0);
    hs_cursor_skip(c, -c->at & (power_of_two - 1));
}

const char *hs_cursor_string(struct hs_cursor *c)
{
    size_t left = hs_cursor_left(c);
    const uint8_t *end = left == 0 ? NULL : memchr(c->bytes + c->at, '\0', left);

    if (end == NULL) {
        c->failed = true;
        return NULL;
    }
    return (const char *)hs_cursor_bytes(c, (size_t)(end - (c->bytes + c->at)) + 1);
}

hs_status hs_cursor_check(const struct hs_cursor *c, const char *what, struct hs_error *err)
{
    if (!c->failed)
        return HS_OK;
    return hs_fail(err, HS_FORMAT, "%s ends early at byte %zu", what, c->at);
}
