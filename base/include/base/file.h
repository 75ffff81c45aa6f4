/* Files: whole-file read-only maps, and outputs whose every write is checked, close included.
 *
 * An output goes to a descriptor that the caller owns (standard output) or to a path. A path is
 * written as a neighbour `.NAME.XXXXXX`, flushed to disk and renamed by hs_out_commit, so there is
 * never a half file under the name that was asked for. A device or a pipe is written in place, and
 * a symbolic link is followed. */
#ifndef HS_BASE_FILE_H
#define HS_BASE_FILE_H

#include "base/error.h"

struct hs_map {
    const uint8_t *bytes; /* NULL for an empty file */
    size_t n_bytes;
};

/* Maps a regular file read-only. A pipe or terminal is read to the end into pages instead ("-" is
 * standard input). Fails with HS_IO. */
hs_status hs_map_open(const char *path, struct hs_map *ret, struct hs_error *err);
/* Limit: a mapped file that is cut short by others while open raises SIGBUS when read. */
void hs_map_close(struct hs_map *map);

struct hs_out {
    int fd;
    bool owns_fd;
    bool failed;     /* a write failed: nothing may be committed any more */
    char *path;      /* owned: what to rename to or to name in messages */
    char *temporary; /* owned: the neighbour being written; NULL when written in place */
    uint8_t *buffer; /* owned */
    size_t n_buffered;
    uint64_t n_written; /* bytes accepted since open, buffered ones included */
};

/* `fd` stays the caller's; `name` says in messages what it is ("standard output"). */
hs_status hs_out_open_fd(int fd, const char *name, struct hs_out *ret, struct hs_error *err);
hs_status hs_out_open_path(const char *path, struct hs_out *ret, struct hs_error *err);
/* Buffered. HS_IO when the system refuses; then the output has failed and can only be closed. */
hs_status hs_out_write(struct hs_out *out, const void *bytes, size_t n_bytes, struct hs_error *err);
/* Flushes; for a path also fsync, rename, close. After it only close may be called. */
hs_status hs_out_commit(struct hs_out *out, struct hs_error *err);
/* Releases; an uncommitted neighbour is removed. Takes a zeroed object. */
void hs_out_close(struct hs_out *out);

#endif
