#include "samples.h"

#include <string.h>

#include "base/alloc.h"
#include "base/load.h"

/* mprof.go: bucket {next, allnext, typ, hash, size, nstk}, then the stack. */
enum { BUCKET_TYPE = 16, BUCKET_SIZE = 32, BUCKET_N = 40, BUCKET_STACK = 48, BUCKET_OF_MEMORY = 1 };
enum {
    FRAMES_MAX = 1024, /* GODEBUG=profstackdepth */
    SAMPLES_MAX = 1 << 24,
    STACK_WORDS_MAX = 1 << 22, /* of all buckets */
    RATE_DEFAULT = 512 << 10,
    MCACHE_RATE = 8,
    MINOR_OF_MCACHE_RATE = 24
};

void hs_go_samples_fini(struct hs_go_samples *samples)
{
    hs_free(samples->samples);
    hs_free(samples->frames);
    hs_free(samples->sites);
    hs_table_fini(&samples->by_stack);
    hs_dict_fini(&samples->site_of);
    *samples = (struct hs_go_samples){.samples = NULL};
}

static bool is_rate(uint64_t rate)
{
    return rate != 0 && rate <= (uint64_t)1 << 40;
}

void hs_go_find_rate(const struct hs_go_heap *heap, hs_addr p, struct hs_go_samples *samples)
{
    struct hs_live_symbol symbol;
    uint64_t rate = 0;

    if (heap->layout->minor >= MINOR_OF_MCACHE_RATE && p != 0)
        rate = hs_go_member(heap, hs_go_member(heap, p, heap->layout->p_mcache), MCACHE_RATE);
    if (!is_rate(rate) && hs_objects_find(&heap->dump->objects, "runtime.MemProfileRate", &symbol))
        rate = hs_go_member(heap, symbol.address, 0);
    samples->is_rate_known = is_rate(rate);
    samples->sampler = (struct hs_sampler){
        .kind = HS_SAMPLER_GO,
        .period_words = (double)(is_rate(rate) ? rate : RATE_DEFAULT) / HS_WORD_BYTES};
}

void hs_go_judge_rate(const struct hs_go_heap *heap, struct hs_go_samples *samples)
{
    enum { SAMPLES_LEAST = 16, TIMES = 4 };
    double bytes = (double)samples->n_samples * RATE_DEFAULT;

    if (!samples->is_rate_known && samples->n_samples >= SAMPLES_LEAST &&
        bytes > TIMES * (double)heap->object_bytes)
        samples->sampler.period_words = 0;
}

/* ---- sites */

/* Finds the stack of a bucket: return addresses, the innermost first, those of inlined calls
 * too. NULL: it is none. */
static const uint8_t *stack_of(const struct hs_go_heap *heap, hs_addr bucket, uint32_t *ret_n)
{
    uint64_t n = hs_go_member(heap, bucket, BUCKET_N);

    if (hs_go_member(heap, bucket, BUCKET_TYPE) != BUCKET_OF_MEMORY || n == 0 || n > FRAMES_MAX)
        return NULL;
    *ret_n = (uint32_t)n;
    return hs_go_bytes(heap, bucket + BUCKET_STACK, n * HS_WORD_BYTES);
}

static bool is_same_stack(const struct hs_go_heap *heap, hs_addr bucket, const uint8_t *stack,
                          uint32_t n)
{
    uint32_t n_other;
    const uint8_t *other = stack_of(heap, bucket, &n_other);
    return other != NULL && n_other == n && memcmp(other, stack, n * HS_WORD_BYTES) == 0;
}

/* Tells whether a function is the runtime's, which allocates for another. */
static bool is_of_runtime(const char *name)
{
    static const char *const prefixes[] = {"runtime.", "internal/runtime/"};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return strcmp(name, "runtime.main") != 0;
    return false;
}

