/* Files: whole-file read-only maps, and outputs whose every write is checked, close included.
 *
 * An output goes to a descriptor that the caller owns (standard output) or to a path. What is
 * written to a path has no name (O_TMPFILE) until hs_out_commit flushes it to disk and gives it the
 * one that was asked for, so there is never a half file under that name, and nothing is left when
 * we are killed. A file that is there is replaced: then there is a neighbour `.NAME.XXXXXX` from
 * one system call to the next; and all the while where the file system has no files without names.
 *
 * A new file is its owner's alone (0600) unless the caller says otherwise, whatever the umask and
 * the mode of the file that it replaces. What a path may lead to: base/out_path.h. */
#ifndef HS_BASE_FILE_H
#define HS_BASE_FILE_H

#include "base/error.h"
#include "base/out_path.h"

struct hs_map {
    const uint8_t *bytes; /* NULL for an empty file */
    size_t n_bytes;
    bool is_file; /* pages that are given back (MADV_DONTNEED) come again from the file */
};

/* Maps a regular file read-only. A pipe or terminal is read to the end into pages instead ("-" is
 * standard input). Fails with HS_IO. */
hs_status hs_map_open(const char *path, struct hs_map *ret, struct hs_error *err);
/* The same of an open file, which stays the caller's and is read from where it stands. */
hs_status hs_map_open_fd(int fd, const char *name, struct hs_map *ret, struct hs_error *err);
/* Maps a regular file of ours, of root or of `maker`: HS_FORMAT when it is anything else, for what
 * is believed if it is sound. Never waits, be it a pipe or a device. */
hs_status hs_map_open_trusted(const char *path, uid_t maker, struct hs_map *ret,
                              struct hs_error *err);
/* Limit: a mapped file that is cut short by others while open raises SIGBUS when read; the tool
 * ends with a message then (tools/lost_file.h). */
void hs_map_close(struct hs_map *map);
/* Gives the pages of [begin, end) back, and those beside them that came with them, that what was
 * read from front to end does not stay resident; bytes that are looked at again come again from the
 * file. Does nothing for what is not a file. */
void hs_map_release(const struct hs_map *map, uint64_t begin, uint64_t end);

struct hs_out {
    int fd;
    bool owns_fd;
    bool is_plain;   /* what is written is text for who can show ASCII alone (base/plain.h) */
    bool failed;     /* a write failed: nothing may be committed any more */
    char *path;      /* owned: what to rename to or to name in messages */
    char *temporary; /* owned: the neighbour's name; NULL when written in place */
    bool is_named;   /* the neighbour has that name, and is removed when it is not committed */
    uint8_t *buffer; /* owned */
    size_t n_buffered;
    uint64_t n_written; /* bytes accepted since open, buffered ones included */
};

/* Opens an output to `fd`, which stays the caller's; `name` says in messages what it is ("standard
 * output"). */
hs_status hs_out_open_fd(int fd, const char *name, struct hs_out *ret, struct hs_error *err);
/* Opens an output to a path. `access` may be NULL: for the owner alone. What is written in place
 * stays as it is. */
hs_status hs_out_open_path_as(const char *path, const struct hs_out_access *access,
                              struct hs_out *ret, struct hs_error *err);
hs_status hs_out_open_path(const char *path, struct hs_out *ret, struct hs_error *err);
/* Writes through a buffer. HS_IO when the system refuses; then the output has failed and can only
 * be closed. */
hs_status hs_out_write(struct hs_out *out, const void *bytes, size_t n_bytes, struct hs_error *err);
/* Flushes; for a path also fsync, its name, close. After it only close may be called. */
hs_status hs_out_commit(struct hs_out *out, struct hs_error *err);
/* Releases; an uncommitted neighbour is removed. Takes a zeroed object. */
void hs_out_close(struct hs_out *out);

/* Makes the path of the directory for what may be made again (XDG base directories); false: there
 * is none. */
bool hs_cache_dir(char *path, size_t n);

#endif
