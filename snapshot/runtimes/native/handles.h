/* Records that a handle lists, both of which only a library without debug information describes.
 *
 * The program has `sqlite3 *db` and says so of one block. Its 5,000 statements are led to by no
 * pointer of the program that was kept, or not any more: "blocks of 312 bytes". A rule (rules.h,
 * HS_RULE_HANDLE) says where the handle has the first of them, where each has the next and where it
 * has the handle:
 *
 *   handle    | first --> record    | next --> record    | next = 0
 *     ^-----------------  | back        ^-----  | back
 *
 * Nothing tells which version of the library that is, so a list is believed whole or not at all:
 * each record leads back to the handle, and the last one leads nowhere or into the handle. So no
 * record is of two lists, and all of them take time in proportion to their records, whatever words
 * the process has. A library may cut some records out of one block (SQLite's lookaside memory):
 * they are counted, and that block is not named. */
#ifndef HS_NATIVE_HANDLES_H
#define HS_NATIVE_HANDLES_H

#include "native.h"

/* Names the records of each list, and counts them as elements of the handle's block; behind
 * hs_native_opaque, which names the handles. O(blocks + records) where a handle has such a name,
 * else O(types). Fails with HS_LIMIT. */
hs_status hs_native_handles(struct hs_native *native, struct hs_flow *flow, struct hs_error *err);

#endif
