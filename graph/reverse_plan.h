/* Inside of reverse.h: how buckets are cut, and what they may cost. */
#ifndef HS_REVERSE_PLAN_H
#define HS_REVERSE_PLAN_H

#include "reverse_parts.h"

#define HS_REVERSE_MAX_NODES ((uint64_t)HS_SWEEP_RUN << 31) /* runs have 32 bits */
#define HS_REVERSE_MAX_EDGES ((uint64_t)1 << 56)

/* The in-edges of each run of HS_SWEEP_RUN nodes: of the tree first, then of the blocks. */
struct hs_reverse_counts {
    uint64_t n_runs, n_tree_runs;
    const uint64_t *of_blocks;
};

uint64_t hs_reverse_run_count(const struct hs_reverse_counts *counts, uint64_t run);

struct hs_reverse_plan {
    uint64_t max_edges;
    unsigned source_bytes; /* 4, or 8 when there are 2^32 nodes and more */
    unsigned n_slots, n_threads;
    uint64_t slot_bytes;         /* each */
    uint64_t bucket_bytes;       /* hs_reverse_cost of a bucket at most, unless it is one run */
    uint64_t n_buckets, n_words; /* of all records, at most */
    bool in_memory;
    uint64_t extent_words;
    uint64_t buffer_words; /* open extents; in memory all extents */
};

/* Makes a plan for `usable` bytes. HS_LIMIT when they are too few for any plan. */
hs_status hs_reverse_plan(const struct hs_reverse_counts *counts, const struct hs_sweep *forward,
                          uint64_t usable, unsigned n_threads, struct hs_reverse_plan *ret,
                          struct hs_error *err);

/* Fills the n_buckets buckets, and of_run. */
void hs_reverse_cut(const struct hs_reverse_counts *counts, const struct hs_reverse_plan *plan,
                    struct hs_reverse_buckets *buckets);

#endif
