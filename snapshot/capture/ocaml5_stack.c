/* Stacks of OCaml 5. */
#include "ocaml5.h"

hs_status hs_ocaml5_walk_stacks(struct hs_root_walk *walk)
{
    if (hs_walk_is_copying(walk))
        return HS_OK;
    return hs_ocaml_note(walk->rt, true, walk->err, "stacks of OCaml 5 were not scanned");
}

bool hs_ocaml5_stack_slots(const struct hs_ocaml *rt, const struct hs_frame_table *frames,
                           hs_addr stack, hs_ocaml5_slot_fn slot, void *context)
{
    uint64_t handler, value;
    (void)frames;
    if (!hs_image_u64(rt->image, stack + HS_STACK5_HANDLER, &handler))
        return false;
    for (unsigned i = 0; i < HS_HANDLER5_PARENT; i += HS_WORD) {
        if (!hs_image_u64(rt->image, handler + i, &value))
            return false;
        slot(context, value);
    }
    return false; /* its frames were not looked at */
}
