/* Containers that are told apart by no types, for tests with fake_ctypes.h: each word stays a root
 * of its own. */
#ifndef HS_FAKE_JOINED_H
#define HS_FAKE_JOINED_H

#include "native/globals.h"

void hs_native_join_containers(struct hs_native *native, size_t first)
{
    (void)native, (void)first;
}

#endif
