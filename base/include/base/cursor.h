/* The one reader of foreign bytes: bounds-checked, little-endian, never past the end.
 *
 * Failure is sticky: after the first read past the end (or the first malformed varint) every
 * further read returns 0 and `failed` stays set, so a decoder may read a whole record and ask once.
 * A failed cursor keeps the offset at which it failed. */
#ifndef HS_BASE_CURSOR_H
#define HS_BASE_CURSOR_H

#include "base/error.h"

struct hs_cursor {
    const uint8_t *bytes; /* borrowed */
    size_t n_bytes;
    size_t at; /* next byte to read, <= n_bytes */
    bool failed;
};

static inline struct hs_cursor hs_cursor_make(const void *bytes, size_t n_bytes)
{
    return (struct hs_cursor){(const uint8_t *)bytes, n_bytes, 0, false};
}

static inline size_t hs_cursor_left(const struct hs_cursor *c)
{
    return c->failed ? 0 : c->n_bytes - c->at;
}

uint8_t hs_cursor_u8(struct hs_cursor *c);
uint16_t hs_cursor_u16(struct hs_cursor *c);
uint32_t hs_cursor_u32(struct hs_cursor *c);
uint64_t hs_cursor_u64(struct hs_cursor *c);

/* Reads a LEB128 number of at most 10 bytes, with no bits beyond the 64th. */
uint64_t hs_cursor_varint(struct hs_cursor *c);
int64_t hs_cursor_zigzag(struct hs_cursor *c);

/* A borrowed view of the next n bytes, or NULL (and failed). */
const uint8_t *hs_cursor_bytes(struct hs_cursor *c, size_t n);
void hs_cursor_skip(struct hs_cursor *c, size_t n);
void hs_cursor_seek(struct hs_cursor *c, size_t at);
void hs_cursor_align(struct hs_cursor *c, size_t power_of_two);

/* A borrowed NUL-terminated string that ends inside the bytes, or NULL (and failed). */
const char *hs_cursor_string(struct hs_cursor *c);

/* Returns HS_FORMAT with "WHAT ends early at byte N" when the cursor failed. */
hs_status hs_cursor_check(const struct hs_cursor *c, const char *what, struct hs_error *err);

#endif
