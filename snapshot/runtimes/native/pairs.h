/* Tables of { small number; code * } in blocks that no type describes, as readline's keymaps are
 * (257 of { char type; function }): beside each number are seven bytes that nobody writes, and what
 * the memory held before makes an address of it. */
#ifndef HS_NATIVE_PAIRS_H
#define HS_NATIVE_PAIRS_H

#include "native.h"

/* Tells whether a block of 1 to 16 KiB is such a table, so that its even words are no pointers.
 * Ends at the first few words of most others. */
bool hs_pairs_are(const struct hs_native *native, const struct hs_heap_block *block);

#endif
