/* Bounds how long the process may be held: all that does something in the pause asks here. */
#include "base/progress.h"
#include "page_search.h"
#include "target_private.h"

/* At 1.5 s for a TiB, where the kernel lists no pages: 25 ms. */
#define BOUND_WALK_BYTES ((hs_addr)16 << 30)

uint64_t hs_bound_deadline_ns(const struct hs_target *target)
{
    uint64_t limit_ns = target->options.max_pause_ns;

    if (!target->is_stopped || target->core != NULL || target->was_stopped_already || limit_ns == 0)
        return 0;
    return target->stopped_at_ns + limit_ns;
}

bool hs_bound_is_late(const struct hs_target *target)
{
    uint64_t deadline_ns = hs_bound_deadline_ns(target);

    return deadline_ns != 0 && hs_now_ns() > deadline_ns;
}

bool hs_bound_is_hopeless(const struct hs_target *target, uint64_t n_bytes, uint64_t *ret_ns)
{
    uint64_t limit_ns = target->options.max_pause_ns;

    if (hs_bound_deadline_ns(target) == 0 || target->pace_bytes == 0 ||
        target->pace_bytes >= n_bytes)
        return false;
    uint64_t spent_ns = hs_now_ns() - target->stopped_at_ns;
    double left_bytes = (double)(n_bytes - target->pace_bytes);
    double all_ns =
        (double)spent_ns + (double)target->pace_ns / (double)target->pace_bytes * left_bytes;
    if (spent_ns < limit_ns / 10 || spent_ns >= limit_ns ||
        all_ns <= 2 * (double)limit_ns - (double)spent_ns)
        return false;
    *ret_ns = all_ns < 1e18 ? (uint64_t)all_ns : (uint64_t)1000000000000000000;
    return true;
}

hs_addr hs_bound_end(const struct hs_target *target, hs_addr begin, hs_addr end)
{
    if (hs_bound_deadline_ns(target) == 0 || begin >= end || end - begin <= BOUND_WALK_BYTES)
        return end;
    return begin + BOUND_WALK_BYTES;
}

size_t hs_bound_page_runs(const struct hs_target *target, hs_addr begin, hs_addr end,
                          struct hs_page_run *runs, size_t n, hs_addr *ret_told)
{
    if (target->live.search != NULL)
        target->live.search->until_ns = hs_bound_deadline_ns(target);
    return hs_memory_page_runs(&target->live, begin, hs_bound_end(target, begin, end), runs, n,
                               ret_told);
}
