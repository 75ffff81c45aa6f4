/* A copy that was made: what is read from it, and its end. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/progress.h"
#include "copy_private.h"
#include "target/procfs.h"

size_t hs_copy_page_runs(const struct hs_copy *copy, hs_addr begin, hs_addr end,
                         struct hs_page_run *runs, size_t n, hs_addr *ret_told)
{
    size_t n_runs = 0;

    if (hs_copy_saved_page_runs(&copy->saved, begin, &end, runs, n, &n_runs, ret_told))
        return n_runs;
    return hs_memory_page_runs(&copy->memory, begin, end, runs, n, ret_told);
}

hs_status hs_copy_lost(struct hs_target *target, struct hs_error *err)
{
    struct hs_copy *copy = target->copy;

    if (copy->failure.status == HS_OK) {
        (void)hs_fail(&copy->failure, HS_LIMIT,
                      "cannot read process '%d': the system ended its frozen copy", target->pid);
        snprintf(copy->why_given_up, sizeof copy->why_given_up, "the system ended a copy of it");
        (void)hs_hint(&copy->failure, "memory may be short: try again later, or with --stop read");
    }
    *err = copy->failure;
    return err->status;
}

void hs_copy_end(struct hs_target *target)
{
    if (target->copy == NULL)
        return;
    if (!target->copy->is_ended)
        hs_copy_measure(target);
    hs_copy_pass(HS_COPY_AT_READ);
    struct hs_copy *copy = HS_STEAL(target->copy);
    hs_copy_give_up(copy);
    target->report.reading_ns = hs_now_ns() - copy->watch.began_ns;
    hs_copy_pass(HS_COPY_AT_GONE);
    if (copy->variant == HS_COPY_DIRECT)
        hs_copy_collect(target, copy);
    hs_copy_saved_fini(&copy->saved);
    hs_free(copy);
}
