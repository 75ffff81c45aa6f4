/* The entries of an allocation trace for some allocations: one pass over the file, in which only
 * what is asked for is kept.
 *
 * Resident: 64 bytes per id asked for, and each backtrace of theirs once (its innermost
 * HS_TRACE_JOIN_FRAMES codes), reserved in the budget. */
#ifndef HS_ANALYSIS_TRACE_JOIN_H
#define HS_ANALYSIS_TRACE_JOIN_H

#include "base/budget.h"
#include "base/progress.h"
#include "base/table.h"
#include "trace/trace.h"

#define HS_TRACE_JOIN_FRAMES 1024
#define HS_NO_STACK UINT32_MAX

struct hs_traced {
    uint64_t id;
    uint64_t allocated_us, collected_us; /* since the trace's begin */
    uint64_t n_samples, words;           /* words without header, as the trace has it */
    uint32_t stack;
    uint8_t source; /* enum hs_trace_source */
    bool is_allocated, is_collected;
};

struct hs_trace_join {
    struct hs_trace *trace;   /* owned */
    struct hs_traced *traced; /* owned: by ascending id */
    size_t n_traced;
    uint64_t n_allocated, n_collected; /* in the whole trace */
    uint64_t last_id;                  /* the largest of an allocation */
    uint64_t last_us;                  /* of an event */
    bool has_domains;                  /* more than one: ids do not ascend in time */
    uint64_t *codes;                   /* owned: of all stacks, the outermost first */
    size_t n_codes, codes_capacity;
    size_t *stacks; /* owned: where the codes of each begin */
    size_t n_stacks, stacks_capacity;
    struct hs_table by_codes; /* of stacks */
    struct hs_budget *budget; /* borrowed */
    uint64_t reserved_bytes;
};

/* Opens the trace. */
hs_status hs_trace_join_open(const char *path, struct hs_budget *budget, struct hs_trace_join *ret,
                             struct hs_error *err);
/* Reads it for ids[n], ascending, each once. */
hs_status hs_trace_join_read(struct hs_trace_join *join, const uint64_t *ids, size_t n,
                             const struct hs_progress *progress, struct hs_error *err);
void hs_trace_join_close(struct hs_trace_join *join);

/* Finds the entry of an id; NULL when it was not asked for. */
const struct hs_traced *hs_trace_join_find(const struct hs_trace_join *join, uint64_t id);

/* The codes of a stack, the outermost first. */
const uint64_t *hs_trace_join_stack(const struct hs_trace_join *join, uint32_t stack,
                                    size_t *ret_n);

#endif
