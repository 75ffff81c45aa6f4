/* Progress of long work, told to whoever listens. Libraries report; only tools/ prints. */
#ifndef HS_BASE_PROGRESS_H
#define HS_BASE_PROGRESS_H

#include "base/error.h"

struct hs_progress {
    /* `phase` is a short literal ("reading the graph"), done <= total; total 0 = unknown.
     * A false answer asks for the work to end with HS_LIMIT "interrupted". */
    bool (*tell)(void *context, const char *phase, uint64_t done, uint64_t total);
    void *context;
};

/* Tells the progress. Takes NULL and an empty struct for "nobody listens". */
hs_status hs_progress_tell(const struct hs_progress *progress, const char *phase, uint64_t done,
                           uint64_t total, struct hs_error *err);

/* Returns monotonic nanoseconds. */
uint64_t hs_now_ns(void);

#endif
