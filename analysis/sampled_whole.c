/* Estimates of everything, sampler by sampler. */
#include "analysis/sampled_whole.h"

#include "analysis/chunk_pass.h"
#include "base/alloc.h"

/* A sampler that is switched on by the program itself begins after the process did. */
#define AT_ONCE_NS UINT64_C(1000000000)

enum population { OF_OCAML, OF_MALLOC, OF_PYTHON, OF_GO, OF_OTHERS, N_POPULATIONS };

static enum population population_of_form(unsigned form)
{
    if (form == HS_FORM_MAPPING || form == HS_FORM_PYTHON)
        return form == HS_FORM_PYTHON ? OF_PYTHON : OF_OTHERS;
    if (form == HS_FORM_GO)
        return OF_GO;
    return form <= HS_FORM_OTHER ? OF_OCAML : OF_MALLOC;
}

/* The recorder stands before the pools of CPython, too. */
static uint64_t words_of_sampler(const struct hs_sampler *sampler, const uint64_t *words)
{
    if (sampler->kind == HS_SAMPLER_MEMPROF)
        return words[OF_OCAML];
    if (sampler->kind == HS_SAMPLER_GO)
        return words[OF_GO];
    return words[OF_MALLOC] + (sampler->kind == HS_SAMPLER_RECORD ? words[OF_PYTHON] : 0);
}

static void count_chunk(const struct hs_view *view, const struct hs_chunk *chunk, uint64_t *words)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++)
        if (!(chunk->state[i] & HS_BLOCK_STATIC))
            words[population_of_form(hs_snap_type(view->snap, chunk->type[i])->form)] +=
                chunk->words[i];
}

/* Counts the words of each population; of one alone all. */
static hs_status count_words(const struct hs_view *view, uint64_t *words, struct hs_error *err)
{
    bool is_there[N_POPULATIONS] = {false};
    for (uint32_t type = 0; type < view->totals->n_types; type++)
        is_there[population_of_form(hs_snap_type(view->snap, type)->form)] = true;
    if (is_there[OF_OCAML] + is_there[OF_MALLOC] + is_there[OF_PYTHON] + is_there[OF_GO] +
            is_there[OF_OTHERS] ==
        1) {
        for (unsigned i = 0; i < N_POPULATIONS; i++)
            words[i] = is_there[i] ? view->totals->heap_words : 0;
        return HS_OK;
    }
    struct hs_chunk_pass pass =
        hs_chunk_pass_of(view, HS_COL_SIZES | HS_COL_TYPES, "counting words");
    while (hs_chunk_pass_next(&pass, err))
        count_chunk(view, &pass.chunk, words);
    return hs_chunk_pass_end(&pass);
}

static void find_since(const struct hs_sample_join *join, uint32_t sampler,
                       struct hs_sampled_whole *whole)
{
    uint64_t started_ns = join->view->facts->started_ns;
    uint64_t begun_ns = join->samplers[sampler].begun_ns;
    if (begun_ns == 0 && sampler == join->traced_sampler)
        begun_ns = hs_trace_info(join->trace.trace)->begun_us * 1000;
    if (begun_ns == 0 || started_ns == 0)
        return;
    whole->since = HS_SINCE_START;
    if (begun_ns > started_ns && begun_ns - started_ns > AT_ONCE_NS) {
        whole->since = HS_SINCE_LATER;
        whole->later_seconds = (double)(begun_ns - started_ns) / 1e9;
    }
}

hs_status hs_sampled_wholes(const struct hs_sample_join *join, struct hs_sampled_whole **ret,
                            struct hs_error *err)
{
    const struct hs_view *view = join->view;
    hs_auto_free struct hs_sampled_whole *wholes = NULL;
    uint64_t words[N_POPULATIONS] = {0};
    HS_TRY(HS_ALLOC(&wholes, view->facts->n_samplers, err));
    if (view->totals->n_samples != 0)
        HS_TRY(count_words(view, words, err));
    for (uint32_t i = 0; i < view->facts->n_samplers; i++) {
        wholes[i].exact_words = words_of_sampler(&join->samplers[i], words);
        find_since(join, i, &wholes[i]);
    }
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        const struct hs_sample *sample = hs_snap_sample(view->snap, i);
        hs_estimate_add(&wholes[sample->sampler].estimate, hs_sample_join_sampler(join, sample),
                        sample);
    }
    *ret = HS_STEAL(wholes);
    return HS_OK;
}
