/* A watch at work: ticks, dumps, the end. See cmd_watch.c for what is asked of it. */
#ifndef HS_WATCH_RUN_H
#define HS_WATCH_RUN_H

#include "dump.h"
#include "log.h"
#include "options.h"
#include "plan.h"
#include "push.h"
#include "series.h"
#include "state.h"
#include "when.h"

struct hs_watch {
    const struct hs_invocation *inv; /* borrowed: what the dumps are told */
    pid_t pid;
    int dir_fd, target_fd, signal_fd; /* owned; -1: not open */
    uint64_t every_ns, keep, keep_bytes;
    struct hs_watch_when when; /* none: dump at every tick */
    struct hs_watch_plan plan;
    struct hs_watch_log log;
    struct hs_watch_state state;
    struct hs_watch_series series;
    struct hs_watch_dump dump;
    struct hs_watch_push push;
    uint64_t base_rss_bytes; /* what growth is measured against */
    uint64_t n_missed;       /* ticks, while the dump that is at work is */
    bool has_dumped;         /* since this watch began */
};

/* Watches until the process is gone or a signal asks for the end: HS_OK. Fails only when the very
 * first dump of a series is refused (HS_TARGET) or was told nonsense (HS_USAGE). */
hs_status hs_watch_run(struct hs_watch *watch, struct hs_error *err);
/* Releases; takes an object whose descriptors are -1. */
void hs_watch_fini(struct hs_watch *watch);

/* Writes event=end to the log. */
void hs_watch_talk_end(struct hs_watch *watch, const char *why);

/* Tells whether the process behind its descriptor (a pidfd) has ended. */
bool hs_watch_is_gone(int target_fd);
/* Tells whether another tracer, a debugger say, holds it: it will not do so for ever. */
bool hs_watch_is_traced(pid_t pid);
/* Returns the resident bytes; 0 when the system does not tell. */
uint64_t hs_watch_rss_bytes(pid_t pid);
/* Returns Unix time, in milliseconds. */
uint64_t hs_watch_wall_ms(void);

#endif
