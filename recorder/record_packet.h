/* Encodes one packet of a trace in memtrace's format, version 3, domain 0. Each packet stands for
 * itself: its first backtrace shares nothing with one before, each code is given in full where the
 * packet first uses it, and there is no check of the reader's cache. So a packet that is lost takes
 * nothing with it but its own events. */
#ifndef HS_RECORD_PACKET_H
#define HS_RECORD_PACKET_H

#include <heapsnap/recorded.h>

#include <stdbool.h>
#include <stddef.h>

#define HS_RECORD_PACKET_BYTES 32768U
#define HS_RECORD_HEADER_BYTES 68U
#define HS_RECORD_CODES (1U << 12) /* so many of the cache slots of the format are used */

/* The cache of codes that a reader of this packet has by now. */
struct hs_record_codes {
    uint64_t generation; /* of this packet: entries of others do not count */
    struct {
        uint64_t generation, code;
    } slots[HS_RECORD_CODES];
    uint32_t n_last; /* the last backtrace, the outermost frame first */
    uint64_t last[HS_RECORD_FRAMES_MAX];
};

struct hs_record_packet {
    uint64_t begin_us, end_us, pid;
    uint64_t id_begin, id_next; /* of allocations */
    uint64_t n_events;
    uint32_t n_bytes;              /* 0: nothing begun */
    uint32_t n_shared;             /* of them, those that record_held.c has copied */
    struct hs_record_codes *codes; /* NULL: there will be no allocations */
    uint8_t bytes[HS_RECORD_PACKET_BYTES];
};

struct hs_record_place { /* where a code lies */
    uint64_t code;
    const char *file;     /* NUL-terminated, as the function */
    const char *function; /* NULL: the offset stands for it */
    uint64_t offset;
    uint32_t line; /* 0: unknown; at most 2^20 - 1 */
};

/* Begins an empty packet; id_next stays. */
void hs_record_packet_begin(struct hs_record_packet *packet, uint64_t now_us, uint64_t pid);
/* Writes the header: the packet is whole. */
void hs_record_packet_end(struct hs_record_packet *packet, uint64_t now_us);

/* Each of these says false, and changes nothing, when the packet has no room for the event: end it
 * and begin another one. None of them fails in an empty packet. */
struct hs_record_info {
    double samples_per_word;
    const char *executable, *host, *parameters, *context; /* cut after 4 KiB each */
};
bool hs_record_packet_info(struct hs_record_packet *packet, const struct hs_record_info *info);
/* Puts a place. `is_same_file`: as the last place in this packet. */
bool hs_record_packet_place(struct hs_record_packet *packet, const struct hs_record_place *place,
                            bool is_same_file);
/* Puts an allocation, which takes id_next. `frames` has the innermost first. */
bool hs_record_packet_alloc(struct hs_record_packet *packet, const struct hs_record_slot *sample,
                            const uint64_t *frames, unsigned n_frames, uint64_t now_us);
bool hs_record_packet_free(struct hs_record_packet *packet, uint64_t id, uint64_t now_us);
/* Puts that a block of the minor heap has come into the major heap. */
bool hs_record_packet_promote(struct hs_record_packet *packet, uint64_t id, uint64_t now_us);

#endif
