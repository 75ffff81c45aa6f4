/* Objects of Qt: what a private part leads to, by which of its words objects find what they do not
 * keep. */
#ifndef HS_NATIVE_QT_H
#define HS_NATIVE_QT_H

#include "flow.h"

/* Gives connections of signals their types; blocks that have one keep it. After types have flowed:
 * what has the type of a private part is known by then. O(blocks). Fails with HS_LIMIT. */
hs_status hs_native_qt(const struct hs_native *native, struct hs_flow *flow, struct hs_error *err);

#endif
