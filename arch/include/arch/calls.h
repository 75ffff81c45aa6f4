/* System calls of a stopped thread: setting one that a stop broke off to start again, and making
 * the thread do one. */
#ifndef HS_ARCH_CALLS_H
#define HS_ARCH_CALLS_H

#include "arch/processor.h"

/* Tells whether a mere stop may break off the call: the next function says when it has. */
bool hs_call_may_break_off(uint64_t number);
/* Tells whether a call failed with EINTR because of the stop, or of a signal, of those that have
 * done nothing then; or is one that the kernel would start again with all of its time. */
bool hs_regs_call_is_broken_off(const struct hs_regs *regs);
/* Makes it one that the kernel starts again itself as the thread goes on, unless it runs a handler
 * first: then it returns EINTR. False when it is none of these. */
bool hs_regs_call_restart(struct hs_regs *regs);

/* A call that returns what it has done until then when a stop, or a signal, finds it asleep: it
 * cannot start again. */
struct hs_partial_call {
    int fd;            /* the file it waits for; -1: none */
    uint64_t n_asked;  /* bytes or messages; 0: not to be told by its arguments */
    uint64_t n_done;   /* by one that has returned */
    bool is_write;     /* of one piece: all or nothing where a pipe has to take it whole */
    bool leaves_error; /* with its socket, for the next call there */
    bool by_file;      /* it returns what there is, unless its file waits for more (SO_RCVLOWAT,
                          VMIN) */
};
/* Tells what parts the call has. False when it is none of these, or was asked for so little that
 * there are no parts. */
bool hs_call_is_partial(uint64_t number, const uint64_t arguments[6], struct hs_partial_call *ret);
/* Tells whether the call returned having done part of what it was asked for; by_file: that may be
 * what its file waits for. */
bool hs_regs_call_is_cut(const struct hs_regs *regs, struct hs_partial_call *ret);
/* Tells whether the call closes files: asleep, it waits until the data of a socket is with its peer
 * (SO_LINGER, socket(7)). It returns as if all were done when a signal comes, and cannot be made
 * again. */
bool hs_call_closes(uint64_t number);
/* Tells whether the call closed a file before its data was sent. */
bool hs_regs_call_has_closed(const struct hs_regs *regs);
/* Tells whether the call may read from a terminal. */
bool hs_call_reads(uint64_t number);
/* Tells whether it is a read that the kernel starts again, with all of its time. */
bool hs_regs_read_begins_anew(const struct hs_regs *regs);

/* The ways in which a call states its timeout. Calls that are not named here, those that wait until
 * a point in time, and those that were told no limit, are untimed: to start again is all they need.
 */
enum hs_wait_form {
    HS_WAIT_UNTIMED,
    HS_WAIT_MS,       /* milliseconds in a register */
    HS_WAIT_TIMESPEC, /* seconds, nanoseconds in memory */
    HS_WAIT_TIMEVAL,  /* seconds, microseconds */
    HS_WAIT_NESTED,   /* HS_WAIT_NESTED_BYTES of arguments in memory, the last word the address of
                         a timespec */
    HS_WAIT_SOCKET,   /* a property of the file `fd`, if that is a socket */
};
#define HS_WAIT_NESTED_BYTES 24

struct hs_wait {
    enum hs_wait_form form;
    uint8_t argument; /* that says it */
    bool has_rest; /* the kernel has written the rest to `at`, and starts the call again itself */
    bool sends;    /* HS_WAIT_SOCKET: the limit is that of sending */
    uint64_t ms;
    hs_addr at;
    int fd;
};

/* Returns the timeout of a call with this number and these arguments, as it begins. */
struct hs_wait hs_wait_of(uint64_t number, const uint64_t arguments[6]);
/* Returns the timeout of the call that a stop interrupted. */
struct hs_wait hs_regs_wait(const struct hs_regs *regs);
/* A call of which the kernel keeps when it ends, and starts it again for the rest by itself; in
 * registers of hs_sigframe_regs, by which that is lost: the call begins anew. Untimed: none. */
struct hs_wait hs_regs_wait_kept(const struct hs_regs *framed);
/* Returns the number of the call that these registers are about to make. */
uint64_t hs_regs_call_number(const struct hs_regs *regs);
/* Tells whether it may be one of these, asleep. */
bool hs_call_is_kept(uint64_t number);
/* Sets another limit for a call that starts again: of HS_WAIT_MS; of the forms in memory. */
void hs_regs_wait_ms(struct hs_regs *regs, const struct hs_wait *wait, uint64_t ms);
void hs_regs_wait_at(struct hs_regs *regs, const struct hs_wait *wait, hs_addr at);

/* Tells whether a call made by hs_regs_call is one of this processor's 64-bit mode. */
bool hs_regs_may_call(const struct hs_regs *regs);
/* Prepares the registers to run next the call instruction at `code`, with this number and these
 * arguments. */
void hs_regs_call(struct hs_regs *regs, hs_addr code, hs_addr stack, uint64_t number,
                  const uint64_t arguments[5]);
/* Returns the result of a call: negative numbers of errno. */
int64_t hs_regs_call_result(const struct hs_regs *regs);
/* Prepares the registers to run next the sigreturn at `code`, by the frame at `frame`
 * (arch/sigframe.h). */
void hs_regs_sigreturn(struct hs_regs *regs, hs_addr code, hs_addr frame);

/* The purposes of short sequences of code that a program has somewhere: what calls, what returns
 * from a handler, what ends the thread or the process. Several may serve one purpose. */
enum hs_code_purpose { HS_CODE_CALL, HS_CODE_SIGRETURN, HS_CODE_LEAVE };

struct hs_code_sequence {
    enum hs_code_purpose purpose;
    uint8_t n_bytes;
    uint8_t bytes[15];
};

extern const struct hs_code_sequence hs_code_sequences[];
extern const size_t hs_n_code_sequences;

#endif
