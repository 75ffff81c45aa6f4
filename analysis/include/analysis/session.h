/* The means that a caller lends to the work that answers: how much memory it may take, whom to tell
 * of progress, and for whom the files are that it writes. Everything is borrowed and may be zeroed:
 * then there is no limit and nobody listens. */
#ifndef HS_ANALYSIS_SESSION_H
#define HS_ANALYSIS_SESSION_H

#include "base/budget.h"
#include "base/out_path.h"
#include "base/progress.h"
#include "index/index.h"

struct hs_session {
    struct hs_budget *budget;           /* NULL: no limit */
    const struct hs_out_access *access; /* of the files that are written; NULL: the default */
    const struct hs_progress *progress;
    struct hs_policy policy; /* of the index that is asked for */
    /* Takes one line for a person, without a final newline; NULL: nobody reads it. */
    void (*say)(void *context, const char *line);
    /* Is called before the index of a snapshot is computed, which is long work; NULL: nobody
     * asks. */
    void (*before_index)(void *context, const struct hs_snap *snap);
    void *context; /* of both */
};

#endif
