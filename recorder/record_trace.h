/* The trace of one process: events go into a packet, and packets go out when they are full, when
 * they are old, and when somebody asks. All under the recorder's lock. */
#ifndef HS_RECORD_TRACE_H
#define HS_RECORD_TRACE_H

#include "record_held.h"
#include "record_output.h"
#include "record_packet.h"
#include "record_places.h"

#define HS_RECORD_PLAIN (1U << 12)
#define HS_RECORD_FLUSH_US UINT64_C(1000000)

struct hs_record_trace {
    bool is_wanted;   /* events that cannot be written count as lost */
    uint64_t next_id; /* of the next allocation */
    uint64_t n_lost;
    uint64_t pid;
    uint64_t stacks; /* the address of those of the table: frames may be places that are there */
    struct hs_record_output output;
    struct hs_record_holder holder; /* shares what is held back */
    struct hs_record_places places;
    struct hs_record_packet events, names;
    struct hs_record_known *pending[HS_RECORD_PACKET_BYTES / 16]; /* explained in `names` */
    uint32_t n_pending;
    /* Stacks whose frames are all explained, and whose codes are their addresses; by their place in
     * the table. */
    uint32_t plain[HS_RECORD_PLAIN];
};

/* Begins the first packet of a process whose output is open. */
void hs_record_trace_begin(struct hs_record_trace *trace, const struct hs_record_info *info,
                           uint64_t now_us);
/* Writes one sample (its id is next_id, which then counts on), and the end of one. */
void hs_record_trace_alloc(struct hs_record_trace *trace, const struct hs_record_slot *sample,
                           const uint64_t *frames, unsigned n_frames, uint64_t now_us);
void hs_record_trace_free(struct hs_record_trace *trace, uint64_t id, uint64_t now_us);
/* Writes that a block has come into the major heap. */
void hs_record_trace_promote(struct hs_record_trace *trace, uint64_t id, uint64_t now_us);
/* Forgets addresses of modules that were unloaded: the same ones may mean others. */
void hs_record_trace_unloaded(struct hs_record_trace *trace);
/* Writes what is held back; false when some of it is lost. */
bool hs_record_trace_flush(struct hs_record_trace *trace, uint64_t now_us);

#endif
