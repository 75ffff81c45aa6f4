/* The log of a watch: DIR/watch.log, one line per event, key=value, and the same on standard error.
 *
 *   time=2026-11-22T08:05:00Z event=dump file=heap-....snap pause_ns=1800000 blocks=81244 ...
 *   time=2026-11-22T08:15:00Z event=fail why="cannot dump process '4242': ..."
 *
 * A value with spaces, quotes, '=' or a backslash stands between quotes, with \" and \\ inside;
 * what a terminal must not see is escaped as everywhere. The file is opened anew for each line, so
 * that it may be moved away; at HS_WATCH_LOG_BYTES it becomes watch.log.1, and one older is lost.
 */
#ifndef HS_WATCH_LOG_H
#define HS_WATCH_LOG_H

#include "base/error.h"

#define HS_WATCH_LOG "watch.log"
#define HS_WATCH_LOG_OLD "watch.log.1"
#define HS_WATCH_LOG_BYTES ((uint64_t)1 << 20)
#define HS_WATCH_LINE_BYTES 1024

struct hs_watch_line {
    char text[HS_WATCH_LINE_BYTES]; /* with the newline that ends it */
    size_t n_bytes;                 /* without that newline */
};

/* Begins a line; then its values, in the order of the calls. What does not fit is left out, value
 * by value. Keys are literals. */
void hs_watch_line_begin(struct hs_watch_line *line, int64_t unix_s, const char *event);
void hs_watch_line_text(struct hs_watch_line *line, const char *key, const char *value);
void hs_watch_line_u64(struct hs_watch_line *line, const char *key, uint64_t value);

struct hs_watch_log {
    int dir_fd;     /* borrowed */
    bool is_quiet;  /* nothing on standard error */
    bool is_broken; /* the last line could not be written, and that was said */
    uint64_t max_bytes;
};

/* Creates the file when it is missing. HS_IO when it cannot be written or is no plain file. */
hs_status hs_watch_log_init(int dir_fd, bool is_quiet, struct hs_watch_log *ret,
                            struct hs_error *err);
/* Writes a line. A full disk does not end a watch: then it is said on standard error, once. */
void hs_watch_log_put(struct hs_watch_log *log, struct hs_watch_line *line);

#endif
