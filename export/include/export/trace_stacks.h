/* The calls of an allocation trace as stacks: where memory was allocated, and where what is still
 * there was. */
#ifndef HS_EXPORT_TRACE_STACKS_H
#define HS_EXPORT_TRACE_STACKS_H

#include "export/stacks.h"
#include "stats/call_tree.h"

struct hs_trace_stacks {
    struct hs_trace_objects *objects; /* what is freed is not selected any more afterwards */
    const struct hs_places *places;
    const struct hs_trace_scale *scale;
    const char *executable; /* "" when unknown */
    uint32_t word_bytes;
    uint64_t begun_ns; /* since 1970 */
    bool with_samples; /* parts of stacks, too: by heap, and whether they were promoted */
    struct hs_budget *budget;
};

/* Makes a tree of stacks of the selected objects: all that was allocated, and what of it is never
 * freed. Sums are those of `trace info`: what is rounded in one stack is made up for in the next.
 * HS_LIMIT. On failure `ret` can be freed, too. */
hs_status hs_stack_tree_of_trace(const struct hs_trace_stacks *trace, struct hs_stack_tree *ret,
                                 struct hs_error *err);

#endif
