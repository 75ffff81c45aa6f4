#include "stream.h"

#include <string.h>

enum {
    MAGIC_OFFSET = 0,
    SIZE_OFFSET = 4,
    BEGIN_OFFSET = 8,
    VERSION_OFFSET = 28,
    EVENT_INFO = 0,
    EVENT_LOCATION = 1,
    EVENT_ALLOC = 2,
    EVENT_PROMOTE = 3,
    EVENT_COLLECT = 4,
    EVENT_SHORT_FIRST = 101,
    EVENT_SHORT_LAST = 116,
    TIME_BITS = 25,
    NO_CHECK = 0xFFFF,
    NEW_TEXT = 31,
    MAX_LINE = (1 << 20) - 1,
    CODE_RUN = 2,
    CODE_MISS = 3,
};
#define PACKET_MAGIC UINT32_C(0xC1FC1FC1)
#define RECORD_CODES ((uint64_t)NEW_TEXT << 38 | (uint64_t)NEW_TEXT << 43)

/* ---- reading ---- */

static hs_status damaged(const char *what, struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "a packet of the trace is damaged: %s", what);
}

hs_status hs_packet_open(const void *bytes, size_t n_bytes, struct hs_packet *ret,
                         struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(bytes, n_bytes);
    struct hs_packet packet = {.bytes = bytes, .n_bytes = n_bytes};
    uint32_t magic = hs_cursor_u32(&c), n_bits = hs_cursor_u32(&c);

    packet.begin_us = hs_cursor_u64(&c);
    packet.end_us = hs_cursor_u64(&c);
    hs_cursor_skip(&c, 4);
    packet.version = hs_cursor_u16(&c);
    packet.pid = hs_cursor_u64(&c);
    if (packet.version >= 3)
        packet.domain = hs_cursor_u16(&c);
    uint16_t slot = hs_cursor_u16(&c);
    hs_cursor_skip(&c, 10);
    packet.id_begin = hs_cursor_u64(&c);
    packet.id_end = hs_cursor_u64(&c);
    packet.n_head_bytes = c.at;
    if (c.failed || magic != PACKET_MAGIC)
        return damaged("it has no head", err);
    if (packet.version < 1 || packet.version > 3)
        return hs_fail(err, HS_FORMAT, "a packet of the trace is of version %u, which is too new",
                       packet.version);
    if ((uint64_t)n_bits != (uint64_t)n_bytes * 8)
        return damaged("its size is wrong", err);
    if (slot != NO_CHECK)
        return damaged("it leans on another", err);
    if (packet.end_us < packet.begin_us || packet.id_end < packet.id_begin)
        return damaged("it ends before it begins", err);
    *ret = packet;
    return HS_OK;
}

static uint64_t read_vint(struct hs_cursor *c)
{
    uint8_t first = hs_cursor_u8(c);
    switch (first) {
    case 253:
        return hs_cursor_u16(c);
    case 254:
        return (uint64_t)(int64_t)(int32_t)hs_cursor_u32(c);
    case 255:
        return hs_cursor_u64(c);
    default:
        return first;
    }
}

static void read_info(struct hs_cursor *c)
{
    hs_cursor_skip(c, 9); /* rate, word size */
    for (int text = 0; text < 3; text++)
        (void)hs_cursor_string(c);
    hs_cursor_skip(c, 8); /* pid */
}

/* A file is spelled out, or the one before it in this packet; a name is spelled out. */
static hs_status read_location(struct hs_packet_walk *walk, struct hs_cursor *c,
                               struct hs_packet_event *event, struct hs_error *err)
{
    event->code = hs_cursor_u64(c);
    event->n_records = hs_cursor_u8(c);
    if (event->n_records == 0)
        return damaged("a location is empty", err);
    for (unsigned i = 0; i < event->n_records && !c->failed; i++) {
        uint64_t low = hs_cursor_u32(c);
        uint64_t record = low | (uint64_t)hs_cursor_u16(c) << 32;
        unsigned file_code = record >> 38 & NEW_TEXT, name_code = record >> 43 & NEW_TEXT;
        if (file_code == NEW_TEXT)
            walk->last_file = hs_cursor_string(c);
        const char *name = hs_cursor_string(c);
        if (!c->failed && (name_code != NEW_TEXT || walk->last_file == NULL ||
                           (file_code != NEW_TEXT && file_code != 0)))
            return damaged("a location leans on another packet", err);
        if (i != 0)
            continue;
        event->file = walk->last_file;
        event->name = name;
        event->line = (uint32_t)(record & MAX_LINE);
    }
    return HS_OK;
}

