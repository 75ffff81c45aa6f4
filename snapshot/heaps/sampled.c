/* Gathers the samples of all samplers of a process in one list. */
#include "heaps/sampled.h"

#include <stdlib.h>

#include "base/alloc.h"

void hs_sampled_fini(struct hs_sampled_set *set)
{
    if (set == NULL)
        return;
    hs_free(set->samplers);
    hs_free(set->blocks);
    *set = (struct hs_sampled_set){0};
}

hs_status hs_sampled_add_sampler(struct hs_sampled_set *set, const struct hs_sampled_by *sampler,
                                 struct hs_error *err)
{
    HS_TRY(HS_GROW(&set->samplers, &set->samplers_capacity, set->n_samplers + 1, err));
    set->samplers[set->n_samplers++] = *sampler;
    return HS_OK;
}

hs_status hs_sampled_add(struct hs_sampled_set *set, const struct hs_sampled *block,
                         struct hs_error *err)
{
    HS_TRY(HS_GROW(&set->blocks, &set->blocks_capacity, set->n_blocks + 1, err));
    set->blocks[set->n_blocks++] = *block;
    return HS_OK;
}

static int sampled_compare(const void *left, const void *right)
{
    const struct hs_sampled *a = left, *b = right;

    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    if (a->sampler != b->sampler)
        return a->sampler < b->sampler ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Sorts the samples; of two with one id of one sampler the first stays. */
static hs_status sampled_sort(struct hs_sampled_set *set, struct hs_findings *findings,
                              struct hs_error *err)
{
    size_t n = 0, n_all = set->n_blocks;

    if (n_all > 1)
        qsort(set->blocks, n_all, sizeof *set->blocks, sampled_compare);
    for (size_t i = 0; i < n_all; i++) {
        const struct hs_sampled *block = &set->blocks[i];
        if (n == 0 || set->blocks[n - 1].id != block->id ||
            set->blocks[n - 1].sampler != block->sampler)
            set->blocks[n++] = *block;
    }
    set->n_blocks = n;
    if (n == n_all)
        return HS_OK;
    return hs_findings_note(findings, true, err,
                            "%zu samples have the number of another one and were left out",
                            n_all - n);
}

hs_status hs_sampled_read(const struct hs_heaps *heaps, const struct hs_process_copy *process,
                          struct hs_sampled_set *ret, struct hs_error *err)
{
    struct hs_sampled_set set = {0};
    hs_status status = HS_OK;

    for (size_t i = 0; i < HS_N_ALLOCATORS && status == HS_OK; i++)
        if (heaps->states[i] != NULL && hs_allocators[i]->sampled != NULL)
            status = hs_allocators[i]->sampled(heaps->states[i], &heaps->map, process, &set, err);
    if (status == HS_OK)
        status = sampled_sort(&set, process->findings, err);
    if (status != HS_OK)
        hs_sampled_fini(&set);
    else
        *ret = set;
    return status;
}
