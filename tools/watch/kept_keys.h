/* The key files of a watch (analysis/key_file.h): each dump leaves one, a kilobyte or a few, which
 * stays when its snapshot goes. Those of the newest HS_WATCH_KEYS_ALL dumps all stay; of older ones
 * every second, from twice that age on every fourth, and so on, those whose numbers are multiples
 * of it: a million dumps leave less than a thousand. */
#ifndef HS_WATCH_KEPT_KEYS_H
#define HS_WATCH_KEPT_KEYS_H

#include "base/error.h"
#include "names.h"

#define HS_WATCH_KEYS_ALL 128
#define HS_WATCH_KEYS_NAME_BYTES (HS_WATCH_NAME_BYTES + 8)

struct hs_watch_keys_file {
    uint64_t number;
    char name[HS_WATCH_KEYS_NAME_BYTES];
};

struct hs_watch_keys {
    struct hs_watch_keys_file *files; /* owned; ascending by number */
    size_t n, capacity;
};

/* Lists those of snapshots from this number on. *ret: hs_watch_keys_fini. HS_IO, HS_LIMIT. */
hs_status hs_watch_keys_scan(int dir_fd, uint64_t first_number, struct hs_watch_keys *ret,
                             struct hs_error *err);
void hs_watch_keys_fini(struct hs_watch_keys *keys);

/* The rule: whether the file of this number stays, while `newest` is the largest. One that goes
 * would never come to stay again later. */
bool hs_watch_keys_stay(uint64_t number, uint64_t newest);

/* Removes what the rule says, but for those whose snapshot lies beside them. Answers how many went.
 * HS_IO, HS_LIMIT. */
hs_status hs_watch_keys_thin(int dir_fd, uint64_t first_number, size_t *ret_removed,
                             struct hs_error *err);

#endif
