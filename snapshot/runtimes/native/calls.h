/* Decides which call owns what variables of several calls on one stack lead to. Calls end in order,
 * the innermost first: memory belongs to the outermost call that leads to it, unless something that
 * outlives the calls (a variable of the program) does so, too. On each stack the call that owns
 * most is the one that its thread is about; those inside it work on what it has, with iterators,
 * copies of its structures and tables of pointers into it. So variables of calls further in that
 * own less than an eighth of that are of the borrowed tier: they keep only what nothing else does,
 * as a call's arguments do (decisions 034, 044); and so is a plain pointer in a record that leads
 * to what outlives its call (052). */
#ifndef HS_NATIVE_CALLS_H
#define HS_NATIVE_CALLS_H

#include "scan.h"

/* Gives the variables of such calls their tier; after hs_scan_begin and hs_scan_find_owned, before
 * roots are marked. Sets in `own`, by rank, what the program's own variables reach (strangers.h).
 * With NULL strangers' variables outlive calls like others, scan->reached serves for the marks and
 * is empty again afterwards, and nothing is done where no stack has two calls whose variables are
 * known, and none has such a pointer. Linear in the words of what firm roots lead to. Resident: 24
 * bytes for each variable of a call and 32 for each call, twice that at most while the lists grow,
 * and the queue of queue.h. Fails with HS_LIMIT. */
hs_status hs_calls_lend(struct hs_scan *scan, struct hs_bitmap *own, struct hs_error *err);

#endif
