#include "base/progress.h"

#include <assert.h>
#include <time.h>

hs_status hs_progress_tell(const struct hs_progress *progress, const char *phase, uint64_t done,
                           uint64_t total, struct hs_error *err)
{
    if (progress == NULL || progress->tell == NULL)
        return HS_OK;
    if (!progress->tell(progress->context, phase, done, total))
        return hs_fail(err, HS_LIMIT, "interrupted while %s", phase);
    return HS_OK;
}

uint64_t hs_now_ns(void)
{
    struct timespec now = {0, 0};
    int failed = clock_gettime(CLOCK_MONOTONIC, &now);
    assert(failed == 0 && "Linux always has a monotonic clock");
    (void)failed;
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}
