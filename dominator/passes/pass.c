/* The parts of the passes' result, reserved in the budget and given back. */
#include "pass_steps.h"

#include "graph/pages.h"

/* Bits, a rank of 8 bytes per 512 of them, and one more. */
static uint64_t bitmap_bytes(uint64_t n_bits)
{
    return n_bits / 8 + n_bits / 64 + 24;
}

hs_status pass_bitmap_init(struct hs_budget *budget, uint64_t n_bits, const char *what,
                           struct hs_bitmap *ret, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(budget, bitmap_bytes(n_bits), what, err));
    hs_status status = hs_bitmap_init(ret, n_bits, err);
    if (status == HS_OK)
        hs_dense_advise(ret->words, n_bits / 8);
    else
        hs_budget_release(budget, bitmap_bytes(n_bits));
    return status;
}

void pass_bitmap_fini(struct hs_budget *budget, struct hs_bitmap *map)
{
    if (map->words == NULL)
        return;
    hs_budget_release(budget, bitmap_bytes(map->n_bits));
    hs_bitmap_fini(map);
}

hs_status pass_array_init(struct hs_budget *budget, uint64_t n, const char *what, uint32_t **ret,
                          struct hs_error *err)
{
    void *memory;
    HS_TRY(hs_budget_reserve(budget, n * sizeof **ret, what, err));
    hs_status status = hs_dense_pages(n, sizeof **ret, &memory, err);
    if (status == HS_OK)
        *ret = memory;
    else
        hs_budget_release(budget, n * sizeof **ret);
    return status;
}

void pass_array_fini(struct hs_budget *budget, uint32_t **array, uint64_t n)
{
    if (*array == NULL)
        return;
    hs_budget_release(budget, n * sizeof **array);
    hs_pages_free(*array, n, sizeof **array);
    *array = NULL;
}
