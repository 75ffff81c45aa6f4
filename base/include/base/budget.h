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

/* Memory that is resident only because it may be looked at again, such as pages of a file:
 * reservations need not leave room for it, and it is let go when they need the room. */
struct hs_budget_cache {
    void (*let_go)(struct hs_budget_cache *cache); /* n_bytes is 0 then */
    uint64_t n_bytes;                              /* counted by who keeps it */
    struct hs_budget_cache *next;                  /* private */
};

struct hs_budget {
    uint64_t limit_bytes; /* UINT64_MAX: none */
    uint64_t used_bytes, peak_bytes;
    const char *spill_dir; /* borrowed; NULL: see hs_spill_directory */
    const char *bound_by;  /* what holds this process to limit_bytes; NULL: who asked for it */
    unsigned n_threads;    /* at least 1 */
    struct hs_budget_cache *caches; /* borrowed, in a list */
};

/* Begins a budget. limit 0: the default, a quarter of what is available, at least
 * HS_BUDGET_MIN_BYTES. Never more than hs_memory_bound says, but for UINT64_MAX, no limit. threads
 * 0: as many as there are processors, at most 8. */
void hs_budget_init(uint64_t limit_bytes, const char *spill_dir, unsigned n_threads,
                    struct hs_budget *ret);

/* Returns the memory that the machine can give to this process now: the least of MemAvailable and
 * what is left under the limits of its control groups (v1 or v2) from its own up, file pages that
 * were not used lately counted as free. UINT64_MAX when nothing is known. */
uint64_t hs_memory_available_bytes(void);
/* The same with another directory for /proc: its meminfo, self/cgroup and self/mountinfo. */
uint64_t hs_memory_available_under(const char *proc);
/* The same for another process. */
uint64_t hs_memory_available_to(pid_t pid);

enum { HS_MEMORY_GROUPS_MAX = 8, HS_MEMORY_GROUP_BYTES = 1024 };

/* The control groups that limit a process, found once, for whoever looks often. */
struct hs_memory_groups {
    struct {
        char path[HS_MEMORY_GROUP_BYTES];
        bool is_v2;
    } groups[HS_MEMORY_GROUPS_MAX];
    size_t n;
    bool has_more; /* that did not fit */
    char proc[HS_MEMORY_GROUP_BYTES];
};

/* Finds the memory groups of the process `who` ("self", "1234"), with a directory for /proc.
 * Returns the bytes available to it, as above. */
uint64_t hs_memory_groups_find(const char *proc, const char *who, struct hs_memory_groups *ret);
/* Returns a bound from below of what is available: file pages of the groups count as used, whose
 * number is the dear part of the true answer. About 10 us and as much for each group; the answers
 * above take up to 2 ms. 0 when there are groups that did not fit. */
uint64_t hs_memory_available_at_least(const struct hs_memory_groups *groups);

/* The limits that others have set for this process: what its control groups (v1 or v2) and its
 * resource limits RLIMIT_AS and RLIMIT_DATA leave to it now, less an eighth, or 8 MiB and a 64th
 * where that is less. Beyond the first it is killed. */
struct hs_memory_bound {
    uint64_t left_bytes; /* UINT64_MAX: nothing holds it */
    const char *by;      /* in words; NULL with UINT64_MAX */
};
void hs_memory_bound(struct hs_memory_bound *ret);
/* Reads how many addresses RLIMIT_AS and RLIMIT_DATA leave, backed by memory or not: all of it. */
void hs_memory_address_bound(struct hs_memory_bound *ret);
/* Tells whether so many bytes of address space can be had now: asked at the program's start, as an
 * allocator that gets none would crash. */
bool hs_memory_can_begin(uint64_t n_bytes);

/* Reserves bytes for `what` ("the forest"). HS_LIMIT with the figures and the hint to allow more
 * with --memory; then nothing is reserved. A NULL budget has no limit. */
hs_status hs_budget_reserve(struct hs_budget *budget, uint64_t n_bytes, const char *what,
                            struct hs_error *err);
/* Sets the hint for whoever would need more than the limit: what could be changed. Returns err's
 * status. */
hs_status hs_budget_hint(const struct hs_budget *budget, struct hs_error *err);
void hs_budget_release(struct hs_budget *budget, uint64_t n_bytes);
/* Counts a cache from then on until it is removed; it must not move. Adding it twice is adding it
 * once. Either may be NULL. */
void hs_budget_add_cache(struct hs_budget *budget, struct hs_budget_cache *cache);
void hs_budget_remove_cache(struct hs_budget *budget, struct hs_budget_cache *cache);
/* Returns the bytes that can still be reserved. UINT64_MAX for NULL and for no limit. */
uint64_t hs_budget_left_bytes(const struct hs_budget *budget);

/* Rounds a limit that would be enough up to what a message should say: no less when it is printed
 * with one digit behind the point, and given to --memory. */
static inline uint64_t hs_budget_round_up(uint64_t n_bytes)
{
    const uint64_t gib = (uint64_t)1 << 30, unit = n_bytes < gib ? gib >> 10 : gib / 10 + 1;
    return n_bytes > UINT64_MAX - unit ? n_bytes : (n_bytes + unit - 1) / unit * unit;
}

/* Checks the disk: HS_IO with the figures when the file system of `directory` has less than n_bytes
 * free for us. */
hs_status hs_disk_need(const char *directory, uint64_t n_bytes, struct hs_error *err);

#endif
