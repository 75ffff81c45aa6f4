/* Reads inside of one packet: never past its end, little-endian. As struct hs_cursor, failure is
 * sticky and every further read gives 0; inline, as a trace has ten million numbers. */
#ifndef HS_TRACE_TRACE_BYTES_H
#define HS_TRACE_TRACE_BYTES_H

#include <string.h>

#include "base/types.h"

struct trace_bytes {
    const uint8_t *at, *end;
    bool failed;
};

static inline bool trace_bytes_need(struct trace_bytes *b, size_t n)
{
    if (__builtin_expect((size_t)(b->end - b->at) < n, 0)) {
        b->failed = true;
        b->at = b->end;
        return false;
    }
    return true;
}

#define TRACE_BYTES_READER(name, type)                           \
    static inline type trace_bytes_##name(struct trace_bytes *b) \
    {                                                            \
        type value = 0;                                          \
        if (trace_bytes_need(b, sizeof value)) {                 \
            memcpy(&value, b->at, sizeof value);                 \
            b->at += sizeof value;                               \
        }                                                        \
        return value;                                            \
    }
TRACE_BYTES_READER(u8, uint8_t)
TRACE_BYTES_READER(u16, uint16_t)
TRACE_BYTES_READER(u32, uint32_t)
TRACE_BYTES_READER(u64, uint64_t)
TRACE_BYTES_READER(f64, double)

/* Reads one byte below 253, or what follows 253 (u16), 254 (i32: its writer and reader take it as
 * signed, whatever the metadata says) and 255 (i64). */
static inline int64_t trace_bytes_vint(struct trace_bytes *b)
{
    uint8_t first = trace_bytes_u8(b);
    switch (first) {
    case 253:
        return trace_bytes_u16(b);
    case 254:
        return (int32_t)trace_bytes_u32(b);
    case 255:
        return (int64_t)trace_bytes_u64(b);
    default:
        return first;
    }
}

/* Reads up to and without the NUL, which must be there; NULL (and failed) when it is not. */
static inline const char *trace_bytes_string(struct trace_bytes *b, size_t *ret_n)
{
    const uint8_t *nul = b->at == b->end ? NULL : memchr(b->at, 0, (size_t)(b->end - b->at));
    if (nul == NULL) {
        b->failed = true;
        b->at = b->end;
        *ret_n = 0;
        return NULL;
    }
    const char *text = (const char *)b->at;
    *ret_n = (size_t)(nul - b->at);
    b->at = nul + 1;
    return text;
}

/* Reads a code. Codes pass through 63-bit integers of OCaml: their highest bit says nothing. */
static inline uint64_t trace_bytes_code(struct trace_bytes *b)
{
    return trace_bytes_u64(b) & (uint64_t)INT64_MAX;
}

#endif
