/* jemalloc's profiler as a copy of memory shows it (private to sampled.c and
 * sampled_period.c).
 *
 *   edata of a large extent --tctx--> counters of one backtrace in one thread --gctx--> backtrace
 *
 * Offsets of prof_tctx_t and prof_gctx_t: jemalloc 5.2.1 and 5.3.0, prof_structs.h. */
#ifndef HS_JEMALLOC_PROF_H
#define HS_JEMALLOC_PROF_H

#include "heaps/sampled.h"
#include "tree.h"

/* A live block that was sampled, its backtrace being sound. */
struct prof_block {
    hs_addr address, tctx, gctx;
    uint64_t usable_bytes;
    const uint8_t *frames; /* borrowed from the image */
    uint32_t n_frames;
};

/* All blocks of one backtrace, and what the profiler itself has counted of them. */
struct prof_context {
    size_t first, n_blocks;   /* of prof.blocks */
    uint64_t n_counted;       /* sum of curobjs */
    uint64_t estimated_bytes; /* sum of curbytes_unbiased; 5.3 only */
    bool is_whole;            /* its counters could be read */
};

struct prof {
    const struct jemalloc_tree *tree;
    const struct hs_process_copy *process;
    struct prof_block *blocks; /* owned; by gctx, then address */
    size_t n_blocks, blocks_capacity;
    struct prof_context *contexts; /* owned; by gctx */
    size_t n_contexts, contexts_capacity;
    uint64_t n_damaged; /* blocks whose tctx leads to nothing that is a backtrace */
};

/* ---- sampled_period.c */
/* The mean distance of two samples in bytes, 0 when it cannot be told. Adds a proof or a note. */
hs_status hs_prof_period(const struct prof *prof, const struct hs_object *own, uint64_t *ret_bytes,
                         struct hs_error *err);

#endif