static hs_status read_alloc(struct hs_cursor *c, uint32_t number, struct hs_packet_event *event,
                            struct hs_error *err)
{
    bool is_short = number >= EVENT_SHORT_FIRST;
    event->n_samples = 1;
    if (!is_short) {
        (void)read_vint(c); /* words */
        event->n_samples = read_vint(c);
        if (hs_cursor_u8(c) > 2 || event->n_samples == 0)
            return damaged("an allocation makes no sense", err);
    }
    event->n_common = read_vint(c);
    unsigned n = is_short ? hs_cursor_u8(c) : hs_cursor_u16(c);
    for (unsigned i = 0; i < n && !c->failed; i++) {
        unsigned tag = hs_cursor_u16(c) & 3;
        hs_cursor_skip(c, tag == CODE_MISS ? 8 : tag == CODE_RUN ? 1 : 0);
    }
    return HS_OK;
}

static hs_status read_event(struct hs_packet_walk *walk, struct hs_cursor *c,
                            struct hs_packet_event *event, struct hs_error *err)
{
    uint32_t number = hs_cursor_u32(c) >> TIME_BITS;
    if (number == EVENT_INFO) {
        event->kind = HS_PACKET_INFO;
        read_info(c);
        if (walk->packet->version >= 2)
            (void)hs_cursor_string(c); /* context */
        return HS_OK;
    }
    if (number == EVENT_LOCATION) {
        event->kind = HS_PACKET_LOCATION;
        return read_location(walk, c, event, err);
    }
    if (number == EVENT_ALLOC || (number >= EVENT_SHORT_FIRST && number <= EVENT_SHORT_LAST)) {
        event->kind = HS_PACKET_ALLOC;
        return read_alloc(c, number, event, err);
    }
    if (number != EVENT_PROMOTE && number != EVENT_COLLECT)
        return damaged("an event is of no known kind", err);
    event->kind = HS_PACKET_OTHER;
    (void)read_vint(c);
    return HS_OK;
}

hs_status hs_packet_next(struct hs_packet_walk *walk, struct hs_packet_event *ret, bool *ret_more,
                         struct hs_error *err)
{
    const struct hs_packet *packet = walk->packet;
    size_t at = walk->at != 0 ? walk->at : packet->n_head_bytes;
    if (at >= packet->n_bytes) {
        *ret_more = false;
        return HS_OK;
    }
    struct hs_cursor c = hs_cursor_make(packet->bytes, packet->n_bytes);
    struct hs_packet_event event = {.bytes = packet->bytes + at};
    hs_cursor_seek(&c, at);
    HS_TRY(read_event(walk, &c, &event, err));
    if (c.failed)
        return damaged("an event goes on behind its end", err);
    event.n_bytes = c.at - at;
    walk->at = c.at;
    *ret = event;
    *ret_more = true;
    return HS_OK;
}

hs_status hs_packet_check(const struct hs_packet *packet, struct hs_error *err)
{
    struct hs_packet_walk walk = {.packet = packet};
    struct hs_packet_event event;
    uint64_t n_allocs = 0;
    for (bool more = true;; n_allocs += event.kind == HS_PACKET_ALLOC) {
        HS_TRY(hs_packet_next(&walk, &event, &more, err));
        if (!more)
            break;
        if (event.kind == HS_PACKET_INFO && event.n_bytes + packet->n_head_bytes != packet->n_bytes)
            return damaged("the description of the process stands among events", err);
        if (event.kind == HS_PACKET_ALLOC && n_allocs == 0 && event.n_common != 0)
            return damaged("a backtrace leans on another packet", err);
    }
    return n_allocs == packet->id_end - packet->id_begin
               ? HS_OK
               : damaged("its number of allocations is wrong", err);
}

/* ---- writing ---- */

static void put_u16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t *at, uint32_t value)
{
    put_u16(at, (uint16_t)value);
    put_u16(at + 2, (uint16_t)(value >> 16));
}

static void close_packet(struct hs_buffer *buffer, size_t begin)
{
    put_u32(buffer->bytes + begin + SIZE_OFFSET, (uint32_t)(buffer->n_bytes - begin) * 8);
}

void hs_location_close(struct hs_location_packets *locations)
{
    if (locations->buffer.n_bytes != locations->begin)
        close_packet(&locations->buffer, locations->begin);
    locations->begin = locations->buffer.n_bytes;
}

