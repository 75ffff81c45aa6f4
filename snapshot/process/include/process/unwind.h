/* One step up a stack, across the objects of a target: of the stopped process itself, or of a copy
 * of its memory. */
#ifndef HS_PROCESS_UNWIND_H
#define HS_PROCESS_UNWIND_H

#include "process/image.h"
#include "process/objects.h"
#include "symbols/cfi.h"

/* Opens the frame tables of an object of `objects` once; NULL when it has none. */
struct hs_cfi *hs_unwind_cfi(struct hs_objects *objects, struct hs_object *object);

/* The caller of the frame `r`; false when no table covers it or the stack cannot be read. Reads the
 * live target: stopped only. Microseconds. */
bool hs_unwind_step(struct hs_target *target, struct hs_objects *objects,
                    const struct hs_registers *r, bool is_return_address, struct hs_frame *ret);
/* The same where the code may have changed stacks, as OCaml 5 does: the caller's frame may lie
 * anywhere. */
bool hs_unwind_switch(struct hs_target *target, struct hs_objects *objects,
                      const struct hs_registers *r, bool is_return_address, struct hs_frame *ret);

/* Reads the copy; borrows it. */
struct hs_memory_reader hs_unwind_image_reader(const struct hs_image *image);

/* Unwinds as hs_unwind_step does, from a copy, so that the process may run. A frame that a signal
 * interrupted may lie anywhere, as handlers have stacks of their own; every other one must lie
 * above its callee. */
bool hs_unwind_image_step(const struct hs_image *image, struct hs_objects *objects,
                          const struct hs_registers *r, bool is_return_address,
                          struct hs_frame *ret);

#endif
