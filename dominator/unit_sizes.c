#include "dominator/unit_sizes.h"

#include "base/alloc.h"

#define WIDE_FIRST ((size_t)64)
#define WHAT "what roots share"

uint64_t hs_unit_sizes_bytes(uint64_t n, uint64_t n_wide)
{
    uint64_t n_bytes = n * sizeof(uint64_t);
    if (n_wide != 0)
        n_bytes += (n_wide > WIDE_FIRST ? 2 * n_wide : WIDE_FIRST) * sizeof(struct hs_sizes);
    return n_bytes;
}

hs_status hs_unit_sizes_init(uint64_t n, struct hs_budget *budget, struct hs_unit_sizes *ret,
                             struct hs_error *err)
{
    uint64_t n_bytes = n * sizeof *ret->packed;
    void *memory;

    HS_TRY(hs_budget_reserve(budget, n_bytes, WHAT, err));
    hs_status status = hs_pages_alloc(n, sizeof *ret->packed, &memory, err);
    if (status == HS_OK)
        *ret = (struct hs_unit_sizes){
            .n = n, .packed = memory, .budget = budget, .reserved_bytes = n_bytes};
    else
        hs_budget_release(budget, n_bytes);
    return status;
}

void hs_unit_sizes_fini(struct hs_unit_sizes *sizes)
{
    hs_pages_free(sizes->packed, sizes->n, sizeof *sizes->packed);
    hs_free(sizes->wide);
    hs_budget_release(sizes->budget, sizes->reserved_bytes);
    *sizes = (struct hs_unit_sizes){0};
}

/* Makes room for one more wide one, doubled when there is none. */
static hs_status wide_reserve(struct hs_unit_sizes *sizes, struct hs_error *err)
{
    size_t n = sizes->wide_capacity == 0 ? WIDE_FIRST : 2 * sizes->wide_capacity;
    uint64_t n_bytes = (n - sizes->wide_capacity) * sizeof *sizes->wide;

    if (sizes->n_wide < sizes->wide_capacity)
        return HS_OK;
    HS_TRY(hs_budget_reserve(sizes->budget, n_bytes, WHAT, err));
    sizes->reserved_bytes += n_bytes;
    return HS_GROW(&sizes->wide, &sizes->wide_capacity, n, err);
}

hs_status hs_unit_sizes_add(struct hs_unit_sizes *sizes, uint64_t at, const struct hs_sizes *more,
                            struct hs_error *err)
{
    uint64_t *packed = &sizes->packed[at];
    struct hs_sizes sum = {0};

    if (*packed & HS_UNIT_WIDE) {
        hs_sizes_add(&sizes->wide[*packed & ~HS_UNIT_WIDE], more);
        return HS_OK;
    }
    hs_unit_sizes_sum(sizes, at, &sum);
    hs_sizes_add(&sum, more);
    if (sum.words <= HS_UNIT_MAX_WORDS && sum.objects <= HS_UNIT_MAX_OBJECTS &&
        sum.static_words == 0 && sum.static_objects == 0) {
        *packed = sum.words << HS_UNIT_OBJECTS_BITS | sum.objects;
        return HS_OK;
    }
    HS_TRY(wide_reserve(sizes, err));
    *packed = HS_UNIT_WIDE | sizes->n_wide;
    sizes->wide[sizes->n_wide++] = sum;
    return HS_OK;
}
