/* The live slots of a suspended stack, for the block of the continuation that owns it. What a stack
 * looks like stands in stack.c. */
#include "ocaml5.h"

enum {
    LINK_BYTES = 32,
    N_HANDLERS = 3,
    N_SLOTS_SPARE = 4096, /* arguments in the caller's frame, several times over */
};

struct fiber {
    const struct hs_image *image;
    const struct hs_frame_table *frames;
    hs_addr begin, end, sp, pc;
    uint64_t n_slots_left; /* each word of a stack is a slot of one frame, arguments apart */
    hs_ocaml5_slot_fn slot;
    void *context;
};

static bool fiber_open(struct fiber *f, hs_addr stack)
{
    uint64_t sp, end;
    if (stack % HS_WORD != 0 || stack > UINT64_MAX / 2 ||
        !hs_image_u64(f->image, stack + HS_STACK5_SP, &sp) ||
        !hs_image_u64(f->image, stack + HS_STACK5_HANDLER, &end))
        return false;
    f->begin = stack + HS_STACK5_BYTES;
    f->end = end;
    f->sp = sp;
    f->n_slots_left = (end - f->begin) / HS_WORD + N_SLOTS_SPARE;
    return end % HS_WORD == 0 && end >= f->begin && end < UINT64_MAX / 2;
}

static bool fiber_holds(const struct fiber *f, hs_addr sp)
{
    return sp % HS_WORD == 0 && sp >= f->begin && sp <= f->end;
}

/* Enters a chunk by its return address, with or without a frame pointer before it. */
static bool fiber_enter(struct fiber *f)
{
    uint64_t pc;
    for (unsigned i = 0; i < 2; i++) {
        if (!fiber_holds(f, f->sp) || !hs_image_u64(f->image, f->sp, &pc))
            return false;
        f->sp += HS_WORD;
        f->pc = pc;
        if (hs_frame_table_find(f->frames, pc) != NULL)
            return true;
    }
    return false;
}

static bool fiber_frame(struct fiber *f, const struct hs_frame_descriptor *d)
{
    uint16_t live;
    uint64_t value;
    if (d->n_live > f->n_slots_left)
        return false;
    f->n_slots_left -= d->n_live;
    for (unsigned i = 0; i < d->n_live; i++) {
        /* A register's slot cannot be: nothing was saved for the stack to go on. */
        if (!hs_frame_live(f->image, d, i, &live) || (live & 1) != 0 ||
            !hs_image_u64(f->image, f->sp + live, &value))
            return false;
        f->slot(f->context, value, f->pc);
    }
    uint64_t n_bytes = hs_frame_bytes(d), pc;
    if (n_bytes < HS_WORD || !fiber_holds(f, f->sp + n_bytes) ||
        !hs_image_u64(f->image, f->sp + n_bytes - HS_WORD, &pc))
        return false;
    f->sp += n_bytes;
    f->pc = pc;
    return true;
}

static bool fiber_frames(struct fiber *f)
{
    struct hs_frame_descriptor d;
    while (f->sp != f->end) {
        if (!fiber_enter(f))
            return false;
        for (;;) {
            const struct hs_frame_entry *entry = hs_frame_table_find(f->frames, f->pc);
            if (entry == NULL || !hs_frame_descriptor_read(f->image, entry->at, &d))
                return false;
            if (d.frame_size == HS_FRAME_LINK)
                break;
            if (!fiber_frame(f, &d))
                return false;
        }
        f->sp += LINK_BYTES;
        if (!fiber_holds(f, f->sp))
            return false;
    }
    return true;
}

bool hs_ocaml5_stack_slots(const struct hs_ocaml *rt, const struct hs_frame_table *frames,
                           hs_addr stack, hs_ocaml5_slot_fn slot, void *context)
{
    struct fiber f = {.image = rt->image, .frames = frames, .slot = slot, .context = context};
    uint64_t value;
    if (!fiber_open(&f, stack) || !fiber_holds(&f, f.sp))
        return false;
    bool is_whole = fiber_frames(&f);
    for (unsigned i = 0; i < N_HANDLERS; i++) {
        if (!hs_image_u64(f.image, f.end + i * HS_WORD, &value))
            return false;
        slot(context, value, 0);
    }
    return is_whole;
}
