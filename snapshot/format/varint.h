/* The hot varint reader of the chunk decoders: as hs_cursor_varint, but by value and, while eight
 * bytes are left, without a loop. Never reads at or past `end`. */
#ifndef HS_FORMAT_VARINT_H
#define HS_FORMAT_VARINT_H

#include <endian.h>
#include <string.h>

#include "base/load.h"
#include "base/types.h"

struct hs_varint {
    const uint8_t *next; /* NULL: ends early, or more than 64 bits */
    uint64_t value;
};

/* The careful way: the last bytes of a column and numbers of nine and ten bytes. */
struct hs_varint hs_varint_careful(const uint8_t *at, const uint8_t *end);

/* Without a branch on the length, which no processor foresees where lengths are mixed. */
static inline struct hs_varint hs_varint_take_any(const uint8_t *at, const uint8_t *end)
{
    if (end - at < 8)
        return hs_varint_careful(at, end);
    uint64_t x = hs_load_u64(at);
    x = le64toh(x);
    uint64_t ends = ~x & UINT64_C(0x8080808080808080); /* top bit clear: a last byte */
    if (ends == 0)
        return hs_varint_careful(at, end);
    /* Keep the bytes up to the first last one, then close the gaps: 7 -> 14 -> 28 -> 56 bits. */
    x &= (ends ^ (ends - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
    x = (x & UINT64_C(0x007f007f007f007f)) | (x & UINT64_C(0x7f007f007f007f00)) >> 1;
    x = (x & UINT64_C(0x00003fff00003fff)) | (x & UINT64_C(0x3fff00003fff0000)) >> 2;
    x = (x & UINT64_C(0x000000000fffffff)) | (x & UINT64_C(0x0fffffff00000000)) >> 4;
    return (struct hs_varint){at + (__builtin_ctzll(ends) >> 3) + 1, x};
}

/* The same, for columns where most numbers have one byte. */
static inline struct hs_varint hs_varint_take(const uint8_t *at, const uint8_t *end)
{
    if (end - at >= 8 && *at < 0x80)
        return (struct hs_varint){at + 1, *at};
    return hs_varint_take_any(at, end);
}

#endif
