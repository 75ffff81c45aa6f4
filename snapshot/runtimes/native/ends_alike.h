/* Pairs of words (begin, end) without a name, by what stands in the same place of others.
 *
 *   holders     | begin | end |    | begin | end |    | begin | end |    blocks of one size, or
 *   buffers       [#########]        [######  ]         [#####   ]       elements of one array
 *
 * An end that equals the address of the block behind looks like a pointer to that, and a pair of
 * neighbours that were allocated in a row looks like (begin, end). But in other holders the buffers
 * are not full, and there the second word leads into the middle of the block to whose start the
 * first one leads, which no pair of two references does; or they are full and of other sizes. A
 * pair that stands alone stays two references. */
#ifndef HS_NATIVE_ENDS_ALIKE_H
#define HS_NATIVE_ENDS_ALIKE_H

#include "ends.h"

/* Tells whether the words `back` words before the place and there are (begin, end) of `before` by
 * others in their places: elements of the same array, or blocks beside its holder in a slab. O(1):
 * a few dozen words. */
bool hs_ends_are_alike(const struct hs_native *native, const struct hs_ends_place *place,
                       unsigned back, const struct hs_heap_block *before);

#endif
