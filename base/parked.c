#include "base/parked.h"

hs_status hs_parked_put(const struct hs_budget *budget, const char *what, const void *bytes,
                        uint64_t n_bytes, struct hs_parked *ret, struct hs_error *err)
{
    struct hs_spill spill = {0};

    HS_TRY(hs_spill_open(budget, what, &spill, err));
    hs_status status = HS_OK;
    for (uint64_t at = 0; status == HS_OK && at != n_bytes;) {
        uint64_t n = n_bytes - at < HS_SPILL_PIECE_BYTES ? n_bytes - at : HS_SPILL_PIECE_BYTES;
        status = hs_spill_write(&spill, (const uint8_t *)bytes + at, (size_t)n, err);
        at += n;
    }
    if (status == HS_OK)
        status = hs_spill_seal(&spill, err);
    if (status == HS_OK)
        ret->spill = spill;
    else
        hs_spill_close(&spill);
    return status;
}

hs_status hs_parked_get(struct hs_parked *parked, void *bytes, struct hs_error *err)
{
    uint64_t end = parked->spill.n_bytes;

    for (uint64_t at = 0; at != end;) {
        uint64_t n = end - at < HS_SPILL_PIECE_BYTES ? end - at : HS_SPILL_PIECE_BYTES;
        HS_TRY(hs_spill_read_at(&parked->spill, at, (uint8_t *)bytes + at, (size_t)n, err));
        hs_spill_drop(&parked->spill, at, at + n);
        at += n;
    }
    hs_parked_close(parked);
    return HS_OK;
}

void hs_parked_close(struct hs_parked *parked)
{
    hs_spill_close(&parked->spill);
}