/* A packet of locations has no allocation and one time: that of the packet it was made for. */
static void open_packet(struct hs_location_packets *locations, const struct hs_packet *like)
{
    struct hs_buffer *buffer = &locations->buffer;
    locations->begin = buffer->n_bytes;
    hs_buffer_put_bytes(buffer, like->bytes, like->n_head_bytes);
    uint8_t *head = buffer->bytes + locations->begin;
    memcpy(head + BEGIN_OFFSET + 8, like->bytes + BEGIN_OFFSET, 8);
    memcpy(head + like->n_head_bytes - 8, like->bytes + like->n_head_bytes - 16, 8);
}

/* Puts a text. Longer names are cut: by their length alone they are not for people. */
static void put_text(struct hs_buffer *buffer, const char *text)
{
    size_t n = strnlen(text, HS_PACKET_TEXT_BYTES - 1);
    hs_buffer_put_bytes(buffer, text, n);
    hs_buffer_put_u8(buffer, 0);
}

static size_t text_bytes(const char *text)
{
    return strnlen(text, HS_PACKET_TEXT_BYTES - 1) + 1;
}

static void put_record(struct hs_buffer *buffer, const struct hs_place_name *name)
{
    uint64_t record = RECORD_CODES | (name->line <= MAX_LINE ? name->line : 0);
    uint8_t bytes[6];
    put_u32(bytes, (uint32_t)record);
    put_u16(bytes + 4, (uint16_t)(record >> 32));
    hs_buffer_put_bytes(buffer, bytes, sizeof bytes);
    put_text(buffer, name->file);
    put_text(buffer, name->function);
}

/* Counts the innermost names that fit into one packet: of too many the outermost go. */
static size_t names_that_fit(const struct hs_place_name *names, size_t n, size_t *ret_bytes)
{
    size_t room = HS_PACKET_PLAIN_BYTES - HS_PACKET_HEAD_BYTES - 13, used = 0, kept = 0;
    for (; kept < n && kept < HS_PACKET_MAX_RECORDS; kept++) {
        const struct hs_place_name *name = &names[n - 1 - kept];
        size_t more = 6 + text_bytes(name->file) + text_bytes(name->function);
        if (used + more > room)
            break;
        used += more;
    }
    *ret_bytes = used + 13;
    return kept;
}

hs_status hs_location_put(struct hs_location_packets *locations, const struct hs_packet *like,
                          uint64_t code, const struct hs_place_name *names, size_t n,
                          struct hs_error *err)
{
    struct hs_buffer *buffer = &locations->buffer;
    size_t n_bytes;
    size_t kept = names_that_fit(names, n, &n_bytes);

    HS_TRY(hs_buffer_reserve(buffer, HS_PACKET_HEAD_BYTES + n_bytes, err));
    if (buffer->n_bytes - locations->begin + n_bytes > HS_PACKET_PLAIN_BYTES)
        hs_location_close(locations);
    if (buffer->n_bytes == locations->begin)
        open_packet(locations, like);
    hs_buffer_put_u32(buffer, (uint32_t)EVENT_LOCATION << TIME_BITS |
                                  ((uint32_t)like->begin_us & ((1U << TIME_BITS) - 1)));
    hs_buffer_put_u64(buffer, code);
    hs_buffer_put_u8(buffer, (uint8_t)kept);
    for (size_t i = n - kept; i < n; i++)
        put_record(buffer, &names[i]);
    return HS_OK;
}

hs_status hs_packet_strip(const struct hs_packet *packet, struct hs_buffer *ret,
                          struct hs_error *err)
{
    size_t begin = ret->n_bytes;
    struct hs_packet_walk walk = {.packet = packet};
    struct hs_packet_event event;
    HS_TRY(hs_buffer_reserve(ret, packet->n_bytes, err));
    hs_buffer_put_bytes(ret, packet->bytes, packet->n_head_bytes);
    for (bool more = true;;) {
        HS_TRY(hs_packet_next(&walk, &event, &more, err));
        if (!more)
            break;
        if (event.kind != HS_PACKET_LOCATION)
            hs_buffer_put_bytes(ret, event.bytes, event.n_bytes);
    }
    if (ret->n_bytes - begin == packet->n_head_bytes)
        ret->n_bytes = begin;
    else
        close_packet(ret, begin);
    return HS_OK;
}
