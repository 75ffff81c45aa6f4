/* The estimate of all live words beside the exact heap: does the sampler tell the truth? */
#ifndef HS_ANALYSIS_SAMPLED_WHOLE_H
#define HS_ANALYSIS_SAMPLED_WHOLE_H

#include "analysis/sample_join.h"

/* The begin of the sampling: unknown, from the process's start on (so that every live allocation
 * was seen), or later. */
enum hs_sampled_since { HS_SINCE_UNKNOWN, HS_SINCE_START, HS_SINCE_LATER };

struct hs_sampled_whole {
    struct hs_estimate estimate; /* of all its samples */
    uint64_t exact_words;        /* of what it samples: OCaml's heap, or the blocks of malloc */
    enum hs_sampled_since since;
    double later_seconds; /* HS_SINCE_LATER: how long the process had run */
};

/* Estimates the whole by each sampler: *ret (hs_free) has as many as the snapshot. Where the
 * process has both an OCaml heap and blocks of malloc, one pass over sizes and types. */
hs_status hs_sampled_wholes(const struct hs_sample_join *join, struct hs_sampled_whole **ret,
                            struct hs_error *err);

#endif
