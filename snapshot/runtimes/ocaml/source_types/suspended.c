/* The slots of suspended stacks, and where in the source their frames go on. */
#include "suspended.h"

#include "v5/ocaml5.h"

struct walk {
    const struct hs_frame_table *frames;
    const struct hs_frame_entry *entry; /* of the frame that came last */
    hs_ssuspended_fn slot;
    void *context;
    struct hs_error *err;
    hs_status status;
};

static void walk_slot(void *context, uint64_t value, hs_addr pc)
{
    struct walk *w = context;

    if (pc == 0 || w->status != HS_OK)
        return;
    if (w->entry == NULL || w->entry->return_address != pc)
        w->entry = hs_frame_table_find(w->frames, pc);
    if (w->entry != NULL)
        w->status = w->slot(w->context, value, w->entry, w->err);
}

static bool is_reached(const struct hs_sheap *heap, hs_addr block)
{
    struct hs_block found;

    return hs_map_resolve(heap->map, block, &found) &&
           hs_bitmap_get(&heap->marks->reached, found.bit);
}

hs_status hs_ssuspended_each(const struct hs_sheap *heap, hs_ssuspended_fn slot, void *context,
                             struct hs_error *err)
{
    const struct hs_ocaml5 *five = heap->rt->five;
    struct walk w = {.frames = heap->roots->frames, .slot = slot, .context = context, .err = err};

    for (size_t i = 0; five != NULL && i < five->n_fibers && w.status == HS_OK; i++)
        if (!five->fibers[i].is_damaged && is_reached(heap, five->fibers[i].block))
            (void)hs_ocaml5_stack_slots(heap->rt, w.frames, five->fibers[i].stack, walk_slot, &w);
    return w.status;
}
