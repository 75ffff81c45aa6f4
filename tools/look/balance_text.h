/* The balance of a process in words: where its resident memory is, and what to do where the live
 * heap is not the answer. */
#ifndef HS_LOOK_BALANCE_TEXT_H
#define HS_LOOK_BALANCE_TEXT_H

#include "analysis/balance.h"
#include "analysis/mapping_holder.h"

enum { HS_BALANCE_TEXT_BYTES = 1024 };

/* "Resident 159.1 MiB = live heap 1.6 MiB + 154.0 MiB free in the allocator": parts below 2 % are
 * left out, the largest first behind the live heap. "" where the snapshot does not say. */
void hs_balance_sentence(const struct hs_balance *balance, char text[HS_BALANCE_TEXT_BYTES]);

/* What hs_balance_verdict finds; "" for the live heap. `holder` may be NULL. */
void hs_balance_verdict_text(const struct hs_balance *balance,
                             const struct hs_mapping_holder *holder, unsigned word_bytes,
                             char text[HS_BALANCE_TEXT_BYTES]);

#endif
