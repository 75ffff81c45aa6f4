/* The memory of a watch in DIR/watch.json, so that the next one goes on with the series of the same
 * process and never mixes in those of another.
 *
 * A process is known by its pid, its start time and the boot: each of the three may come again
 * without the others. Numbers below `first_number` belong to earlier series and are let be. */
#ifndef HS_WATCH_STATE_H
#define HS_WATCH_STATE_H

#include "base/error.h"

#define HS_WATCH_STATE "watch.json"
#define HS_WATCH_BOOT_BYTES 40

struct hs_watch_state {
    uint64_t pid;
    uint64_t start_time; /* clock ticks since boot */
    char boot_id[HS_WATCH_BOOT_BYTES];
    uint64_t first_number; /* of the series */
    uint64_t next_number;
    uint64_t last_ms; /* unix time of the last dump; 0: none yet */
    uint64_t last_rss_bytes, last_file_bytes;
};

/* Reads the state. HS_OK with *ret_is_known false when there is none, or none that can be
 * understood (then *ret_why says so; else NULL). HS_IO when it cannot be read. */
hs_status hs_watch_state_read(int dir_fd, struct hs_watch_state *ret, bool *ret_is_known,
                              const char **ret_why, struct hs_error *err);

/* Writes a neighbour and renames it: a crash leaves the old one or the new one. */
hs_status hs_watch_state_write(int dir_fd, const struct hs_watch_state *state,
                               struct hs_error *err);

/* Parses the text of the file. False when anything is missing or wrong. */
bool hs_watch_state_parse(const char *text, struct hs_watch_state *ret);

/* Tells whether both are of the same process. */
bool hs_watch_state_is_same(const struct hs_watch_state *a, const struct hs_watch_state *b);

#endif
