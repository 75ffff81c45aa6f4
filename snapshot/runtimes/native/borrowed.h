/* What a running call has from somebody else: an argument, a reference, an iterator, what it looked
 * up. It keeps only what no variable that outlives the call does: decision 034. */
#ifndef HS_NATIVE_BORROWED_H
#define HS_NATIVE_BORROWED_H

#include "frames_label.h"
#include "symbols/locals.h"

/* Does `local`, a variable of the call `label`, borrow what it leads to by `word`? By its type:
 *
 *   std::vector<T>, Vec<T>, Box<T>, a class    no, wherever it is: it may be all that owns
 *   T &, &T, &mut T; an iterator of C++        always
 *   T *; in C a struct, too                    yes, but for a variable of main, or of what main has
 *                                              called, that leads to the beginning of a block and
 *                                              is no argument
 *
 * `word` need not lead anywhere. O(length of the type's name). */
bool hs_native_is_borrowed(const struct hs_native *native,
                           const struct hs_native_frame_label *label, const struct hs_local *local,
                           uint64_t word);

#endif
