/* Names for what pointers to undescribed types lead to.
 *
 * `SSL *`, `sqlite3_stmt *` and the like are declared in a library's header and described in the
 * library alone, which comes without debug information. A pointer of the program says by its type
 * what its target is, and nothing of the words of that: "SSL (opaque)". So these blocks are named
 * and otherwise stay what they were, blocks whose words count by their values.
 *
 * A pointer behind a header of 16 bytes at most counts as well, as many libraries keep a size or a
 * count there. Of several names that pointers give one block the first in alphabetical order is
 * taken, those of pointers to its start before others, and of these those of blocks and of
 * variables that outlive calls before those of calls, which may be stale. */
#ifndef HS_NATIVE_OPAQUE_H
#define HS_NATIVE_OPAQUE_H

#include "native.h"

/* The most bytes that a library puts before what it hands out: SQLite 8, g_rc_box_new 16. */
enum { HS_OPAQUE_HEADER_BYTES = 16 };

/* Names the blocks; after everything is marked, as marking asks which blocks have no type. O(blocks
 * + words of types that have such pointers). Fails with HS_LIMIT. */
hs_status hs_native_opaque(const struct hs_native *native, struct hs_flow *flow,
                           struct hs_error *err);

#endif
