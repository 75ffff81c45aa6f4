/* The heap of a language's runtime that is recognised and not read (rules/rules.h, "runtime"): it
 * is one owner, of all that its words lead to.
 *
 * Its objects are not known, so that its mappings are pieces whose words lead to each other. Many
 * variables of the runtime lead somewhere into them; none of these keeps what is there, which the
 * collector does. So there is one root, "heap of Ruby", of the runtime's tier: what a variable of
 * the program has is that variable's, all else that is found from there is the heap's. Words from
 * outside that lead into the heap are doubtful. A mapping whose beginning a variable of another
 * binary has is the program's own pool.
 *
 * Pointers that such a runtime encodes or computes are not known either: where the heap is of any
 * size no leak is certain. */
#ifndef HS_NATIVE_FOREIGN_H
#define HS_NATIVE_FOREIGN_H

#include "native.h"

/* Finds the heap, adds its root, and lowers the roots that lead into it; after all other roots are
 * collected. Nothing where no runtime is recognised, or another allocator that is not read may have
 * such memory. */
hs_status hs_native_collect_foreign(struct hs_native *native, struct hs_error *err);
void hs_native_foreign_fini(struct hs_native_foreign *foreign);

/* Tells whether a block is a piece of that heap. O(log n) of its mappings. */
static inline bool hs_native_is_foreign(const struct hs_native *native,
                                        const struct hs_heap_block *block)
{
    return native->foreign.ranges.n != 0 && block->span->owner == HS_OWNER_MAPPING &&
           hs_range_set_find(&native->foreign.ranges, block->begin) != NULL;
}

#endif
