/* System calls of a stopped thread: setting one that a stop broke off to start again, and making
 * the thread do one. */
#ifndef HS_ARCH_CALLS_H
#define HS_ARCH_CALLS_H

#include "arch/processor.h"

/* A call that failed with EINTR because of the stop, or of a signal; one of those that have done
 * nothing then. */
bool hs_regs_call_is_broken_off(const struct hs_regs *regs);
/* Sets it back onto its instruction; false when it is none of these. */
bool hs_regs_call_restart(struct hs_regs *regs);

/* Whether a call made by hs_regs_call is one of this processor's 64-bit mode. */
bool hs_regs_may_call(const struct hs_regs *regs);
/* To run next: the call instruction at `code`, with this number and these arguments. */
void hs_regs_call(struct hs_regs *regs, hs_addr code, hs_addr stack, uint64_t number,
                  const uint64_t arguments[5]);
/* What it returned: negative numbers of errno. */
int64_t hs_regs_call_result(const struct hs_regs *regs);
/* To run next: the sigreturn at `code`, by the frame at `frame` (arch/sigframe.h). */
void hs_regs_sigreturn(struct hs_regs *regs, hs_addr code, hs_addr frame);

/* Short sequences of code that a program has somewhere: what calls, what returns from a handler,
 * what ends the thread or the process. Several may serve one purpose. */
enum hs_code_purpose { HS_CODE_CALL, HS_CODE_SIGRETURN, HS_CODE_LEAVE };

struct hs_code_sequence {
    enum hs_code_purpose purpose;
    uint8_t n_bytes;
    uint8_t bytes[15];
};

extern const struct hs_code_sequence hs_code_sequences[];
extern const size_t hs_n_code_sequences;

#endif
