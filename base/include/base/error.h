/* Status and error: how every fallible function of heapsnap reports.
 *
 * A function returns `hs_status`; ignoring it is a compiler warning. On failure it fills the
 * caller's `struct hs_error` (always the last parameter, never NULL) and leaves its outputs
 * untouched. Nothing here allocates, so errors work out of memory and while a target is stopped.
 * Libraries never print and never exit; tools/ alone maps a status to an exit code. */
#ifndef HS_BASE_ERROR_H
#define HS_BASE_ERROR_H

#include "base/types.h"

typedef enum [[nodiscard]] hs_status{
    HS_OK = 0,
    HS_USAGE,  /* the user asked for something that does not exist or make sense: exit 2 */
    HS_TARGET, /* the target refused, is gone, or is of a kind we do not support: exit 3 */
    HS_FORMAT, /* not a snapshot (or ELF, DWARF, index), damaged, cut or too new: exit 4 */
    HS_IO,     /* the system failed to read or write: exit 5 */
    HS_LIMIT,  /* over a limit, out of memory included: exit 6 */
    HS_BUG,    /* an invariant of ours does not hold: exit 70 */
    HS_N_STATUS} hs_status;

struct hs_error {
    hs_status status;
    int sys_errno;     /* errno of the failed call, or 0 */
    char message[384]; /* what failed and why: lower case, no final stop, subjects in quotes */
    char hint[256];    /* what the user can do next; empty when we know nothing */
};

#define HS_ERROR_INIT  \
    {                  \
        HS_OK, 0, {0}, \
        {              \
            0          \
        }              \
    }

/* Fills `err` (replacing what it held) and returns `status`. */
hs_status hs_fail(struct hs_error *err, hs_status status, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* Fails as hs_fail does, with the current errno: appends ": strerror" and records it. */
hs_status hs_fail_errno(struct hs_error *err, hs_status status, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* Prepends "context: " on the way up, so that the user reads from the outside in. Returns the
 * error's status. */
hs_status hs_context(struct hs_error *err, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* Sets the hint of an error that was just made. Returns the error's status. */
hs_status hs_hint(struct hs_error *err, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* Forwards a failure. The only macro of the tree that hides control flow. */
#define HS_TRY(call)                       \
    do {                                   \
        hs_status hs_try_status_ = (call); \
        if (hs_try_status_ != HS_OK)       \
            return hs_try_status_;         \
    } while (0)

#endif
