/* Samples of both heaps in one list. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "mixed.h"

void hs_mixed_samples_fini(struct hs_mixed_samples *samples)
{
    if (samples == NULL)
        return;
    hs_native_samples_fini(&samples->of_native);
    hs_free(samples->samplers);
    hs_free(samples->samples);
    *samples = (struct hs_mixed_samples){0};
}

hs_status hs_mixed_samples_collect(struct hs_native *native, struct hs_mixed_samples *ret,
                                   struct hs_error *err)
{
    const struct hs_snap_facts *ocaml = native->ocaml->facts;
    void *array;

    HS_TRY(hs_native_collect_samples(native, &ret->of_native, err));
    size_t n = ocaml->n_samplers + ret->of_native.n_samplers;
    HS_TRY(hs_alloc(n, sizeof *ret->samplers, &array, err));
    ret->samplers = array;
    ret->n_samplers = n;
    for (size_t i = 0; i < n; i++)
        ret->samplers[i] = i < ocaml->n_samplers ? ocaml->samplers[i]
                                                 : ret->of_native.samplers[i - ocaml->n_samplers];
    return HS_OK;
}

static int sample_compare(const void *a, const void *b)
{
    const struct hs_sample *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->sampler < y->sampler ? -1 : x->sampler > y->sampler;
}

/* The node of a sample whose node is the rank of its block. */
static hs_node place(const struct hs_scan *scan, hs_node rank)
{
    struct hs_heap_iterator it = {.map = &scan->native->heaps.map};
    struct hs_heap_block block;

    if (rank == HS_NO_NODE)
        return HS_NO_NODE;
    hs_heap_map_seek(&it, rank);
    return hs_heap_map_next(&it, &block) ? hs_scan_node(scan, &block) : HS_NO_NODE;
}

hs_status hs_mixed_samples_place(struct hs_mixed_samples *samples, const struct hs_scan *scan,
                                 const struct hs_sample *ocaml, size_t n, struct hs_error *err)
{
    const struct hs_native_samples *native = &samples->of_native;
    uint32_t n_before = (uint32_t)(samples->n_samplers - native->n_samplers);
    void *array;

    HS_TRY(hs_alloc(n + native->n_samples, sizeof *samples->samples, &array, err));
    samples->samples = array;
    samples->n_samples = n + native->n_samples;
    if (n != 0)
        memcpy(samples->samples, ocaml, n * sizeof *ocaml);
    for (size_t i = 0; i < native->n_samples; i++) {
        struct hs_sample *sample = &samples->samples[n + i];
        *sample = native->samples[i];
        sample->sampler += n_before;
        sample->node = place(scan, sample->node);
    }
    if (samples->n_samples > 1)
        qsort(samples->samples, samples->n_samples, sizeof *samples->samples, sample_compare);
    return HS_OK;
}
