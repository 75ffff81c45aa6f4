/* A growable run of bytes with the encoders that mirror `struct hs_cursor`.
 * hs_buffer_reserve makes room once; the put functions below it then cannot fail. */
#ifndef HS_BASE_BUFFER_H
#define HS_BASE_BUFFER_H

#include <assert.h>
#include <string.h>

#include "base/error.h"

#define HS_VARINT_MAX_BYTES 10

struct hs_buffer {
    uint8_t *bytes; /* owned */
    size_t n_bytes;
    size_t capacity;
};

/* Makes room for `more` bytes after n_bytes. Amortised O(1) per byte. */
hs_status hs_buffer_reserve(struct hs_buffer *b, size_t more, struct hs_error *err);
void hs_buffer_fini(struct hs_buffer *b);

static inline void hs_buffer_put_u8(struct hs_buffer *b, uint8_t value)
{
    assert(b->n_bytes < b->capacity);
    b->bytes[b->n_bytes++] = value;
}

static inline void hs_buffer_put_bytes(struct hs_buffer *b, const void *bytes, size_t n)
{
    assert(b->capacity - b->n_bytes >= n);
    if (n != 0)
        memcpy(b->bytes + b->n_bytes, bytes, n);
    b->n_bytes += n;
}

void hs_buffer_put_u32(struct hs_buffer *b, uint32_t value);
void hs_buffer_put_u64(struct hs_buffer *b, uint64_t value);

static inline void hs_buffer_put_varint(struct hs_buffer *b, uint64_t value)
{
    while (value >= 0x80) {
        hs_buffer_put_u8(b, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    hs_buffer_put_u8(b, (uint8_t)value);
}

/* Encodes a number of either sign so that small ones become small codes. */
static inline uint64_t hs_zigzag_encode(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

/* Decodes it: 0 -> 0, 1 -> -1, 2 -> 1, ... */
static inline int64_t hs_zigzag_decode(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Puts a number as hs_cursor_zigzag reads it. At most HS_VARINT_MAX_BYTES. */
static inline void hs_buffer_put_zigzag(struct hs_buffer *b, int64_t value)
{
    hs_buffer_put_varint(b, hs_zigzag_encode(value));
}

#endif
