/* The ownership of memory that variables of several calls of one stack lead to. Calls end in
 * order, the innermost first. What a call's variables lead to that nothing leads to which outlives
 * it (variables of the program, of calls further out) is the call's. On each stack the call that
 * has most so is the one that its thread is about; those that it has called, and these in turn,
 * work on what it has, with iterators, copies of its structures and tables of pointers into it. So
 * the variables of those that have little of their own beside it are of the tier of what is
 * borrowed: they keep what nobody else does, as a call's arguments do (decisions 034, 044); and so
 * is a plain pointer in a record that leads to what lasts longer than its call (052). */
#ifndef HS_NATIVE_CALLS_H
#define HS_NATIVE_CALLS_H

#include "scan.h"

/* After hs_scan_begin and find_owned, before mark_roots: gives the variables of such calls their
 * tier. `own` gets, by rank, what the program's own variables reach (strangers.h). NULL: this is
 * not asked, and strangers' variables outlive calls like others; then there is nothing to do where
 * no stack has two calls whose variables are known, and none has such a pointer, and the marks that
 * mark_roots will make serve. Linear in the words of what firm roots lead to. Resident: 24 bytes
 * for each variable of a call and 32 for each call, twice that at most while the lists grow, and
 * the queue of queue.h. Fails with HS_LIMIT. */
hs_status hs_calls_lend(struct hs_scan *scan, struct hs_bitmap *own, struct hs_error *err);

#endif
