/* Blocks that one std::unique_ptr frees, whoever else leads to them.
 *
 *   std::vector<std::unique_ptr<Doc>> all      frees the documents
 *   std::map<long, Doc *> by_id, Doc *current  only refer to them
 *
 * A smart pointer that cannot be copied is the only owner of what it leads to, so that no plain
 * pointer to the same block frees it: such words and variables are lowered. Only members of smart
 * pointers whose type is described are believed, in elements that are in use and in no alternative
 * of a union; what was released or moved from is null.
 *
 * Resident: a bit per block where the program has such a type, else nothing. */
#ifndef HS_NATIVE_SOLE_H
#define HS_NATIVE_SOLE_H

#include "native.h"

/* Tells whether the pointer at `offset` of a value of this type is that of a smart pointer of C++
 * that cannot be copied, and that is nothing but the pointer: what a deleter has is none. O(depth
 * of members). */
bool hs_sole_is(const struct hs_native *native, hs_ctype type, uint64_t offset);
/* Returns the memory of the bits. */
uint64_t hs_sole_bytes(const struct hs_native *native, uint64_t n_blocks);
/* Finds the blocks that have a sole owner, and lowers the variables that lead to these otherwise to
 * the tier of what is borrowed. Fails with HS_LIMIT. */
hs_status hs_sole_find(struct hs_native *native, struct hs_flow *flow, struct hs_error *err);

#endif