/* Names the call that is before a return address; false: no function of the program is there. */
static hs_status name_frame(const struct hs_go_heap *heap, hs_addr pc, struct hs_site_frame *ret,
                            bool *ret_is_runtime, struct hs_error *err)
{
    struct hs_strtab *strings = &heap->dump->strings;
    const struct hs_object *object = hs_objects_object_at(&heap->dump->objects, pc);
    struct hs_go_function function;
    char text[HS_GO_NAME_BYTES];

    *ret_is_runtime = false;
    ret->offset = pc - (object == NULL ? 0 : object->bias);
    if (object != NULL)
        HS_TRY(hs_strtab_add(strings, object->name, &ret->module, err));
    if (!hs_go_function_at(heap, pc, &function))
        return hs_strtab_add(strings, "?", &ret->function, err);
    if (hs_go_innermost_name(heap, &function, pc, text, sizeof text)) {
        *ret_is_runtime = is_of_runtime(text);
        HS_TRY(hs_strtab_add(strings, text, &ret->function, err));
    }
    return hs_go_line(heap, &function, pc, text, sizeof text, &ret->line)
               ? hs_strtab_add(strings, text, &ret->file, err)
               : HS_OK;
}

/* Adds the frames of a stack, without those of the runtime that are innermost. */
static hs_status add_frames(const struct hs_go_heap *heap, const uint8_t *stack, uint32_t n,
                            struct hs_go_samples *samples, struct hs_error *err)
{
    size_t begin = samples->n_frames;

    for (uint32_t i = 0; i < n; i++) {
        struct hs_site_frame frame = {.site = (uint32_t)samples->n_sites};
        bool is_runtime;
        hs_addr pc = hs_load_u64(stack + (size_t)i * HS_WORD_BYTES);
        HS_TRY(name_frame(heap, pc - 1, &frame, &is_runtime, err));
        if (is_runtime && samples->n_frames == begin && i + 1 < n)
            continue;
        HS_TRY(HS_GROW(&samples->frames, &samples->frames_capacity, samples->n_frames + 1, err));
        samples->frames[samples->n_frames++] = frame;
    }
    return HS_OK;
}

/* Finds the site of a bucket: buckets of several sizes have the same. */
static hs_status find_site(const struct hs_go_heap *heap, hs_addr bucket,
                           struct hs_go_samples *samples, uint32_t *ret, struct hs_error *err)
{
    const uint64_t *known = hs_dict_find(&samples->site_of, bucket);
    uint32_t n = 0;
    const uint8_t *stack = stack_of(heap, bucket, &n);

    *ret = known == NULL ? HS_NO_SITE : (uint32_t)*known;
    if (known != NULL || stack == NULL)
        return HS_OK;
    if (samples->n_stack_words + n > STACK_WORDS_MAX) {
        samples->sampler.n_lost++;
        return HS_OK;
    }
    samples->n_stack_words += n;
    uint64_t hash = hs_hash_bytes(stack, (size_t)n * HS_WORD_BYTES);
    *ret = HS_TABLE_FIND(&samples->by_stack, hash, i,
                         is_same_stack(heap, samples->sites[i], stack, n));
    if (*ret == HS_NO_NUMBER) {
        *ret = (uint32_t)samples->n_sites;
        HS_TRY(HS_GROW(&samples->sites, &samples->sites_capacity, samples->n_sites + 1, err));
        HS_TRY(add_frames(heap, stack, n, samples, err));
        HS_TRY(hs_table_add(&samples->by_stack, hash, samples->n_sites, err));
        samples->sites[samples->n_sites++] = bucket;
    }
    return hs_dict_put(&samples->site_of, bucket, *ret, err);
}

hs_status hs_go_add_sample(const struct hs_go_heap *heap, hs_addr record, hs_addr object,
                           struct hs_go_samples *samples, struct hs_error *err)
{
    hs_addr bucket = hs_go_member(heap, record, heap->layout->specialprofile_b);
    uint64_t n_bytes = hs_go_member(heap, bucket, BUCKET_SIZE);
    struct hs_go_block block;
    uint32_t site;

    if (bucket == 0 || samples->n_samples >= SAMPLES_MAX || !hs_go_resolve(heap, object, &block) ||
        n_bytes > block.span->elem_bytes ||
        (samples->n_samples != 0 && samples->samples[samples->n_samples - 1].id >= object))
        return HS_OK;
    HS_TRY(find_site(heap, bucket, samples, &site, err));
    if (site == HS_NO_SITE)
        return HS_OK;
    HS_TRY(HS_GROW(&samples->samples, &samples->samples_capacity, samples->n_samples + 1, err));
    samples->samples[samples->n_samples++] =
        (struct hs_sample){.id = object,
                           .n_samples = 1,
                           .words = (n_bytes + HS_WORD_BYTES - 1) / HS_WORD_BYTES,
                           .state = HS_SAMPLE_LIVE,
                           .site = site};
    return HS_OK;
}
