/* Pointers into the middle of what a container or a shared counter frees.
 *
 *   std::list<Doc>::node           std::make_shared<Doc>          array of a vector
 *   { next, prev, Doc }            { table, counts, Doc }         { Doc, Doc, Doc }
 *     ^           ^                  ^              ^               ^    ^
 *     |           +-- Doc *          |              +-- Doc *       |    +-- Doc *
 *     +-- the list frees it          +-- shared_ptr frees it        +-- the vector frees it
 *
 * Such memory is freed by the address of its first byte, and by its container alone: who has the
 * address of an element only refers to it. So does who has that of a short text in a std::string,
 * which the string itself has room for, whatever block that stands in. The members of smart
 * pointers and containers that lead there are left, as are two words of which the second leads to
 * the first byte (a shared_ptr of which no type tells). */
#ifndef HS_NATIVE_ELEMENTS_H
#define HS_NATIVE_ELEMENTS_H

#include "said.h"

/* Tells whether the word at `at` of a block, which leads into the middle of `target` and is `slot`
 * by its type (NULL: not known), leads to an element of a container. O(1). */
bool hs_elements_is(const struct hs_said *said, uint64_t at, const struct hs_cslot *slot,
                    const struct hs_heap_block *target);
/* Lowers the variables that lead to such elements to the tier of what is borrowed. O(variables). */
void hs_elements_lower_roots(struct hs_native *native, const struct hs_flow *flow);

#endif
