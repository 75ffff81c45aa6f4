/* One frame after another. */
#include "frames.h"

#include <string.h>

#include "process/unwind.h"

enum {
    FRAMES_RED_ZONE = 128,    /* below rsp a leaf function may keep data (System V ABI 3.2.2) */
    FRAMES_MAX = 1 << 22,     /* of all stacks: hostile tables make some of no words at all */
    FRAMES_MAX_SWITCHES = 64, /* of stacks, at signal frames */
    FRAMES_GUESS_BYTES = 1 << 16,
    FRAMES_CALL_BYTES = 7, /* the longest call through memory, without prefixes */
};

/* What a frame without tables leaves of its caller's registers. */
#define FRAMES_CALLEE_SAVED                                                  \
    (UINT32_C(1) << HS_RBX | UINT32_C(1) << HS_R12 | UINT32_C(1) << HS_R13 | \
     UINT32_C(1) << HS_R14 | UINT32_C(1) << HS_R15)

static bool is_code(const struct hs_native *native, hs_addr at)
{
    const struct hs_mapping *m = hs_target_mapping_at(&native->target, at);
    return m != NULL && m->executable;
}

static bool is_inside(const struct hs_frames *f, hs_addr at)
{
    return f->has_extent && f->extent.mapping_begin <= at && at < f->extent.end;
}

/* Does a call end right before `at`? E8 rel32, or FF /2 with any operand. */
static bool follows_call(const struct hs_native *native, hs_addr at)
{
    const struct hs_object *object = hs_objects_object_at(&native->objects, at - 1);
    const uint8_t *bytes = object == NULL
                               ? NULL
                               : hs_elf_bytes_at(object->elf, at - object->bias - FRAMES_CALL_BYTES,
                                                 FRAMES_CALL_BYTES);
    if (bytes == NULL)
        return false;
    if (bytes[2] == 0xe8)
        return true;
    for (unsigned i = 0; i + 1 < FRAMES_CALL_BYTES; i++)
        if (bytes[i] == 0xff && (bytes[i + 1] >> 3 & 7) == 2)
            return true;
    return false;
}

static bool by_tables(const struct hs_frames *f, struct hs_frame *ret)
{
    struct hs_frame step;
    if (!hs_unwind_image_step(&f->native->image, &f->native->objects, &f->r, f->is_return_address,
                              &step))
        return false;
    if (step.caller.value[HS_RIP] == 0)
        step.is_outermost = true; /* as start code without such a rule says it */
    if (!step.is_outermost && !is_code(f->native, step.caller.value[HS_RIP]))
        return false;
    if (!step.is_signal_frame && is_inside(f, f->r.value[HS_RSP]) && step.cfa > f->extent.end)
        return false;
    *ret = step;
    return true;
}

static struct hs_frame made_step(const struct hs_frames *f, hs_addr return_at, hs_addr rip)
{
    struct hs_frame step = {.cfa = return_at + HS_WORD_BYTES, .caller = f->r};
    step.caller.known &= FRAMES_CALLEE_SAVED | UINT32_C(1) << HS_RBP;
    step.caller.known |= UINT32_C(1) << HS_RSP | UINT32_C(1) << HS_RIP;
    step.caller.value[HS_RSP] = step.cfa;
    step.caller.value[HS_RIP] = rip;
    step.saved_at[HS_RIP] = return_at;
    return step;
}

/* push %rbp; mov %rsp, %rbp: compilers of code at run time keep to it. */
static bool by_pointer(const struct hs_frames *f, struct hs_frame *ret)
{
    hs_addr rbp = f->r.value[HS_RBP];
    uint64_t saved, rip;
    if (!hs_register_known(&f->r, HS_RBP) || rbp % HS_WORD_BYTES != 0 || !is_inside(f, rbp) ||
        rbp < f->r.value[HS_RSP] || !hs_image_u64(&f->native->image, rbp, &saved) ||
        !hs_image_u64(&f->native->image, rbp + HS_WORD_BYTES, &rip) || !is_code(f->native, rip) ||
        (saved != 0 && saved <= rbp))
        return false;
    if (hs_objects_object_at(&f->native->objects, rip) != NULL && !follows_call(f->native, rip))
        return false;
    *ret = made_step(f, rbp + HS_WORD_BYTES, rip);
    ret->caller.known &= ~FRAMES_CALLEE_SAVED;
    ret->caller.value[HS_RBP] = saved;
    ret->saved_at[HS_RBP] = rbp;
    return true;
}

