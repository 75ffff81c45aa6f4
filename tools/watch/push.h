/* `watch --push URL`: the profile (pprof) of each dump goes to a continuous profiler, sent by a
 * process of its own, heapsnap-push, with a time limit. One is on the way at most: what comes in
 * between is not sent. The watch never waits for it, but for a moment at the end of the process
 * that it watches.
 *
 * Each reason for which it fails is said once, until one profile has been taken again. Neither what
 * is said nor any command line has the URL's user, password or query. */
#ifndef HS_WATCH_PUSH_H
#define HS_WATCH_PUSH_H

#include <sys/types.h>

#include "log.h"
#include "push_wire.h"

#define HS_PUSH_SAID_MOST 8

struct hs_watch_push {
    const char *url;                  /* borrowed; NULL: nothing is pushed */
    struct hs_watch_log *log;         /* borrowed */
    char place[HS_PUSH_ANSWER_BYTES]; /* scheme, host and path, cut: what may be said of it */
    struct hs_push_request request;
    uint64_t last_s; /* unix time of the profile before; 0: none */
    pid_t pid;       /* 0: none is on the way */
    int pidfd, answer_fd;
    bool was_taken; /* one was, and none has failed since */
    char said[HS_PUSH_SAID_MOST][HS_PUSH_ANSWER_BYTES];
    size_t n_said;
};

/* Checks the URL: http or https, with a host and a path. The texts are cut to plain names. HS_USAGE
 * with a hint. */
hs_status hs_watch_push_init(const char *url, const char *service, const char *host,
                             uint64_t every_ns, struct hs_watch_push *ret, struct hs_error *err);
/* Checks that the program that sends is there. HS_USAGE with a hint. */
hs_status hs_watch_push_check(struct hs_error *err);

/* Makes an empty file without a name for the profile of a dump; -1 when there is none. The
 * caller's. */
int hs_watch_push_file(const struct hs_watch_push *push);
/* Sends the file's contents, unless it is empty or another is on the way. */
void hs_watch_push_start(struct hs_watch_push *push, int profile_fd, uint64_t now_s);

/* Returns a descriptor that is readable when the push on the way has ended; -1: none is. */
int hs_watch_push_fd(const struct hs_watch_push *push);
/* Says what came of it; to be called then, or at any time. */
void hs_watch_push_collect(struct hs_watch_push *push);
/* Gives the one on the way so long, or until `signal_fd` is readable, and ends it; that it had some
 * time, and not enough, is said. */
void hs_watch_push_end(struct hs_watch_push *push, int patience_ms, int signal_fd);

#endif
