/* Objects of Qt: the targets of their private parts, and which of the words there are non-owning.
 */
#ifndef HS_NATIVE_QT_H
#define HS_NATIVE_QT_H

#include "flow.h"

/* Returns the bytes that hs_native_qt takes; 0 where the process has no library of Qt's. */
uint64_t hs_native_qt_bytes(const struct hs_objects *objects, uint64_t n_blocks);

/* Gives connections of signals their types; blocks that have one keep it. After types have flowed:
 * what has the type of a private part is known by then. O(blocks). Fails with HS_LIMIT. */
hs_status hs_native_qt(struct hs_native *native, struct hs_flow *flow, struct hs_error *err);

/* Returns the number of the layout that a library gives objects of a class that the rules describe
 * ("QObjectPrivate" in "libQt6Core.so.6"), for the types of such; 0: none that is known. */
uint8_t hs_layout_of_class(const char *name, const char *library);
/* Returns the version of Qt whose object a block of this layout is; 0: it is none. */
unsigned hs_qt_version(uint8_t layout);

#endif
