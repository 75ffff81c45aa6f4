/* Bytes put aside on disk while their memory is needed for something else: written once, read back
 * once, in pieces of HS_SPILL_PIECE_BYTES. The memory itself stays the caller's. Errors are those
 * of base/spill.h. */
#ifndef HS_BASE_PARKED_H
#define HS_BASE_PARKED_H

#include "base/spill.h"

struct hs_parked {
    struct hs_spill spill; /* zeroed: nothing is parked */
};

/* Writes bytes to disk; `what` ("the core's order") is kept. */
hs_status hs_parked_put(const struct hs_budget *budget, const char *what, const void *bytes,
                        uint64_t n_bytes, struct hs_parked *ret, struct hs_error *err);
/* Reads all of them back and closes. */
hs_status hs_parked_get(struct hs_parked *parked, void *bytes, struct hs_error *err);
void hs_parked_close(struct hs_parked *parked);

#endif
