/* The checks that a trace and a snapshot are of the same process. */
#ifndef HS_ANALYSIS_TRACE_AGREE_H
#define HS_ANALYSIS_TRACE_AGREE_H

#include "snapshot/reader.h"
#include "trace/trace.h"

/* Clocks of tools and programs agree to this; a process's start is known to 10 ms only. */
#define HS_TRACE_TOLERANCE_NS UINT64_C(2000000000)

/* Checks that both are of one process and run. HS_USAGE with the reason and what to do when they
 * are not: pid, the trace's begin before the process began or after it was dumped, executable.
 * *ret_unknown: what could not be compared, for a person; NULL when all was. */
hs_status hs_trace_agree(const struct hs_trace_info *info, const struct hs_snap *snap,
                         const char **ret_unknown, struct hs_error *err);

/* Tells whether two samplers of one process write the same trace: the recorder's of malloc and of
 * OCaml's heap do. */
bool hs_trace_is_shared(const struct hs_sampler *one, const struct hs_sampler *other);

/* Finds the sampler of the snapshot that writes this trace: by its kind, its file, or its rate;
 * UINT32_MAX when the snapshot has none that writes traces; of several that share it the first.
 * HS_USAGE when it may be either of two,
 * or when its rate is another one: then it is a trace of another run. */
hs_status hs_trace_sampler(const char *path, const struct hs_trace_info *info,
                           const struct hs_snap *snap, uint32_t *ret, struct hs_error *err);

#endif
