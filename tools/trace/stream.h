/* Packets of a recorder, one by one, as they come out of a socket: what is in them, checked, and
 * how to write the ones that carry names.
 *
 * The format is memtrace's, in the form that `heapsnap record` and its library write: a packet
 * stands for itself. Nothing in it leans on an earlier one: locations spell their file and name
 * out, and so does the first backtrace. Packets are hostile. */
#ifndef HS_TRACE_STREAM_H
#define HS_TRACE_STREAM_H

#include "base/buffer.h"
#include "base/cursor.h"

enum {
    HS_PACKET_HEAD_BYTES = 68,      /* of version 3, 66 before */
    HS_PACKET_MAX_BYTES = 1 << 18,  /* one that comes in is no larger */
    HS_PACKET_PLAIN_BYTES = 32768,  /* other readers take no more: what we write is no larger */
    HS_PACKET_MAX_RECORDS = 255,    /* functions at one location */
    HS_PACKET_TEXT_BYTES = 1 << 12, /* of a file or a name that we write, NUL included */
};

struct hs_packet {
    const uint8_t *bytes; /* borrowed: the whole packet */
    size_t n_bytes;
    size_t n_head_bytes;
    uint16_t version, domain;
    uint64_t pid, begin_us, end_us, id_begin, id_end;
};

enum hs_packet_kind { HS_PACKET_INFO, HS_PACKET_LOCATION, HS_PACKET_ALLOC, HS_PACKET_OTHER };

/* One event; texts are borrowed from the packet. */
struct hs_packet_event {
    enum hs_packet_kind kind;
    const uint8_t *bytes; /* the whole event */
    size_t n_bytes;
    uint64_t code;           /* of a location */
    unsigned n_records;      /* of a location */
    const char *file, *name; /* of its first record */
    uint32_t line;
    uint64_t n_samples, n_common; /* of an allocation */
};

/* Reads the header of the packet that `bytes` are, whole. HS_FORMAT when they are no packet of a
 * version that we know, or of another length than it says. */
hs_status hs_packet_open(const void *bytes, size_t n_bytes, struct hs_packet *ret,
                         struct hs_error *err);

/* The next event; *ret_more is false at the end. HS_FORMAT when it is damaged or leans on another
 * packet. */
struct hs_packet_walk {
    const struct hs_packet *packet;
    size_t at;             /* zero: before the first event */
    const char *last_file; /* of the locations so far */
};
hs_status hs_packet_next(struct hs_packet_walk *walk, struct hs_packet_event *ret, bool *ret_more,
                         struct hs_error *err);

/* Reads all events: every one is sound, ids add up, and the packet stands for itself. */
hs_status hs_packet_check(const struct hs_packet *packet, struct hs_error *err);

/* The name of the place at one code: the function, and what was inlined into it, outermost first.
 */
struct hs_place_name {
    const char *function, *file; /* "" when unknown; cut at HS_PACKET_TEXT_BYTES */
    uint32_t line;
};

/* Adds a location to packets of locations that take their header from `like`. One that is full is
 * closed and the next begun. `locations` may begin empty. HS_LIMIT. */
struct hs_location_packets {
    struct hs_buffer buffer;
    size_t begin; /* of the open packet; n_bytes == begin: none is */
};
hs_status hs_location_put(struct hs_location_packets *locations, const struct hs_packet *like,
                          uint64_t code, const struct hs_place_name *names, size_t n,
                          struct hs_error *err);
/* Writes the size of the last one; what is in the buffer are whole packets then. */
void hs_location_close(struct hs_location_packets *locations);

/* Appends the packet without its locations to `ret`; nothing when no event is left. */
hs_status hs_packet_strip(const struct hs_packet *packet, struct hs_buffer *ret,
                          struct hs_error *err);

#endif
