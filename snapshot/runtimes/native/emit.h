/* The record that the snapshot has of a block, without its edges. */
#ifndef HS_NATIVE_EMIT_H
#define HS_NATIVE_EMIT_H

#include "native.h"

/* Makes the record of a block's address, size, type and count of elements, not of its state. A
 * block without a type gets one that tells where it is or its size, which is added to `flow`. */
hs_status hs_native_block_record(struct hs_native *native, struct hs_flow *flow,
                                 const struct hs_heap_block *block, struct hs_block_record *ret,
                                 struct hs_error *err);

#endif
