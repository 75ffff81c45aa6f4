/* One dump of a watch, in a process of its own: whatever becomes of it, a crash or the system's
 * out-of-memory killer included, costs this dump and nothing else.
 *
 * It is told what to write by the descriptor of the directory and a plain name, says what it found
 * through a pipe, and is ended (SIGTERM, as a user would) when its watch ends or is killed. Where
 * memory runs out it offers itself first (oom_score_adj). */
#ifndef HS_WATCH_DUMP_H
#define HS_WATCH_DUMP_H

#include <sys/types.h>

#include "dump/dump.h"
#include "names.h"
#include "options.h"

struct hs_watch_dump {
    pid_t pid;     /* 0: none is at work */
    int pidfd;     /* readable when it has ended */
    int report_fd; /* our end of the pipe */
    char name[HS_WATCH_NAME_BYTES];
    uint64_t began_ns, rss_bytes;
    int profile_fd; /* for the profile of it, the watch's; -1: none is asked for */
    bool is_look;   /* for its keys: the snapshot stays only if they say so */
};

#define HS_WATCH_WARNING_BYTES 400

struct hs_watch_outcome {
    hs_status status; /* HS_BUG when a signal ended it */
    struct hs_error error;
    struct hs_dump_report report;         /* of HS_OK */
    uint64_t ended_ns;                    /* of HS_OK: when the snapshot was whole */
    int signal;                           /* that ended it, or 0 */
    bool is_cut;                          /* ended while something was made of the snapshot */
    char warning[HS_WATCH_WARNING_BYTES]; /* what could not be made of it; empty: nothing */
};

/* Begins a dump of inv->arguments[0] with the options that `dump` takes, too. The mask of signals
 * is cleared in the new process; target_pidfd lets it see that the process is still the one that
 * was meant. HS_IO when no process can be made. */
hs_status hs_watch_dump_start(const struct hs_invocation *inv, int dir_fd, int target_pidfd,
                              struct hs_watch_dump *dump, struct hs_error *err);

/* Sends a signal to it. */
void hs_watch_dump_signal(const struct hs_watch_dump *dump, int number);

/* Waits for its end and hears what it says; then none is at work. */
void hs_watch_dump_collect(struct hs_watch_dump *dump, struct hs_watch_outcome *ret);

/* Takes "/proc/self/fd/N/", by which a dump reaches its directory, out of a message. */
void hs_watch_dump_plain(char *message);

#endif
