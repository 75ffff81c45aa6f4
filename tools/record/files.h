/* The files that a recording goes to: one for each process, and for each program that a process
 * becomes. A packet is written whole or not at all, at once: what is there can be read at any time,
 * whoever is killed. */
#ifndef HS_RECORD_FILES_H
#define HS_RECORD_FILES_H

#include <sys/types.h>

#include "base/out_path.h"
#include "trace/stream.h"

enum { HS_RECORD_MAX_FILES = 256 }; /* open at a time */

struct hs_record_file {
    int fd;
    char *name; /* owned */
    uint64_t pid, n_bytes, max_bytes;
    uint64_t n_allocs;  /* in what was written */
    uint64_t n_missing; /* ids that no packet had */
    uint64_t n_cut;     /* in packets that could not be written */
    uint64_t next_id;
    bool is_regular;
    bool is_failed; /* nothing more is written */
};

struct hs_record_files {
    /* Opens the next file for a process; `number` counts those of this pid from 0. May refuse: then
     * the process is not kept. */
    hs_status (*open)(void *context, const struct hs_packet *info, unsigned number,
                      struct hs_record_file *ret, struct hs_error *err);
    void (*complain)(void *context, const char *text); /* once for each thing that goes wrong */
    void *context;
    struct hs_record_file *files; /* owned; the last of a pid is the one that is written */
    size_t n_files, capacity;
    uint64_t n_homeless; /* sampled allocations of processes without a file */
    bool is_failed;      /* some file is not whole */
};

/* Writes packets of one process, whole ones, one after another in `bytes`. `info`: they begin a
 * program. Trouble with a file is complained of and remembered, and no failure. HS_LIMIT. */
hs_status hs_record_files_put(struct hs_record_files *files, const struct hs_packet *packet,
                              bool is_info, const void *bytes, size_t n_bytes,
                              struct hs_error *err);
/* Says what became of files behind our back: removed ones; closes all. */
void hs_record_files_close(struct hs_record_files *files);
void hs_record_files_fini(struct hs_record_files *files);

/* Opens `path` as an output (base/out_path.h), under its name from the start: what was there before
 * is replaced whole. */
hs_status hs_record_file_open(const char *path, const struct hs_out_access *access,
                              struct hs_record_file *ret, struct hs_error *err);
/* Makes a new file NAME in a directory, or NAME with a number before its suffix when that is taken.
 */
hs_status hs_record_file_new(int dir_fd, const char *stem, const struct hs_out_access *access,
                             struct hs_record_file *ret, struct hs_error *err);

#endif
