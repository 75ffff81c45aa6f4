/* Memory of libraries of which nothing is known, in a program whose debug information is there.
 *
 * What the program's own variables reach is the program's. They do not reach into what a *handle*
 * leads to, a pointer to a record that is described nowhere (SSL_CTX *, sqlite3 *), where nothing
 * else tells what that is: it is a library's. So is what variables of libraries without debug
 * information lead to, and values of pthread_setspecific, which libc only gives back.
 *
 * Where strangers' variables lead to what is the program's, and where words of their memory do,
 * that is of a lower tier: it was handed to the library, or is an old word where nobody says what
 * is. What the program does not reach itself they keep as ever.
 *
 * Without debug information of the program, too, a value of pthread_setspecific that leads where
 * one of its variables leads only finds that: an interpreter, the state of the first thread. */
#ifndef HS_NATIVE_STRANGERS_H
#define HS_NATIVE_STRANGERS_H

#include "scan.h"

/* Lowers variables of calls that were moved away (moved.h) or are borrowed (calls.h). Where the
 * program has debug information it finds scan->own by the same walk, and lowers strangers'
 * variables that lead there; between hs_scan_find_owned and hs_scan_mark_roots. Linear in the words
 * of what is reached; a bit for each block of the heap. Fails with HS_LIMIT. */
#define HS_OWN_BYTES(n_blocks) ((n_blocks) / 8)
hs_status hs_scan_find_owners(struct hs_scan *scan, struct hs_error *err);

#endif
