#include "graph/ids.h"

#include "base/checked.h"
#include "graph/pages.h"

#define IDS_BOUND ((uint64_t)1 << 40) /* the last number below it means "none" */

hs_status hs_ids_init(uint64_t n, uint64_t bound, struct hs_budget *budget, const char *what,
                      struct hs_ids *ret, struct hs_error *err)
{
    unsigned width = hs_ids_width(bound);
    uint64_t n_bytes;
    void *bytes;

    if (bound >= IDS_BOUND || !hs_mul_fits(n, width, &n_bytes) ||
        !hs_add_fits(n_bytes, 8, &n_bytes))
        return hs_fail(err, HS_LIMIT, "%s: %llu numbers below %llu have no room", what,
                       (unsigned long long)n, (unsigned long long)bound);
    HS_TRY(hs_budget_reserve(budget, n_bytes, what, err));
    hs_status status = hs_dense_pages(n_bytes, 1, &bytes, err);
    if (status != HS_OK) {
        hs_budget_release(budget, n_bytes);
        return status;
    }
    *ret = (struct hs_ids){
        .bytes = bytes, .n = n, .width = width, .n_bytes = n_bytes, .budget = budget};
    return HS_OK;
}

void hs_ids_fini(struct hs_ids *ids)
{
    if (ids == NULL || ids->bytes == NULL)
        return;
    hs_pages_free(ids->bytes, ids->n_bytes, 1);
    hs_budget_release(ids->budget, ids->n_bytes);
    *ids = (struct hs_ids){0};
}

void hs_ids_fill_none(struct hs_ids *ids)
{
    memset(ids->bytes, 0xff, ids->n * ids->width);
}
