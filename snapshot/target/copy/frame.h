/* The frame by which a thread returns to where it was, should we die while it calls for us.
 *
 *   stack        begin .. 8 KiB free .. frame | xstate | B .. end of area ... rsp of the thread
 *                                       ^ rsp while it calls      ^ stack of the child
 *
 * The bytes are those that the kernel itself writes to deliver a signal (struct rt_sigframe,
 * arch/x86/include/asm/sigframe.h and uapi/asm/sigcontext.h), so that sigreturn restores registers,
 * signal mask and floating point state. At B stands where a child returns to: code that exits. */
#ifndef HS_COPY_FRAME_H
#define HS_COPY_FRAME_H

#include <sys/user.h>

#include "base/error.h"

/* Lowest room for a handler of a signal that comes while the thread is armed. */
#define HS_COPY_FRAME_BELOW ((hs_addr)8192)
/* What must be free below the stack pointer, the area and what lies below it included. */
#define HS_COPY_STACK_BYTES ((hs_addr)40 << 10)
#define HS_COPY_AREA_BYTES_MAX ((size_t)16 << 10)

/* Addresses in the target, all in [frame, end). */
struct hs_copy_place {
    hs_addr frame;       /* where the return address stands; also the stack of a call */
    hs_addr xstate;      /* aligned to 64 */
    hs_addr child_stack; /* B */
    hs_addr scratch;     /* 8 bytes for the result of a call */
    hs_addr end;
};

/* Two steps: chooses the base in a stack that begins at `stack_begin`, so that no page table is
 * needed for it where that can be; then the place for so many bytes of state. False when there is
 * no room. A stack pointer outside of the stack is given as the stack's end. */
bool hs_copy_place_choose(hs_addr stack_begin, hs_addr stack_pointer, size_t xstate_bytes,
                          struct hs_copy_place *ret);
/* A thread with this stack pointer is on its way back through a frame of ours: another tool died a
 * moment ago, and a new frame would destroy what it is about to restore. */
bool hs_copy_place_is_taken(hs_addr stack_begin, hs_addr stack_pointer);

/* Turns what PTRACE_GETREGSET NT_X86_XSTATE gave into what a signal frame holds, with both magic
 * words; *n_bytes shrinks by state that the thread does not use and must not name. `capacity` is
 * that of `xstate`. False when there is nothing to be made of it. */
bool hs_copy_xstate_to_frame(uint8_t *xstate, size_t *n_bytes, size_t capacity);

/* Registers as sigreturn is to restore them: a system call that the stop broke off starts again.
 * `code` are the bytes before the instruction pointer, 7 of them, or NULL: they tell the number of
 * a call that was already restarted once. */
struct user_regs_struct hs_copy_frame_regs(const struct user_regs_struct *regs,
                                           const uint8_t *code);

struct hs_copy_frame {
    struct hs_copy_place place;
    struct user_regs_struct regs; /* of hs_copy_frame_regs */
    uint64_t signal_mask;
    hs_addr sigreturn, leave; /* code in the target */
    const uint8_t *xstate;    /* of hs_copy_xstate_to_frame */
    size_t xstate_bytes;
};

/* The bytes of [frame, end). `area` has place.end - place.frame of them. */
void hs_copy_frame_build(const struct hs_copy_frame *frame, uint8_t *area);

#endif
