/* Unwinds a stack, frame after frame. */
#include "frames.h"

#include <string.h>

#include "process/unwind.h"

enum {
    FRAMES_MAX = 1 << 22,     /* of all stacks: hostile tables make some of no words at all */
    FRAMES_MAX_SWITCHES = 64, /* of stacks, at signal frames */
    FRAMES_GUESS_BYTES = 1 << 16,
};

static bool is_code(const struct hs_native *native, hs_addr at)
{
    const struct hs_mapping *m = hs_target_mapping_at(&native->dump->target, at);
    return m != NULL && m->executable;
}

static bool is_inside(const struct hs_frames *f, hs_addr at)
{
    return f->has_extent && f->extent.mapping_begin <= at && at < f->extent.end;
}

/* Tells whether a call ends right before `at`. */
static bool follows_call(const struct hs_native *native, hs_addr at)
{
    const struct hs_object *object = hs_objects_object_at(&native->dump->objects, at - 1);
    const uint8_t *bytes = object == NULL
                               ? NULL
                               : hs_elf_bytes_at(object->elf, at - object->bias - HS_CALL_BYTES_MAX,
                                                 HS_CALL_BYTES_MAX);
    return bytes != NULL && hs_code_ends_in_call(bytes);
}

static bool by_tables(const struct hs_frames *f, struct hs_frame *ret)
{
    struct hs_frame step;
    if (!hs_unwind_image_step(&f->native->dump->image, &f->native->dump->objects, &f->r,
                              f->is_return_address, &step))
        return false;
    if (step.caller.value[HS_REG_PC] == 0)
        step.is_outermost = true; /* as start code without such a rule says it */
    if (!step.is_outermost && !is_code(f->native, step.caller.value[HS_REG_PC]))
        return false;
    if (!step.is_signal_frame && is_inside(f, f->r.value[HS_REG_SP]) && step.cfa > f->extent.end)
        return false;
    *ret = step;
    return true;
}

static struct hs_frame made_step(const struct hs_frames *f, hs_addr return_at, hs_addr pc)
{
    struct hs_frame step = {.cfa = return_at + HS_WORD_BYTES, .caller = f->r};
    step.caller.known &= HS_REGS_CALLEE_SAVED;
    step.caller.known |= UINT64_C(1) << HS_REG_SP | UINT64_C(1) << HS_REG_PC;
    step.caller.value[HS_REG_SP] = step.cfa;
    step.caller.value[HS_REG_PC] = pc;
    step.saved_at[HS_REG_PC] = return_at;
    return step;
}

/* Steps by the frame pointer, which leads to that of the caller: compilers of code at run time keep
 * to it. */
static bool by_pointer(const struct hs_frames *f, struct hs_frame *ret)
{
    hs_addr fp = f->r.value[HS_REG_FP];
    uint64_t saved, pc;
    if (!hs_register_known(&f->r, HS_REG_FP) || fp % HS_WORD_BYTES != 0 || !is_inside(f, fp) ||
        fp < f->r.value[HS_REG_SP] || !hs_image_u64(&f->native->dump->image, fp, &saved) ||
        !hs_image_u64(&f->native->dump->image, fp + HS_WORD_BYTES, &pc) ||
        !is_code(f->native, pc) || (saved != 0 && saved <= fp))
        return false;
    if (hs_objects_object_at(&f->native->dump->objects, pc) != NULL && !follows_call(f->native, pc))
        return false;
    *ret = made_step(f, fp + HS_WORD_BYTES, pc);
    ret->caller.known &= ~HS_REGS_CALLEE_SAVED | UINT64_C(1) << HS_REG_FP;
    ret->caller.value[HS_REG_FP] = saved;
    ret->saved_at[HS_REG_FP] = fp;
    return true;
}

