/* One step up a live stack, across the objects of a stopped target. */
#ifndef HS_CAPTURE_UNWIND_H
#define HS_CAPTURE_UNWIND_H

#include "capture/objects.h"
#include "symbols/cfi.h"

/* The registers of a stopped thread in DWARF's numbering. */
struct hs_registers hs_unwind_registers(const struct hs_thread *thread);

/* Opens the frame tables of an object once; NULL when it has none. */
struct hs_cfi *hs_unwind_cfi(struct hs_object *object);

/* The caller of the frame `r`; false when no table covers it or the stack cannot be read. Reads the
 * live target: stopped only. Microseconds. */
bool hs_unwind_step(struct hs_target *target, struct hs_objects *objects,
                    const struct hs_registers *r, bool is_return_address, struct hs_frame *ret);

#endif
