/* The frame by which a thread returns to where it was, should we die while it calls for us.
 *
 *   stack        begin .. 8 KiB free .. frame | xstate | B .. end of area ... sp of the thread
 *                                       ^ sp while it calls       ^ stack of the child
 *
 * The bytes are those that the kernel itself writes to deliver a signal (struct rt_sigframe,
 * arch/x86/include/asm/sigframe.h and uapi/asm/sigcontext.h), so that sigreturn restores registers,
 * signal mask and floating point state. At B stands where a child returns to: code that exits. */
#ifndef HS_ARCH_SIGFRAME_H
#define HS_ARCH_SIGFRAME_H

#include "arch/processor.h"

/* The least room for a handler of a signal that comes while the thread is armed. */
#define HS_SIGFRAME_BELOW ((hs_addr)8192)
/* The bytes that must be free below the stack pointer, the area and what lies below it included. */
#define HS_SIGFRAME_STACK_BYTES ((hs_addr)40 << 10)
#define HS_SIGFRAME_BYTES_MAX ((size_t)16 << 10)

/* Addresses in the target, all in [frame, end). */
struct hs_sigframe_place {
    hs_addr frame;       /* where the return address stands; also the stack of a call */
    hs_addr xstate;      /* aligned to 64 */
    hs_addr child_stack; /* B */
    hs_addr scratch;     /* 8 bytes for the result of a call */
    hs_addr end;
};

/* Chooses in two steps the base in a stack that begins at `stack_begin`, so that no page table is
 * needed for it where that can be; then the place for so many bytes of state. False when there is
 * no room. A stack pointer outside of the stack is given as the stack's end. */
bool hs_sigframe_choose(hs_addr stack_begin, hs_addr stack_pointer, size_t xstate_bytes,
                        struct hs_sigframe_place *ret);
/* Tells whether a thread with this stack pointer is on its way back through a frame of ours:
 * another tool died a moment ago, and a new frame would destroy what it is about to restore. */
bool hs_sigframe_is_taken(hs_addr stack_begin, hs_addr stack_pointer);

/* Turns what PTRACE_GETREGSET HS_ARCH_STATE_NOTE gave into what a signal frame holds, with both
 * magic words; *n_bytes shrinks by state that the thread does not use and must not name. `capacity`
 * is that of `xstate`. False when there is nothing to be made of it. */
bool hs_sigframe_state(uint8_t *xstate, size_t *n_bytes, size_t capacity);

/* Returns the registers as sigreturn is to restore them: a system call that the stop broke off
 * starts again. `code` are the HS_CODE_RESTARTED_BYTES before the instruction pointer, or NULL:
 * they tell the number of a call that was already restarted once, unless it was noted then (else
 * 0). */
#define HS_CODE_RESTARTED_BYTES 7 /* of `mov $nr, %eax; syscall` */
struct hs_regs hs_sigframe_regs(const struct hs_regs *regs, const uint8_t *code, uint64_t noted);

struct hs_sigframe {
    struct hs_sigframe_place place;
    struct hs_regs regs; /* of hs_sigframe_regs */
    uint64_t signal_mask;
    hs_addr sigreturn, leave; /* code in the target */
    const uint8_t *xstate;    /* of hs_sigframe_state */
    size_t xstate_bytes;
};

/* Writes the bytes of [frame, end). `area` has place.end - place.frame of them. */
void hs_sigframe_build(const struct hs_sigframe *frame, uint8_t *area);

#endif
