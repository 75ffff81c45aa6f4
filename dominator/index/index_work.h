/* The inputs of an engine that computes an index; all borrowed. */
#ifndef HS_INDEX_WORK_H
#define HS_INDEX_WORK_H

#include "index_policy.h"

struct index_work {
    const struct hs_snap *snap; /* not cut */
    const struct index_policy *policy;
    struct hs_budget *budget; /* NULL: no limit. By passes everything is taken from it */
    const struct hs_progress *progress;
    bool in_memory;        /* the engine */
    uint64_t memory_bytes; /* in memory: what was estimated; while it runs, what is reserved */
    uint64_t room_bytes;   /* in memory: what may be taken, which may be more; 0: no limit */
};

#endif
