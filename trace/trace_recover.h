/* The released writer's fault (memtrace up to 0.2.3): an end column over 1023 is put over the two
 * low bits of the file code, and a reader's lists of names part from the writer's. Here the packets
 * of locations are read in all ways that clear such bits, and the most likely one is kept.
 *
 * A way ends where it comes to an empty place, a string that is none, or to anything but a location
 * of the packet's time. It costs where a bit is cleared, where a new name was in the list already
 * or is not named after its file, where a function is far from where it was, where a code was
 * something else before or its neighbours are of another file. The cheapest ways go on side by
 * side, into the next packets too; what two ways of nearly the same cost see differently is
 * doubtful.
 *
 * Bounded: TRACE_N_WAYS at a time, TRACE_MAX_STEPS in all; beyond, names are lost. */
#ifndef HS_TRACE_TRACE_RECOVER_H
#define HS_TRACE_TRACE_RECOVER_H

#include "trace_locations.h"
#include "trace_packet.h"
#include "trace_places.h"

#define TRACE_N_WAYS 384
#define TRACE_N_KEPT_WAYS 96 /* from one packet to the next */
#define TRACE_MAX_STEPS ((uint64_t)1 << 23)
#define TRACE_MAX_WAY_NODES ((size_t)1 << 20)

/* The choices in reading one record. */
struct trace_choice {
    uint8_t clear; /* bits of the file code */
    bool is_doubtful;
};

struct trace_choices {
    struct trace_choice *choices; /* owned; one for each record of the packet */
    size_t n, capacity;
};

struct trace_way;

/* The ways that are open between two packets of a domain. A zeroed one is valid: there is one way,
 * the lists as they are. */
struct trace_ways {
    struct trace_way *ways; /* owned: TRACE_N_KEPT_WAYS */
    size_t n;
};

struct trace_recovery {
    struct trace_sites *sites;    /* borrowed: where strings are kept, and what is known */
    struct trace_way *now, *next; /* pages: TRACE_N_WAYS each */
    struct trace_way_node *nodes; /* owned: of the packet that is read */
    size_t n_nodes, nodes_capacity;
    uint64_t n_steps;
    struct trace_places places; /* of what was read by now without doubt */
};

void hs_trace_recovery_fini(struct trace_recovery *recovery);
void hs_trace_ways_fini(struct trace_ways *ways);

enum trace_verdict {
    TRACE_SOUND,   /* can be read as it stands */
    TRACE_SUSPECT, /* not, or another way is much likelier */
    TRACE_MIXED    /* holds other events as well: no way tells itself by its end */
};

/* Judges a packet that begins with a location. HS_LIMIT. */
hs_status hs_trace_judge(struct trace_recovery *recovery, const struct trace_names *names,
                         const struct trace_packet *packet, struct trace_bytes bytes,
                         enum trace_verdict *ret, struct hs_error *err);

/* Recovers the records of a packet of locations; none when there is no way. HS_LIMIT. */
hs_status hs_trace_recover(struct trace_recovery *recovery, const struct trace_names *names,
                           struct trace_ways *ways, const struct trace_packet *packet,
                           struct trace_bytes bytes, struct trace_choices *ret,
                           struct hs_error *err);

#endif
