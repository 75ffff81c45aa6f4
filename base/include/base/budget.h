/* The memory that a piece of work may use: every large array and buffer is reserved here before it
 * is allocated, so that work which needs too much ends with a clear refusal (HS_LIMIT) and is never
 * killed by the system.
 *
 * The limit is of resident bytes, page cache that the work dirties included. What is fixed and
 * small (code, stacks, buffers of a few KiB) is covered by HS_BUDGET_BASE_BYTES, reserved at the
 * start. Not thread-safe: one thread reserves and releases. */
#ifndef HS_BASE_BUDGET_H
#define HS_BASE_BUDGET_H

#include <sys/types.h>

#include "base/error.h"

#define HS_BUDGET_BASE_BYTES ((uint64_t)12 << 20)
#define HS_BUDGET_MIN_BYTES ((uint64_t)256 << 20) /* of the default, whatever is available */

struct hs_budget {
    uint64_t limit_bytes; /* UINT64_MAX: none */
    uint64_t used_bytes, peak_bytes;
    const char *spill_dir; /* borrowed; NULL: see hs_spill_directory */
    unsigned n_threads;    /* at least 1 */
};

/* limit 0: the default, a quarter of what is available, at least HS_BUDGET_MIN_BYTES. threads 0:
 * as many as there are processors, at most 8. */
void hs_budget_init(uint64_t limit_bytes, const char *spill_dir, unsigned n_threads,
                    struct hs_budget *ret);

/* What the machine can give to this process now: the least of MemAvailable and what is left under
 * the limits of its control groups (v1 or v2) from its own up, file pages that were not used lately
 * counted as free. UINT64_MAX when nothing is known. */
uint64_t hs_memory_available_bytes(void);
/* The same with another directory for /proc: its meminfo, self/cgroup and self/mountinfo. */
uint64_t hs_memory_available_under(const char *proc);
/* The same for another process. */
uint64_t hs_memory_available_to(pid_t pid);

/* Reserves bytes for `what` ("the forest"). HS_LIMIT with the figures and the hint to allow more
 * with --memory; then nothing is reserved. A NULL budget has no limit. */
hs_status hs_budget_reserve(struct hs_budget *budget, uint64_t n_bytes, const char *what,
                            struct hs_error *err);
void hs_budget_release(struct hs_budget *budget, uint64_t n_bytes);
/* What can still be reserved. UINT64_MAX for NULL and for no limit. */
uint64_t hs_budget_left_bytes(const struct hs_budget *budget);

/* HS_IO with the figures when the file system of `directory` has less than n_bytes free for us. */
hs_status hs_disk_need(const char *directory, uint64_t n_bytes, struct hs_error *err);

#endif
