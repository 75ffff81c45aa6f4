/* Variables of Rust that were moved away.
 *
 * A move copies a value and leaves its bytes where they were; nothing says afterwards that they are
 * none any more: optimised code has a variable's memory in its description until the scope ends,
 * and flags that tell what is to be dropped have no names. But values tell: a Box or a Vec has one
 * owner, an Arc and a channel count theirs. Where more variables of calls have one value than there
 * are owners, the ones that it was moved to have it: values go into calls, into closures of threads
 * and into larger variables. */
#ifndef HS_NATIVE_MOVED_H
#define HS_NATIVE_MOVED_H

#include "scan.h"

/* Lowers variables that were moved away to doubtful; after types have flowed, before roots are
 * marked. O(n log n) in the variables of calls that own by their types. Fails with HS_LIMIT. */
hs_status hs_moved_find(struct hs_native *native, const struct hs_flow *flow, struct hs_error *err);

#endif
