/* The counts of one pass over an allocation trace: events, domains, and the objects behind them. */
#ifndef HS_STATS_TRACE_FACTS_H
#define HS_STATS_TRACE_FACTS_H

#include "stats/trace_estimate.h"

struct hs_trace_facts {
    struct hs_trace *trace; /* owned */
    const struct hs_trace_info *info;
    const struct hs_trace_gaps *gaps;
    struct hs_trace_objects objects;
    struct hs_trace_scale scale;
    uint64_t n_of_source[HS_N_TRACE_SOURCES];
    uint64_t n_frames; /* of all backtraces */
    uint64_t domains[65536 / 64];
    uint64_t n_domains;
};

/* Opens the trace and reads it to its end. `facts` is zeroed before, and takes the finish after a
 * failure, too. O(events); HS_IO, HS_FORMAT, HS_LIMIT. */
hs_status hs_trace_facts_read(struct hs_trace_facts *facts, const char *path,
                              struct hs_budget *budget, struct hs_error *err);
void hs_trace_facts_fini(struct hs_trace_facts *facts);

#endif
