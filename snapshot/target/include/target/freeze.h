/* A frozen copy of a process: a child of it that shares its memory copy-on-write and never runs.
 *
 * The target is made to call clone itself, without a byte of code written into it: one of its
 * threads is pointed at a `syscall` instruction of its own libc, and a frame that the kernel would
 * have written for a signal stands in dead memory of its stack, so that from before the first
 * change to after the last our death lets that thread return, by sigreturn, to where it was.
 *
 *   T  the thread that calls      stop -> frame -> armed -> clone(VM) -> wait4 -> as before
 *   M  throw-away middle process           born stopped -> clone -> killed
 *   C  the copy                                   born stopped, ends with us (EXITKILL)
 *
 * Why each flag and each order: docs/decisions/012-a-frozen-copy.md. */
#ifndef HS_TARGET_FREEZE_H
#define HS_TARGET_FREEZE_H

#include "target/target.h"

enum hs_copy_variant {
    HS_COPY_NONE,
    HS_COPY_MIDDLE, /* by a middle process: nothing is left */
    HS_COPY_DIRECT, /* pid 1 and subreapers, who would get the orphan: reaped in a second stop */
};

/* The outlook of a copy, found without a stop: whether one can be made, and how long the process
 * would be held by either way. */
struct hs_copy_outlook {
    enum hs_copy_variant variant; /* HS_COPY_NONE: none can be made, see `why` */
    char why[160];                /* one clause: "a seccomp filter is active" */
    uint64_t resident_bytes;      /* private, that a copy shares */
    uint64_t copy_pause_ns;       /* predicted */
    uint64_t read_pause_ns;       /* predicted, of a stopped read */
    uint64_t copy_busy_ns;        /* what it may take longer, as others want the processors */
    uint64_t read_busy_ns;
    uint64_t saved_bytes; /* of areas that a copy lacks: read in the pause */
};

/* HS_TARGET when the process is gone; HS_LIMIT. Never stops anything. About 20 ms per GB resident.
 */
hs_status hs_copy_foresee(const struct hs_target *target, struct hs_copy_outlook *ret,
                          struct hs_error *err);

/* "12 to 25 ms": between which a pause of which that is foreseen will lie, into
 * text[HS_FORESEEN_TEXT_BYTES]. */
#define HS_FORESEEN_TEXT_BYTES 80
void hs_foreseen_text(uint64_t ns, uint64_t busy_ns, char *text, size_t n_bytes);

/* Tells whether freezing will make a copy, as far as that can be foreseen: then reading the memory
 * once before the stop, to have it ready, is in vain. Looks at the process when it has not done so
 * for some seconds. */
bool hs_copy_is_expected(struct hs_target *target);

/* Returns false, in a stop, when a copy is expected but not at this moment: the main thread is
 * deeper in its stack than ever before and has no room below it. A little later it has. */
bool hs_copy_suits(struct hs_target *target);

/* Tells, after a failure with this status, whether a copy was abandoned because it cost the process
 * too much, and the options allow to read the process while it is stopped. The process has then
 * been resumed, every later read is of the stopped process, and the report of the next stop says
 * why. */
bool hs_freeze_falls_back(struct hs_target *target, hs_status status);

#endif