static bool by_guess(const struct hs_frames *f, struct hs_frame *ret)
{
    hs_addr at = (f->r.value[HS_REG_SP] + HS_WORD_BYTES - 1) & ~(hs_addr)(HS_WORD_BYTES - 1);
    for (unsigned i = 0; i < FRAMES_GUESS_BYTES / HS_WORD_BYTES; i++, at += HS_WORD_BYTES) {
        uint64_t word;
        if (!is_inside(f, at) || !hs_image_u64(&f->native->dump->image, at, &word))
            return false;
        if (!is_code(f->native, word) || !follows_call(f->native, word))
            continue;
        *ret = made_step(f, at, word);
        return true;
    }
    return false;
}

/* Returns the address where the words of the frame at hand begin. Below sp only what was
 * interrupted keeps data. */
static hs_addr frame_low(const struct hs_frames *f, bool is_contiguous)
{
    hs_addr sp = f->r.value[HS_REG_SP];
    if (is_contiguous)
        return f->end;
    if (f->is_return_address || sp < f->extent.mapping_begin + HS_RED_ZONE_BYTES)
        return sp;
    return sp - HS_RED_ZONE_BYTES;
}

void hs_frames_begin(struct hs_native *native, const struct hs_thread *thread,
                     struct hs_frames *ret)
{
    struct hs_frames f = {.native = native, .r = hs_registers_of(&thread->regs)};
    f.has_extent = hs_native_stack_extent(native, thread, &f.extent);
    /* Until a frame lies there all of it belongs to none: what the thread left when it went to
     * another stack is not known. */
    f.end = f.extent.mapping_begin;
    if (is_inside(&f, f.r.value[HS_REG_SP]))
        f.end = frame_low(&f, false);
    *ret = f;
}

/* Finds the step out of the frame at hand, and its words. */
static bool frame_measure(struct hs_frames *f)
{
    hs_addr sp = f->r.value[HS_REG_SP];
    bool inside = is_inside(f, sp);
    f->method = HS_FRAME_BY_TABLES;
    if (!by_tables(f, &f->step)) {
        f->method = HS_FRAME_BY_POINTER;
        if (!by_pointer(f, &f->step)) {
            f->method = HS_FRAME_BY_GUESS;
            if (!by_guess(f, &f->step))
                return false;
        }
    }
    f->low = f->high = sp;
    if (!inside)
        return true;
    f->low = frame_low(f, f->was_inside && f->end <= sp && f->is_return_address);
    f->high = f->step.cfa;
    if (!f->step.is_signal_frame && (f->high < f->low || f->high > f->extent.end))
        f->high = f->extent.end;
    /* A signal frame ends at the interrupted stack pointer, perhaps of another stack; the red zone
     * of what was interrupted lies below that. */
    if (f->step.is_signal_frame && is_inside(f, f->high) && f->high - f->low > HS_RED_ZONE_BYTES)
        f->high -= HS_RED_ZONE_BYTES;
    else if (f->step.is_signal_frame)
        f->high = f->low;
    if (f->was_inside && f->low < f->end) /* a stack that was left and entered again, lower */
        f->low = f->end;
    if (f->high < f->low)
        f->high = f->low;
    f->end = f->high;
    f->was_inside = true;
    return true;
}

bool hs_frames_next(struct hs_frames *f)
{
    if (f->is_whole || f->native->n_frames >= FRAMES_MAX)
        return false;
    if (f->number != 0) {
        hs_addr from = f->r.value[HS_REG_SP];
        f->is_return_address = !f->step.is_signal_frame;
        f->r = f->step.caller;
        bool rises = f->r.value[HS_REG_SP] > from && f->r.value[HS_REG_SP] - from >= HS_WORD_BYTES;
        if (!rises && ++f->n_switches > FRAMES_MAX_SWITCHES)
            return false;
    }
    if (!hs_register_known(&f->r, HS_REG_SP) || !hs_register_known(&f->r, HS_REG_PC) ||
        !frame_measure(f))
        return false;
    f->number++;
    f->native->n_frames++;
    f->is_whole = f->step.is_outermost;
    return true;
}

uint32_t hs_frames_left(const struct hs_frames *frames)
{
    struct hs_frames f = *frames;
    while (hs_frames_next(&f))
        ;
    return f.number - frames->number;
}
