/* The samples of all runtimes in one list. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "parts.h"

void hs_dump_samples_fini(struct hs_dump_samples *samples)
{
    if (samples == NULL)
        return;
    hs_free(samples->samples);
    hs_free(samples->frames);
    *samples = (struct hs_dump_samples){0};
}

static int sample_compare(const void *a, const void *b)
{
    const struct hs_sample *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->sampler < y->sampler ? -1 : x->sampler > y->sampler;
}

/* Room for n more of them; the array may move. */
static hs_status samples_room(void **array, size_t n_before, size_t n, size_t size,
                              struct hs_error *err)
{
    void *more;

    HS_TRY(hs_alloc(n_before + n, size, &more, err));
    if (n_before != 0)
        memcpy(more, *array, n_before * size);
    hs_free(*array);
    *array = more;
    return HS_OK;
}

/* Sites are numbered by their frames, those of the runtimes before first. */
static hs_status samples_add(const struct hs_runtime_samples *more, uint32_t first_sampler,
                             struct hs_dump_samples *ret, struct hs_error *err)
{
    uint32_t first_site = ret->n_frames == 0 ? 0 : ret->frames[ret->n_frames - 1].site + 1;
    void *samples = ret->samples, *frames = ret->frames;

    HS_TRY(samples_room(&samples, ret->n_samples, more->n_samples, sizeof *ret->samples, err));
    ret->samples = samples;
    HS_TRY(samples_room(&frames, ret->n_frames, more->n_frames, sizeof *ret->frames, err));
    ret->frames = frames;
    for (size_t i = 0; i < more->n_samples; i++) {
        struct hs_sample *sample = &ret->samples[ret->n_samples++];
        *sample = more->samples[i];
        sample->sampler += first_sampler;
        sample->site += sample->site == HS_NO_SITE ? 0 : first_site;
    }
    for (size_t i = 0; i < more->n_frames; i++) {
        ret->frames[ret->n_frames] = more->frames[i];
        ret->frames[ret->n_frames++].site += first_site;
    }
    return HS_OK;
}

hs_status hs_dump_samples_gather(const struct hs_dump *dump, const uint32_t *first_sampler,
                                 struct hs_dump_samples *ret, struct hs_error *err)
{
    for (size_t i = 0; i < dump->n_serving; i++) {
        const struct hs_serving *serving = &dump->serving[i];
        struct hs_runtime_samples more = {0};
        HS_TRY(serving->runtime->samples(serving->state, &more, err));
        hs_status status = samples_add(&more, first_sampler[i], ret, err);
        hs_free(more.samples);
        HS_TRY(status);
    }
    if (ret->n_samples > 1 && dump->n_serving > 1)
        qsort(ret->samples, ret->n_samples, sizeof *ret->samples, sample_compare);
    return HS_OK;
}
