/* Copies the memory of a native program under the stop: private to runtime.c. */
#ifndef HS_NATIVE_COPY_H
#define HS_NATIVE_COPY_H

#include "native.h"

/* Copies all private memory that may hold pointers, by the target's present list of mappings.
 * Called before the stop too, so that the copy under the stop finds its pages ready. Left out:
 * devices, the kernel's pages, shared memory, and private maps of large files that no loader made.
 * HS_TARGET when the target is gone. */
hs_status hs_native_copy(struct hs_native *native, struct hs_error *err);
/* Notes what was not read, and sets native->is_blind where that makes no leak certain; after the
 * target was let go. */
hs_status hs_native_note_uncopied(struct hs_native *native, struct hs_error *err);

/* Sets native->has_signal_stacks: whether the program may have set alternate signal stacks, by the
 * names of functions that its files need. */
void hs_native_find_signal_stacks(struct hs_native *native);

#endif
