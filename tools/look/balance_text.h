/* The balance of a process in words: where its resident memory is, and what to do where the live
 * heap is not the answer. */
#ifndef HS_LOOK_BALANCE_TEXT_H
#define HS_LOOK_BALANCE_TEXT_H

#include "analysis/balance.h"
#include "analysis/mapping_holder.h"

enum { HS_BALANCE_TEXT_BYTES = 1024 };

/* Writes "Resident 159.1 MiB = live heap 1.6 MiB + 154.0 MiB free in the allocator": parts below 2
 * % are left out, the largest first behind the live heap. "" where the snapshot does not say. */
void hs_balance_sentence(const struct hs_balance *balance, char text[HS_BALANCE_TEXT_BYTES]);

/* Writes the verdict of hs_balance_verdict; "" for the live heap. `holder` may be NULL. */
void hs_balance_verdict_text(const struct hs_balance *balance,
                             const struct hs_mapping_holder *holder, unsigned word_bytes,
                             char text[HS_BALANCE_TEXT_BYTES]);

/* "Resident 41.5 MiB, then 81.6 MiB (+40.0 MiB): mappings +40.0 MiB, live heap +12.0 KiB": what has
 * changed by 2 % of the later size, and half a MiB at least, the largest first; and, where
 * something else grew by a MiB and more than the live heap, "What grew is mappings: 40.0 MiB,
 * then 80.0 MiB.", else "". Both "" where one of them is not known, or no part but the heap is. */
void hs_balance_change(const struct hs_balance *before, const struct hs_balance *after,
                       char text[HS_BALANCE_TEXT_BYTES], char verdict[HS_BALANCE_TEXT_BYTES]);

#endif
