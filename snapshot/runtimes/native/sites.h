/* Samples as the snapshot has them: which block each is, and where it was allocated, by name. */
#ifndef HS_NATIVE_SITES_H
#define HS_NATIVE_SITES_H

#include "heaps/sampled.h"
#include "native.h"

struct hs_native_samples {
    struct hs_sampler *samplers; /* owned, all three */
    size_t n_samplers;
    struct hs_sample *samples; /* node: the rank of the block, see hs_native_samples_place */
    size_t n_samples;
    struct hs_site_frame *frames;
    size_t n_frames;
};

/* Collects the samples, after the map is indexed. Each code address is looked up once, however many
 * backtraces have it. The innermost frames are left out where they are the allocator's or the
 * recorder's own. */
hs_status hs_native_collect_samples(struct hs_native *native, struct hs_native_samples *ret,
                                    struct hs_error *err);
void hs_native_samples_fini(struct hs_native_samples *samples);

/* Copies the samples, once blocks have nodes, with the nodes of theirs, into an array that the
 * caller frees. */
hs_status hs_native_samples_place(const struct hs_native *native,
                                  const struct hs_native_samples *samples,
                                  struct hs_runtime_samples *ret, struct hs_error *err);

/* ---- sites_names.c: names a code address: its functions, innermost first, at least one frame,
 * `site` 0; strings are interned. `locals` is room to work in. Fails with HS_LIMIT. */
struct hs_native_place {
    hs_addr address; /* a return address: what is looked up is the instruction before */
    const struct hs_object *object;
    struct hs_site_frame frames[HS_INLINED_MAX];
    size_t n_frames;
    bool is_allocator; /* by its name: malloc and its like, operator new */
};
hs_status hs_native_name_place(struct hs_native *native, struct hs_locals *locals,
                               struct hs_native_place *place, struct hs_error *err);
/* Does the same for a place of a script that this sampler has kept; "[script]" where it is damaged,
 * or names are not wanted. */
hs_status hs_native_name_script(struct hs_native *native, const struct hs_sampled_by *sampler,
                                struct hs_native_place *place, struct hs_error *err);

#endif
