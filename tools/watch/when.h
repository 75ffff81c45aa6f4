/* The conditions of `watch --when`: "rss>4GiB", "growth>10%", "growing>1MiB/h". Any one that holds
 * is enough. */
#ifndef HS_WATCH_WHEN_H
#define HS_WATCH_WHEN_H

#include "base/error.h"

enum hs_watch_measure {
    HS_WATCH_RSS,     /* resident bytes */
    HS_WATCH_GROWTH,  /* percent of what was resident at the last dump, or at the start */
    HS_WATCH_GROWING, /* bytes in a time, of the key that grows fastest: only a dump tells */
};

struct hs_watch_condition {
    enum hs_watch_measure measure;
    uint64_t bound; /* bytes, percent; to be exceeded */
    unsigned rate;  /* of HS_WATCH_GROWING: which time, see when.c */
};

#define HS_WATCH_MAX_CONDITIONS 32

struct hs_watch_when {
    struct hs_watch_condition conditions[HS_WATCH_MAX_CONDITIONS];
    size_t n;
};

/* Adds the conditions of one --when, with '|' between them. HS_USAGE with a hint. */
hs_status hs_watch_when_add(struct hs_watch_when *when, const char *text, struct hs_error *err);

/* Finds the first that holds of those that look at the resident size, or NULL. base_bytes 0: not
 * known, then nothing has grown. */
const struct hs_watch_condition *hs_watch_when_holds(const struct hs_watch_when *when,
                                                     uint64_t rss_bytes, uint64_t base_bytes);

/* Tells whether one of the conditions is HS_WATCH_GROWING, which needs key files. */
bool hs_watch_when_needs_keys(const struct hs_watch_when *when);
/* Finds the first of these that this rate exceeds, or NULL. */
const struct hs_watch_condition *hs_watch_when_grows(const struct hs_watch_when *when,
                                                     double bytes_per_hour);

/* Writes "rss>4294967296", "growth>10%", "growing>1048576/h". `text` has
 * HS_WATCH_CONDITION_BYTES. */
#define HS_WATCH_CONDITION_BYTES 40
void hs_watch_condition_describe(const struct hs_watch_condition *condition, char *text);

#endif
