/* The reader's inside, for its parts. */
#ifndef HS_TRACE_TRACE_READER_H
#define HS_TRACE_TRACE_READER_H

#include "base/file.h"
#include "trace_bytes.h"
#include "trace_recover.h"

#define TRACE_N_SLOTS 16384
#define TRACE_LOST_SLOT \
    TRACE_N_SLOTS /* one more, which leads to itself: what stands there is lost */
#define TRACE_MAX_DOMAINS 1024
#define TRACE_MAX_FRAMES ((size_t)1 << 20)     /* of one backtrace */
#define TRACE_MAX_ALL_FRAMES ((size_t)1 << 23) /* of the last backtraces of all domains */
#define TRACE_MAX_RECOVERED_DOMAINS 16

/* A slot of the code cache: what stands in it, and which slot was used after it last time, XOR the
 * domain's next_mask. 16 bytes. */
struct trace_slot {
    uint64_t code;
    uint16_t next;
};

/* The state that a writer keeps for each domain. */
struct trace_domain {
    uint32_t number;
    uint16_t next_mask;       /* so that a zeroed slot leads to slot 0, or once some were lost to
                                 TRACE_LOST_SLOT */
    bool is_backtrace_lost;   /* the last one */
    bool is_begun;            /* a packet of it was met in this reading */
    struct trace_slot *slots; /* pages, TRACE_N_SLOTS + 1 */
    uint64_t *frames;         /* owned: the last backtrace */
    size_t n_frames, capacity;
    struct trace_names *names; /* owned */
    struct trace_ways ways;    /* to read what comes next; unused without a fault */
    uint64_t last_us;          /* of the last event, since the start */
};

struct hs_trace {
    struct hs_map map; /* empty over borrowed bytes */
    const uint8_t *file;
    size_t n_bytes;
    struct hs_trace_info info;
    char *strings; /* owned: of info */
    struct trace_packet first;
    size_t info_end; /* in the first packet: behind the trace information */
    struct trace_sites sites;
    bool is_suspect;                           /* its writer has the fault of trace_recover.h */
    bool is_foreseen;                          /* which was seen as it was opened */
    uint64_t n_named_after, n_named_otherwise; /* new functions: as OCaml names them, or not */
    struct trace_recovery recovery;
    size_t n_recovered_domains;
    struct trace_choices choices; /* for the packet of locations where we are */
    size_t n_chosen;
    struct trace_domain **domains; /* owned, each, by number */
    size_t n_domains, domains_capacity, n_all_frames;
    struct hs_trace_gaps gaps;
    /* The reader's place: */
    size_t next_packet;
    bool in_packet;
    struct trace_packet packet;
    struct trace_bytes bytes; /* of the packet, from the next event on */
    struct trace_domain *domain;
    uint64_t next_id;
    size_t given_back; /* pages before it were */
};

/* Reads one location whose event header was read. What is damaged in the names becomes a gap;
 * bytes->failed where it ends early. HS_LIMIT. */
hs_status hs_trace_read_location(struct hs_trace *trace, struct trace_bytes *bytes,
                                 struct hs_error *err);

/* Decodes n_words code words into the domain's last backtrace, of which n_common frames stay.
 * bytes->failed where they end early or lead to more frames than we keep. HS_LIMIT. */
hs_status hs_trace_read_backtrace(struct hs_trace *trace, struct trace_bytes *bytes,
                                  uint64_t n_common, unsigned n_words, struct hs_error *err);

#endif