static bool by_guess(const struct hs_frames *f, struct hs_frame *ret)
{
    hs_addr at = (f->r.value[HS_RSP] + HS_WORD_BYTES - 1) & ~(hs_addr)(HS_WORD_BYTES - 1);
    for (unsigned i = 0; i < FRAMES_GUESS_BYTES / HS_WORD_BYTES; i++, at += HS_WORD_BYTES) {
        uint64_t word;
        if (!is_inside(f, at) || !hs_image_u64(&f->native->image, at, &word))
            return false;
        if (!is_code(f->native, word) || !follows_call(f->native, word))
            continue;
        *ret = made_step(f, at, word);
        return true;
    }
    return false;
}

/* Where the words of the frame at hand begin. Below rsp only what was interrupted keeps data. */
static hs_addr frame_low(const struct hs_frames *f, bool is_contiguous)
{
    hs_addr rsp = f->r.value[HS_RSP];
    if (is_contiguous)
        return f->end;
    if (f->is_return_address || rsp - f->extent.mapping_begin < FRAMES_RED_ZONE)
        return rsp;
    return rsp - FRAMES_RED_ZONE;
}

void hs_frames_begin(struct hs_native *native, const struct hs_thread *thread,
                     struct hs_frames *ret)
{
    struct hs_frames f = {.native = native, .r = hs_unwind_registers(thread)};
    f.has_extent = hs_native_stack_extent(native, thread, &f.extent);
    /* Until a frame lies there all of it belongs to none: what the thread left when it went to
     * another stack is not known. */
    f.end = f.extent.mapping_begin;
    if (is_inside(&f, f.r.value[HS_RSP]))
        f.end = frame_low(&f, false);
    *ret = f;
}

/* Finds the step out of the frame at hand, and its words. */
static bool frame_measure(struct hs_frames *f)
{
    hs_addr rsp = f->r.value[HS_RSP];
    bool inside = is_inside(f, rsp);
    f->method = HS_FRAME_BY_TABLES;
    if (!by_tables(f, &f->step)) {
        f->method = HS_FRAME_BY_POINTER;
        if (!by_pointer(f, &f->step)) {
            f->method = HS_FRAME_BY_GUESS;
            if (!by_guess(f, &f->step))
                return false;
        }
    }
    f->low = f->high = rsp;
    if (!inside)
        return true;
    f->low = frame_low(f, f->was_inside && f->end <= rsp && f->is_return_address);
    f->high = f->step.cfa;
    if (!f->step.is_signal_frame && (f->high < f->low || f->high > f->extent.end))
        f->high = f->extent.end;
    /* Of a signal frame that is the interrupted rsp, perhaps of another stack; below it is the red
     * zone of what was interrupted. */
    if (f->step.is_signal_frame && is_inside(f, f->high) && f->high - f->low > FRAMES_RED_ZONE)
        f->high -= FRAMES_RED_ZONE;
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
        hs_addr from = f->r.value[HS_RSP];
        f->is_return_address = !f->step.is_signal_frame;
        f->r = f->step.caller;
        bool rises = f->r.value[HS_RSP] > from && f->r.value[HS_RSP] - from >= HS_WORD_BYTES;
        if (!rises && ++f->n_switches > FRAMES_MAX_SWITCHES)
            return false;
    }
    if (!hs_register_known(&f->r, HS_RSP) || !hs_register_known(&f->r, HS_RIP) || !frame_measure(f))
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
