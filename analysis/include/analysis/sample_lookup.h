/* Samples as the user names them: N, sample:N or, where two samplers use the same number,
 * sample:KIND:N. */
#ifndef HS_ANALYSIS_SAMPLE_LOOKUP_H
#define HS_ANALYSIS_SAMPLE_LOOKUP_H

#include "analysis/sample_join.h"

struct hs_sample_name {
    uint64_t id;
    int kind; /* enum hs_sampler_kind; -1: any */
};

/* Tells whether `text` names a sample at all. When it does and is well-formed, *ret is what it
 * says. */
bool hs_sample_is_named(const char *text);
hs_status hs_sample_parse(const char *text, struct hs_sample_name *ret, struct hs_error *err);

/* Finds the sample, whose block is in the heap. HS_USAGE tells apart, with `join` (may be NULL) by
 * the trace: never heard of, collected, gone from the process; and when the name is that of
 * several. */
hs_status hs_sample_find(const struct hs_view *view, struct hs_sample_join *join, const char *text,
                         const struct hs_sample **ret, struct hs_error *err);

#endif
