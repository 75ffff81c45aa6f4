/* The header of a packet: 66 bytes before version 3, 68 from there on. */
#ifndef HS_TRACE_TRACE_PACKET_H
#define HS_TRACE_TRACE_PACKET_H

#include "base/types.h"

#define TRACE_MAGIC 0xC1FC1FC1U
#define TRACE_MAX_VERSION 3
#define TRACE_TIME_BITS 25
#define TRACE_NO_CHECK 0xFFFF

enum {
    TRACE_EVENT_INFO,
    TRACE_EVENT_LOCATION,
    TRACE_EVENT_ALLOC,
    TRACE_EVENT_PROMOTE,
    TRACE_EVENT_COLLECT
};
/* The events of short allocations: 1 to 16 words in the event's number. */
#define TRACE_EVENT_SHORT_FIRST 101
#define TRACE_EVENT_SHORT_LAST 116

struct trace_packet {
    size_t begin, body, end; /* offsets in the file */
    uint64_t begin_us, end_us;
    uint32_t version;
    uint64_t pid;
    uint32_t domain;
    uint32_t check_slot, check_prediction;
    uint64_t check_code;
    uint64_t id_begin, id_end;
};

enum trace_packet_state {
    TRACE_PACKET_WHOLE,
    TRACE_PACKET_CUT,    /* begins like one, and the file ends in it */
    TRACE_PACKET_FUTURE, /* of a version that we do not know; only begin and version are set */
    TRACE_PACKET_NONE    /* not a packet */
};

/* Reads the header at offset `at` <= n_bytes of the file. */
enum trace_packet_state hs_trace_packet_read(const uint8_t *file, size_t n_bytes, size_t at,
                                             struct trace_packet *ret);

/* Finds the first offset in [from, to) where a whole packet of this version and process begins;
 * `to` when there is none. */
size_t hs_trace_packet_find(const uint8_t *file, size_t n_bytes, size_t from, size_t to,
                            const struct trace_packet *like);

/* Returns the time of an event from the 25 bits in its header. */
static inline uint64_t hs_trace_packet_time(const struct trace_packet *packet, uint32_t header)
{
    uint64_t mask = ((uint64_t)1 << TRACE_TIME_BITS) - 1;
    uint64_t low = header & mask;
    if (low < (packet->begin_us & mask))
        low += mask + 1;
    return (packet->begin_us & ~mask) + low;
}

#endif
