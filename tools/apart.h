/* Work that can be ended whatever it is at: a child process does it, and is killed when its time is
 * over. For what asks nobody while it runs, such as one function of SQLite over a long text.
 *
 * What it prints reaches the tool's output once it has ended well: all of it, or nothing. Anything
 * else that it changes is lost with the child, which is the point: the budget of a server is that
 * of its own work, and a child's begins anew. */
#ifndef HS_TOOLS_APART_H
#define HS_TOOLS_APART_H

#include "tool.h"

struct hs_apart {
    /* Runs in the child, with an output of its own in `tool`. */
    hs_status (*work)(struct hs_tool *tool, void *context, struct hs_error *err);
    void *context;
    uint64_t timeout_ns;        /* of what runs between the calls of hs_apart_clock */
    struct hs_progress goes_on; /* asked some times a second: whether it is still wanted */
    int fd;                     /* private: where the child tells of itself */
};

/* Runs the work. HS_LIMIT when it takes longer, or is not wanted any more; HS_IO when the child
 * ends by itself; else what `work` returns. */
hs_status hs_apart_run(struct hs_tool *tool, struct hs_apart *apart, struct hs_error *err);

/* Tells the child that the time runs from now on, or not any more; called in the child. As struct
 * hs_sql_limits takes it. */
void hs_apart_clock(void *apart, bool runs);

#endif
