/* The samples of the runtime's own heap profile that are still there: a record of each hangs on its
 * object's span and leads to the bucket that has its size and its stack (private to
 * snapshot/runtimes/go): mheap.go (specialprofile), mprof.go (bucket). A program that never links
 * runtime.MemProfile has none: the linker switches it off. */
#ifndef HS_GO_SAMPLES_H
#define HS_GO_SAMPLES_H

#include "functions.h"

struct hs_go_samples {
    struct hs_sample *samples; /* owned: by address, which is their id; without their nodes */
    size_t n_samples, samples_capacity;
    struct hs_site_frame *frames; /* owned: by site */
    size_t n_frames, frames_capacity;
    hs_addr *sites; /* owned: of each site, a bucket that has its stack */
    size_t n_sites, sites_capacity;
    size_t n_stack_words;     /* of the buckets seen: what a damaged process may cost is bounded */
    struct hs_table by_stack; /* sites */
    struct hs_dict site_of;   /* bucket -> site */
    struct hs_sampler sampler;
    bool is_rate_known;
};

void hs_go_samples_fini(struct hs_go_samples *samples);

/* Adds the sample that a record says; one that makes no sense is left out. */
hs_status hs_go_add_sample(const struct hs_go_heap *heap, hs_addr record, hs_addr object,
                           struct hs_go_samples *samples, struct hs_error *err);

/* Finds the mean distance of two samples. `p`: the record of a processor, or 0. */
void hs_go_find_rate(const struct hs_go_heap *heap, hs_addr p, struct hs_go_samples *samples);

/* Takes the rate for unknown where it is not read and samples by the default one would stand for
 * more than the heap has. After all are added. */
void hs_go_judge_rate(const struct hs_go_heap *heap, struct hs_go_samples *samples);

#endif
