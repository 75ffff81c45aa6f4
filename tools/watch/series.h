/* The directory of a watch. It is opened once, by a path whose last part is no link, and everything
 * in it is reached from that descriptor by plain names that follow no link: whoever renames or
 * replaces the directory under a running watch moves nothing but names.
 *
 * Only plain files that belong to us and are named as we name them, to the letter, are ever
 * removed. */
#ifndef HS_WATCH_SERIES_H
#define HS_WATCH_SERIES_H

#include "base/error.h"
#include "names.h"

struct hs_watch_file {
    uint64_t number;
    uint64_t n_bytes;
    char name[HS_WATCH_NAME_BYTES];
};

struct hs_watch_series {
    struct hs_watch_file *files; /* owned; ascending by number; from first_number on */
    size_t n, capacity;
    uint64_t max_number; /* of all that lie there, earlier series and key files included; 0: none */
};

/* Calls `visit` with each name in the directory until it fails. HS_IO, and what it fails with. */
hs_status hs_watch_dir_list(int dir_fd,
                            hs_status (*visit)(void *context, const char *name,
                                               struct hs_error *err),
                            void *context, struct hs_error *err);
/* Tells whether it is a plain file of our own user; then *about tells of it. */
struct stat;
bool hs_watch_is_ours(int dir_fd, const char *name, struct stat *about);
/* Removes such a file. Answers whether it went. */
bool hs_watch_remove_ours(int dir_fd, const char *name);

/* Lists the snapshots, replacing what was listed. HS_IO, HS_LIMIT. */
hs_status hs_watch_series_scan(int dir_fd, uint64_t first_number, struct hs_watch_series *series,
                               struct hs_error *err);
void hs_watch_series_fini(struct hs_watch_series *series);

/* Returns how many of the oldest have to go so that at most `keep` stay (0: all), of at most
 * keep_bytes together (0: no bound). The newest always stays. */
size_t hs_watch_series_excess(const struct hs_watch_series *series, uint64_t keep,
                              uint64_t keep_bytes);

/* Removes the n oldest and what `index` made of them. Answers how many went. */
size_t hs_watch_series_remove(int dir_fd, const struct hs_watch_series *series, size_t n);

/* Removes a snapshot of this name, and what `index` made of it. */
void hs_watch_series_remove_one(int dir_fd, const char *name);
/* Removes what `index` made of a snapshot that stays. */
void hs_watch_series_remove_index(int dir_fd, const char *name);

/* Removes the neighbours that killed dumps left. Only while no dump is at work here. Answers how
 * many went. */
size_t hs_watch_neighbours_remove(int dir_fd);

/* Tells whether `free` bytes are enough for another snapshot when the last had so many (0: not
 * known): half as much again. */
bool hs_watch_has_room(uint64_t free_bytes, uint64_t last_bytes);
/* Returns the bytes that we may still write there; UINT64_MAX when the system does not tell. */
uint64_t hs_watch_free_bytes(int dir_fd);

#endif
