/* The sums behind the ledger's rows. Private to ledger.c and ledger_close.c. */
#ifndef HS_HEAPS_LEDGER_SUMS_H
#define HS_HEAPS_LEDGER_SUMS_H

#include "heaps/ledger.h"

/* The bytes and blocks moved into a row, less those moved out of it, modulo 2^64: hostile moves may
 * wrap. */
struct hs_ledger_moved {
    int64_t n_bytes, resident_bytes, n_blocks;
};

/* The number of the row of this key, made when new. */
hs_status hs_ledger_row(struct hs_ledger *ledger, const char *owner, enum hs_memory_state state,
                        uint32_t *ret, struct hs_error *err);

/* The first claim that ends behind `address`, or n_claims. Sealed only. */
size_t hs_ledger_lower(const struct hs_ledger *ledger, hs_addr address);

/* Adds what was moved to the rows' sums and makes them possible: see hs_ledger_close. */
void hs_ledger_resolve(struct hs_ledger *ledger);

#endif
