/* Allocations that a sampler inside of the process has chosen and that are still alive: jemalloc's
 * own profiler (prof:true), and the recorder (heapsnap/recorded.h). Each with the return addresses
 * of its allocation, read from the copy: the process keeps them for itself and is not asked.
 *
 * All of it is hostile. What does not prove itself is left out and told of, so that there may be
 * too few samples, never false ones. Docs: docs/recording.md. */
#ifndef HS_HEAPS_SAMPLED_H
#define HS_HEAPS_SAMPLED_H

#include "base/load.h"
#include "heaps/allocator.h"

struct hs_sampled {
    hs_addr address;  /* of the block, as the program has it */
    uint64_t id;      /* jemalloc gives none: the address */
    uint64_t n_bytes; /* what the draw went by: jemalloc the usable size, the recorder what was
                         asked for */
    uint64_t n_samples;
    const uint8_t *frames; /* borrowed from the image: n_frames return addresses, the innermost
                              first; read them with hs_sampled_frame */
    uint32_t n_frames;     /* 0: it has no backtrace */
    uint32_t sampler;
};

struct hs_sampled_by {
    struct hs_sampler facts;
    const struct hs_object *own; /* the binary of the sampler's code; NULL when unknown */
    hs_addr scripts;             /* where places of scripts are kept (heapsnap/recorded.h) */
    uint64_t scripts_bytes;      /* 0: there are none */
};

struct hs_sampled_set {
    struct hs_sampled_by *samplers; /* owned */
    size_t n_samplers, samplers_capacity;
    struct hs_sampled *blocks; /* owned; by id, then sampler; none twice */
    size_t n_blocks, blocks_capacity;
};

/* Map indexed. Adds proofs and notes. A set without samplers is no error. */
hs_status hs_sampled_read(const struct hs_heaps *heaps, const struct hs_process_copy *process,
                          struct hs_sampled_set *ret, struct hs_error *err);
void hs_sampled_fini(struct hs_sampled_set *set);

static inline hs_addr hs_sampled_frame(const struct hs_sampled *block, uint32_t frame)
{
    return hs_load_u64(block->frames + 8 * (size_t)frame);
}

/* A frame may be a place in a script, not a return address: no address has this bit. */
#define HS_SAMPLED_SCRIPT (UINT64_C(1) << 47)
enum { HS_SAMPLED_TEXT_BYTES = 1024 };
struct hs_sampled_script {
    char file[HS_SAMPLED_TEXT_BYTES], function[HS_SAMPLED_TEXT_BYTES]; /* control characters: '?' */
    uint32_t line;                                                     /* 0: unknown */
};
/* Reads the place in a script that such a frame of this sampler stands for; false when it is
 * damaged. */
bool hs_sampled_script(const struct hs_image *image, const struct hs_sampled_by *sampler,
                       hs_addr frame, struct hs_sampled_script *ret);

/* ---- for the readers */
/* The new sampler has number n_samplers - 1. */
hs_status hs_sampled_add_sampler(struct hs_sampled_set *set, const struct hs_sampled_by *sampler,
                                 struct hs_error *err);
hs_status hs_sampled_add(struct hs_sampled_set *set, const struct hs_sampled *block,
                         struct hs_error *err);

#endif
