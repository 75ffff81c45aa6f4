#include "index_output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define MEMORY_STEP ((uint64_t)4 << 20) /* reserved in the budget at a time */
#define NAME_TRIES 64
#define WHAT "the index"

/* ---- opening ---- */

/* "PATH.SUFFIX" */
static hs_status name_beside(const char *path, const char *suffix, char **ret, struct hs_error *err)
{
    size_t n = strlen(path) + strlen(suffix) + 2;
    void *name;
    HS_TRY(hs_alloc(n, 1, &name, err));
    (void)snprintf(name, n, "%s.%s", path, suffix);
    *ret = name;
    return HS_OK;
}

/* A file of ours alone: what another could write to, or have open to write to, is not trusted. */
static bool part_is_ours(int fd, const char *name)
{
    struct stat about, named;
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
           (about.st_mode & 0022) == 0 && about.st_nlink == 1 &&
           flock(fd, LOCK_EX | LOCK_NB) == 0 &&
           /* Locked too late, after another has given it its name? */
           lstat(name, &named) == 0 && named.st_ino == about.st_ino && named.st_dev == about.st_dev;
}

/* Opens NAME.part; -1 when it cannot be had. */
static int part_open(const char *name)
{
    int fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd >= 0 && !part_is_ours(fd, name)) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static hs_status neighbour_open(struct index_output *out, int *ret, struct hs_error *err)
{
    char suffix[32];
    for (int i = 0; i < NAME_TRIES; i++) {
        (void)snprintf(suffix, sizeof suffix, "%d-%d.part", (int)getpid(), i);
        HS_TRY(name_beside(out->path, suffix, &out->temporary, err));
        *ret = open(out->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (*ret >= 0)
            return HS_OK;
        int number = errno;
        hs_free(HS_STEAL(out->temporary));
        errno = number;
        if (number != EEXIST)
            break;
    }
    return hs_fail_errno(err, HS_IO, "cannot create '%s'", out->path);
}

/* Names the file that `path` stands for: a link of ours stays a link. */
static hs_status output_name(struct index_output *out, const char *path, struct hs_error *err)
{
    struct hs_out_path found;

    HS_TRY(hs_out_path_find(path, &found, err));
    out->path = found.path;
    return found.in_place ? hs_fail(err, HS_IO, "cannot write '%s': it is no file", path) : HS_OK;
}

static hs_status output_open_file(struct index_output *out, const char *path, bool resume,
                                  struct hs_error *err)
{
    struct stat about;

    HS_TRY(output_name(out, path, err));
    HS_TRY(name_beside(out->path, "part", &out->temporary, err));
    int fd = part_open(out->temporary);
    out->is_part = fd >= 0;
    if (!out->is_part) {
        hs_free(HS_STEAL(out->temporary));
        HS_TRY(neighbour_open(out, &fd, err));
    }
    HS_TRY(hs_spill_over(fd, 0, out->path, WHAT, &out->file, err));
    if ((!resume && ftruncate(fd, 0) != 0) || fstat(fd, &about) != 0)
        return hs_fail_errno(err, HS_IO, "cannot write '%s'", out->path);
    out->file.n_bytes = (uint64_t)about.st_size;
    return HS_OK;
}

hs_status index_output_open_named(const char *path, bool resume, const struct hs_out_access *access,
                                  struct index_output *ret, struct hs_error *err)
{
    struct index_output out = {.access = access};
    hs_status status = output_open_file(&out, path, resume, err);
    if (status == HS_OK)
        *ret = out;
    else
        index_output_close(&out, false);
    return status;
}

hs_status index_output_open_unnamed(const struct hs_budget *budget, struct index_output *ret,
                                    struct hs_error *err)
{
    struct index_output out = {0};
    HS_TRY(hs_spill_open(budget, WHAT, &out.file, err));
    *ret = out;
    return HS_OK;
}

hs_status index_output_open_memory(uint64_t capacity, struct hs_budget *budget,
                                   struct index_output *ret, struct hs_error *err)
{
    void *memory;
    HS_TRY(hs_pages_alloc(capacity, 1, &memory, err));
    *ret = (struct index_output){.memory = memory, .capacity = capacity, .budget = budget};
    return HS_OK;
}

void index_output_close(struct index_output *out, bool keep_part)
{
    int saved = errno;
    /* Before its lock goes, lest it is another's by then. */
    if (out->temporary != NULL && !(out->is_part && keep_part))
        (void)unlink(out->temporary);
    hs_spill_close(&out->file);
    hs_free(out->path);
    hs_free(out->temporary);
    hs_pages_free(out->memory, out->capacity, 1);
    hs_budget_release(out->budget, out->reserved_bytes);
    *out = (struct index_output){0};
    errno = saved;
}

/* ---- writing ---- */

uint64_t index_output_size(const struct index_output *out)
{
    return out->file.is_open ? out->file.n_bytes : out->n_bytes;
}

/* Says it of the file that was asked for. */
static hs_status output_failed(struct index_output *out, struct hs_error *err)
{
    out->failed = true;
    if (out->path == NULL)
        return err->status;
    errno = err->sys_errno;
    return hs_fail_errno(err, HS_IO, "cannot write '%s'", out->path);
}

static hs_status memory_append(struct index_output *out, const void *bytes, uint64_t n_bytes,
                               struct hs_error *err)
{
    if (n_bytes > out->capacity - out->n_bytes)
        return hs_fail(err, HS_BUG, "the index is larger than foreseen");
    if (out->n_bytes + n_bytes > out->reserved_bytes && out->budget != NULL) {
        HS_TRY(hs_budget_reserve(out->budget, n_bytes + MEMORY_STEP, WHAT, err));
        out->reserved_bytes += n_bytes + MEMORY_STEP;
    }
    if (n_bytes != 0)
        memcpy(out->memory + out->n_bytes, bytes, n_bytes);
    out->n_bytes += n_bytes;
    return HS_OK;
}

hs_status index_output_append(struct index_output *out, const void *bytes, uint64_t n_bytes,
                              struct hs_error *err)
{
    if (!out->file.is_open)
        return memory_append(out, bytes, n_bytes, err);
    return hs_spill_write(&out->file, bytes, n_bytes, err) == HS_OK ? HS_OK
                                                                    : output_failed(out, err);
}

hs_status index_output_pad(struct index_output *out, uint64_t size, struct hs_error *err)
{
    static const uint8_t zeros[4096];
    for (uint64_t at = index_output_size(out), n; at < size; at += n) {
        n = size - at < sizeof zeros ? size - at : sizeof zeros;
        HS_TRY(index_output_append(out, zeros, n, err));
    }
    return HS_OK;
}

static hs_status output_flush(struct index_output *out, struct hs_error *err)
{
    if (!out->file.is_open || out->file.n_buffered == 0)
        return HS_OK;
    return hs_spill_flush(&out->file, err) == HS_OK ? HS_OK : output_failed(out, err);
}

static hs_status file_patch(struct index_output *out, uint64_t at, const uint8_t *bytes,
                            uint64_t n_bytes, struct hs_error *err)
{
    while (n_bytes != 0) {
        ssize_t done = pwrite(out->file.fd, bytes, n_bytes, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            (void)hs_fail_errno(err, HS_IO, "cannot write the index");
            return output_failed(out, err);
        }
        bytes += done;
        at += (uint64_t)done;
        n_bytes -= (uint64_t)done;
    }
    return HS_OK;
}

/* Pieces are pushed out of the page cache: they would be charged like memory. */
hs_status index_output_patch(struct index_output *out, uint64_t at, const void *bytes,
                             uint64_t n_bytes, struct hs_error *err)
{
    const unsigned flags =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

    assert(at + n_bytes <= index_output_size(out));
    if (!out->file.is_open) {
        memcpy(out->memory + at, bytes, n_bytes);
        return HS_OK;
    }
    HS_TRY(output_flush(out, err));
    for (uint64_t done = 0, n; done < n_bytes; done += n) {
        n = n_bytes - done < HS_SPILL_PIECE_BYTES ? n_bytes - done : HS_SPILL_PIECE_BYTES;
        HS_TRY(file_patch(out, at + done, (const uint8_t *)bytes + done, n, err));
        if (n < HS_SPILL_PIECE_BYTES)
            continue;
        (void)sync_file_range(out->file.fd, (off_t)(at + done), (off_t)n, flags);
        hs_spill_drop(&out->file, at + done, at + done + n);
    }
    return HS_OK;
}

hs_status index_output_cut(struct index_output *out, uint64_t size, struct hs_error *err)
{
    assert(size <= index_output_size(out));
    if (!out->file.is_open) {
        out->n_bytes = size;
        return HS_OK;
    }
    HS_TRY(output_flush(out, err));
    if (ftruncate(out->file.fd, (off_t)size) != 0) {
        (void)hs_fail_errno(err, HS_IO, "cannot write the index");
        return output_failed(out, err);
    }
    out->file.n_bytes = size;
    out->file.n_pushed = size - size % HS_SPILL_PIECE_BYTES;
    return HS_OK;
}

/* ---- reading, and the end ---- */

hs_status index_output_view(struct index_output *out, uint64_t begin, uint64_t end,
                            struct hs_map *ret_map, const uint8_t **ret, struct hs_error *err)
{
    assert(begin < end && end <= index_output_size(out));
    if (!out->file.is_open) {
        *ret_map = (struct hs_map){0};
        *ret = out->memory + begin;
        return HS_OK;
    }
    HS_TRY(output_flush(out, err));
    void *bytes = mmap(NULL, end - begin, PROT_READ, MAP_SHARED, out->file.fd, (off_t)begin);
    if (bytes == MAP_FAILED)
        return hs_fail_errno(err, HS_LIMIT, "cannot map the index");
    *ret_map = (struct hs_map){.bytes = bytes, .n_bytes = end - begin};
    *ret = bytes;
    return HS_OK;
}

hs_status index_output_commit(struct index_output *out, struct hs_error *err)
{
    if (!out->file.is_open)
        return HS_OK;
    HS_TRY(output_flush(out, err));
    if (out->path == NULL)
        return HS_OK;
    if (hs_out_access_apply(out->file.fd, out->access, out->path, err) != HS_OK)
        return err->status; /* asked for: another place would not do */
    if ((fsync(out->file.fd) != 0 && errno != EINVAL) || rename(out->temporary, out->path) != 0) {
        (void)hs_fail_errno(err, HS_IO, "cannot write the index");
        return output_failed(out, err);
    }
    hs_free(HS_STEAL(out->temporary));
    return HS_OK;
}
