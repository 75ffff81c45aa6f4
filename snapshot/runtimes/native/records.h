/* Records of libraries that come without debug information, by rules (rules.h, HS_RULE_RECORD).
 *
 * A library that hands out `json_t *` says of its strings, arrays and tables nothing; they are
 * "blocks of 40 bytes". What it is sure to write into each (a number for its kind, a function of
 * its own, where its text begins) tells them from all others:
 *
 *   record "json_string"  bytes 32 magic 0 2 magic 12 0 leads 16 when library "libjansson.so*"
 *
 * Only blocks of malloc's that nothing else has named are looked at, and only in a process that has
 * the library. A name adds no edge. What a rule says only finds is lowered, so that the list of all
 * objects of an interpreter does not keep them beside who uses them. */
#ifndef HS_NATIVE_RECORDS_H
#define HS_NATIVE_RECORDS_H

#include "native.h"

/* Tells whether the process has a library that a rule describes records of. */
bool hs_native_has_records(const struct hs_native *native);

/* Names the blocks of such records that have no type. O(blocks * rules of this process) where there
 * are such rules, else O(rules). Fails with HS_LIMIT. */
hs_status hs_native_records(struct hs_native *native, struct hs_flow *flow, struct hs_error *err);

#endif
