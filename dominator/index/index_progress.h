/* The passes of the work, counted: "placing the forest, pass 4 of 12". What is told from within a
 * pass (the sweep that feeds it) is asked whether to go on, and not shown. */
#ifndef HS_INDEX_PROGRESS_H
#define HS_INDEX_PROGRESS_H

#include "base/progress.h"

struct index_progress {
    struct hs_progress counted;      /* to be handed down; borrows this object */
    const struct hs_progress *heard; /* who listens; may be NULL */
    unsigned pass;                   /* 1 is the first; 0 before */
    char text[96];                   /* "PHASE, pass N of M" */
    uint64_t done, total;            /* of it */
};

/* Begins to count. `ret` must stay where it is as long as `counted` is used. */
void index_progress_init(const struct hs_progress *heard, struct index_progress *ret);

#endif
