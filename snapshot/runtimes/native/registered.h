/* The ranges that the program registered, for those collectors that leave them out. */
#ifndef HS_NATIVE_REGISTERED_H
#define HS_NATIVE_REGISTERED_H

#include "native.h"

/* Borrowed until the heaps are closed. */
const struct hs_registered_root *hs_native_registered(const struct hs_native *native,
                                                      size_t *ret_n);

#endif
