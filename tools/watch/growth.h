/* The sentences of a watch about growth after each dump: by the key files of its series, which stay
 * when their snapshots go. */
#ifndef HS_WATCH_GROWTH_H
#define HS_WATCH_GROWTH_H

#include "log.h"

/* Writes event=diff, against the dump before, and event=growth, of the newest key files of
 * snapshots from this number on; nothing as long as there are not two. Key files that cannot be
 * read, or are not ours, are passed over. HS_IO, HS_LIMIT. */
hs_status hs_watch_growth_tell(int dir_fd, uint64_t first_number, struct hs_watch_log *log,
                               struct hs_error *err);

#define HS_WATCH_KEY_BYTES 160

struct hs_watch_rate {
    double bytes_per_hour; /* of the key, or heap, that grows fastest; 0: none, not known yet */
    char key[HS_WATCH_KEY_BYTES]; /* it, cut */
    size_t n_dumps;               /* that were looked at */
};

/* Finds the rate of what grew at every step, and not as chance would have it: by the key files of
 * the newest eight dumps from this number on; nothing as long as there are not four. HS_IO,
 * HS_LIMIT. */
hs_status hs_watch_growth_rate(int dir_fd, uint64_t first_number, struct hs_watch_rate *ret,
                               struct hs_error *err);

#endif
