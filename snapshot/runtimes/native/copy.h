/* The stopped part of a native dump: private to dump.c. */
#ifndef HS_NATIVE_COPY_H
#define HS_NATIVE_COPY_H

#include "native.h"

/* Copies all private memory that may hold pointers, by the target's present list of mappings.
 * Called before the stop too, so that the copy under the stop finds its pages ready. Left out:
 * devices, the kernel's pages, shared memory, and private maps of large files that no loader made.
 * HS_TARGET when the target is gone. */
hs_status hs_native_copy(struct hs_native *native, struct hs_error *err);
/* Says what was left out, in notes; after the target was let go. */
hs_status hs_native_note_uncopied(struct hs_native *native, struct hs_error *err);

/* Finds whether the program may have set alternate signal stacks: native->has_signal_stacks. By the
 * names of functions that its files need. */
void hs_native_find_signal_stacks(struct hs_native *native);

#endif
