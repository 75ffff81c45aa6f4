#include "trace_packet.h"

#include "trace_bytes.h"

enum trace_packet_state hs_trace_packet_read(const uint8_t *file, size_t n_bytes, size_t at,
                                             struct trace_packet *ret)
{
    static const uint8_t magic[4] = {0xC1, 0x1F, 0xFC, 0xC1};
    struct trace_bytes b = {file + at, file + n_bytes, false};
    size_t left = n_bytes - at;
    if (memcmp(b.at, magic, left < sizeof magic ? left : sizeof magic) != 0)
        return TRACE_PACKET_NONE;
    *ret = (struct trace_packet){.begin = at};
    b.at += left < sizeof magic ? left : sizeof magic;
    uint32_t n_bits = trace_bytes_u32(&b);
    ret->begin_us = trace_bytes_u64(&b);
    ret->end_us = trace_bytes_u64(&b);
    (void)trace_bytes_u32(&b); /* how long the flush took: always 0 */
    ret->version = trace_bytes_u16(&b);
    if (!b.failed && ret->version > TRACE_MAX_VERSION)
        return TRACE_PACKET_FUTURE;
    ret->pid = trace_bytes_u64(&b);
    if (ret->version >= 3)
        ret->domain = trace_bytes_u16(&b);
    ret->check_slot = trace_bytes_u16(&b);
    ret->check_prediction = trace_bytes_u16(&b);
    ret->check_code = trace_bytes_code(&b);
    ret->id_begin = trace_bytes_u64(&b);
    ret->id_end = trace_bytes_u64(&b);
    if (b.failed)
        return TRACE_PACKET_CUT;
    ret->body = (size_t)(b.at - file);
    if (ret->version == 0 || n_bits % 8 != 0 || n_bits / 8 < ret->body - at ||
        ret->end_us < ret->begin_us || ret->id_end < ret->id_begin || ret->id_end > INT64_MAX)
        return TRACE_PACKET_NONE;
    if (n_bits / 8 > left)
        return TRACE_PACKET_CUT;
    ret->end = at + n_bits / 8;
    return TRACE_PACKET_WHOLE;
}

size_t hs_trace_packet_find(const uint8_t *file, size_t n_bytes, size_t from, size_t to,
                            const struct trace_packet *like)
{
    for (size_t at = from; at < to; at++) {
        const uint8_t *first = memchr(file + at, TRACE_MAGIC & 0xff, to - at);
        struct trace_packet found;
        if (first == NULL)
            return to;
        at = (size_t)(first - file);
        if (hs_trace_packet_read(file, n_bytes, at, &found) == TRACE_PACKET_WHOLE &&
            found.version == like->version && found.pid == like->pid)
            return at;
    }
    return to;
}
