/* Unnamed temporary files. Sources: open(2) on O_TMPFILE, sync_file_range(2), posix_fadvise(2). */
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/units.h"

#define PAGE_BYTES 4096
#define PAD_BYTES 8 /* behind each buffer, so that numbers are moved as words */

/* ---- how much there is ---- */

static _Atomic uint64_t spills_now, spills_most;

uint64_t hs_spill_most_bytes(void)
{
    return atomic_load(&spills_most);
}

void hs_spill_most_again(void)
{
    atomic_store(&spills_most, atomic_load(&spills_now));
}

static void stored_add(struct hs_spill *spill, uint64_t n_bytes)
{
    if (!spill->is_temporary)
        return;
    spill->n_stored += n_bytes;
    uint64_t now = atomic_fetch_add(&spills_now, n_bytes) + n_bytes;
    uint64_t most = atomic_load(&spills_most);
    while (now > most && !atomic_compare_exchange_weak(&spills_most, &most, now))
        continue;
}

void hs_spill_stored(struct hs_spill *spill, uint64_t end)
{
    if (end > spill->n_stored)
        stored_add(spill, end - spill->n_stored);
}

/* ---- opening ---- */

/* A file in memory would be charged like memory. */
static bool directory_is_memory(const char *directory)
{
    struct statfs about;
    return statfs(directory, &about) == 0 &&
           (about.f_type == TMPFS_MAGIC || about.f_type == RAMFS_MAGIC);
}

const char *hs_spill_directory(const struct hs_budget *budget)
{
    if (budget != NULL && budget->spill_dir != NULL)
        return budget->spill_dir;
    const char *directory = getenv("TMPDIR");
    if (directory != NULL && directory[0] != '\0' && !directory_is_memory(directory))
        return directory;
    return "/var/tmp";
}

/* Makes an unnamed file; -1 with errno. */
static int spill_create(const char *directory)
{
    char path[PATH_MAX];
    int fd = open(directory, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);

    /* EISDIR is what kernels and file systems say that do not know O_TMPFILE. */
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    int n = snprintf(path, sizeof path, "%s/.heapsnap.XXXXXX", directory);
    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0 && unlink(path) != 0) {
        int saved = errno;
        (void)close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

hs_status hs_spill_open(const struct hs_budget *budget, const char *what, struct hs_spill *ret,
                        struct hs_error *err)
{
    const char *directory = hs_spill_directory(budget);
    hs_auto_free void *buffer = NULL;

    HS_TRY(hs_alloc(HS_SPILL_BUFFER_BYTES + PAD_BYTES, 1, &buffer, err));
    int fd = spill_create(directory);
    if (fd < 0) {
        hs_status status = hs_fail_errno(err, HS_IO, "cannot make a temporary file for %s in '%s'",
                                         what, directory);
        (void)hs_hint(err, "name another directory by --spill-dir");
        return status;
    }
    *ret = (struct hs_spill){.fd = fd,
                             .is_open = true,
                             .what = what,
                             .directory = directory,
                             .is_temporary = true,
                             .buffer = HS_STEAL(buffer)};
    return HS_OK;
}

hs_status hs_spill_over(int fd, uint64_t n_bytes, const char *directory, const char *what,
                        struct hs_spill *ret, struct hs_error *err)
{
    void *buffer;

    hs_status status = hs_alloc(HS_SPILL_BUFFER_BYTES + PAD_BYTES, 1, &buffer, err);
    if (status != HS_OK) {
        (void)close(fd);
        return status;
    }
    *ret = (struct hs_spill){.fd = fd,
                             .is_open = true,
                             .what = what,
                             .directory = directory,
                             .n_bytes = n_bytes,
                             .n_pushed = n_bytes - n_bytes % HS_SPILL_PIECE_BYTES,
                             .buffer = buffer};
    return HS_OK;
}

void hs_spill_close(struct hs_spill *spill)
{
    if (spill == NULL || !spill->is_open)
        return;
    int saved = errno;
    atomic_fetch_sub(&spills_now, spill->n_stored);
    (void)close(spill->fd); /* the file goes with it: its answer tells nothing */
    hs_free(spill->buffer);
    *spill = (struct hs_spill){0};
    errno = saved;
}

/* ---- writing ---- */

static hs_status spill_write_failed(const struct hs_spill *spill, uint64_t n_written,
                                    struct hs_error *err)
{
    char size[HS_UNIT_TEXT_BYTES];
    int number = errno;

    hs_format_bytes(n_written, size);
    errno = number;
    hs_status status =
        hs_fail_errno(err, HS_IO, "cannot write %s to a temporary file in '%s' after %s",
                      spill->what, spill->directory, size);
    if (number == ENOSPC || number == EDQUOT || number == EFBIG)
        (void)hs_hint(err, "name a directory with more room by --spill-dir");
    return status;
}

static hs_status spill_write_all(struct hs_spill *spill, uint64_t at, const uint8_t *bytes,
                                 size_t n_bytes, struct hs_error *err)
{
    while (n_bytes != 0) {
        ssize_t done = pwrite(spill->fd, bytes, n_bytes, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return spill_write_failed(spill, at, err);
        stored_add(spill, (uint64_t)done);
        bytes += done;
        at += (uint64_t)done;
        n_bytes -= (size_t)done;
    }
    return HS_OK;
}

/* Sends [begin, end) to disk; with `wait` until it is there. Many file systems know no ranges or
 * tell nothing here: only what says that bytes are lost counts. */
static hs_status spill_sync(const struct hs_spill *spill, uint64_t begin, uint64_t end, bool wait,
                            struct hs_error *err)
{
    unsigned flags = SYNC_FILE_RANGE_WRITE;
    if (wait)
        flags |= SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (sync_file_range(spill->fd, (off_t)begin, (off_t)(end - begin), flags) != 0 &&
        (errno == EIO || errno == ENOSPC || errno == EDQUOT))
        return spill_write_failed(spill, begin, err);
    return HS_OK;
}

/* Starts the pieces that are whole, waits for those before them and drops these. */
static hs_status spill_push(struct hs_spill *spill, uint64_t n_written, struct hs_error *err)
{
    while (n_written - spill->n_pushed >= HS_SPILL_PIECE_BYTES) {
        uint64_t begin = spill->n_pushed, end = begin + HS_SPILL_PIECE_BYTES;
        HS_TRY(spill_sync(spill, begin, end, false, err));
        if (begin != 0 && !spill->stays_cached) {
            HS_TRY(spill_sync(spill, begin - HS_SPILL_PIECE_BYTES, begin, true, err));
            hs_spill_drop(spill, begin - HS_SPILL_PIECE_BYTES, begin);
        }
        spill->n_pushed = end;
    }
    return HS_OK;
}

hs_status hs_spill_flush(struct hs_spill *spill, struct hs_error *err)
{
    assert(spill->buffer != NULL);
    uint64_t at = spill->n_bytes - spill->n_buffered;
    HS_TRY(spill_write_all(spill, at, spill->buffer, spill->n_buffered, err));
    spill->n_buffered = 0;
    return spill_push(spill, spill->n_bytes, err);
}

hs_status hs_spill_write(struct hs_spill *spill, const void *bytes, size_t n_bytes,
                         struct hs_error *err)
{
    if (n_bytes > HS_SPILL_BUFFER_BYTES - spill->n_buffered)
        HS_TRY(hs_spill_flush(spill, err));
    if (n_bytes > HS_SPILL_BUFFER_BYTES) {
        HS_TRY(spill_write_all(spill, spill->n_bytes, bytes, n_bytes, err));
        spill->n_bytes += n_bytes;
        return spill_push(spill, spill->n_bytes, err);
    }
    if (n_bytes != 0)
        memcpy(spill->buffer + spill->n_buffered, bytes, n_bytes);
    spill->n_buffered += n_bytes;
    spill->n_bytes += n_bytes;
    return HS_OK;
}

hs_status hs_spill_skip(struct hs_spill *spill, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_spill_flush(spill, err));
    if (n_bytes > INT64_MAX - spill->n_bytes) {
        errno = EFBIG;
        return spill_write_failed(spill, spill->n_bytes, err);
    }
    spill->n_bytes += n_bytes;
    spill->ends_in_hole = true;
    return HS_OK;
}

/* Extends the file to its end where nothing was written behind the last hole. */
static hs_status spill_end_hole(struct hs_spill *spill, struct hs_error *err)
{
    if (spill->ends_in_hole && ftruncate(spill->fd, (off_t)spill->n_bytes) != 0)
        return spill_write_failed(spill, spill->n_bytes, err);
    spill->ends_in_hole = false;
    return HS_OK;
}

hs_status hs_spill_seal(struct hs_spill *spill, struct hs_error *err)
{
    HS_TRY(hs_spill_flush(spill, err));
    HS_TRY(spill_end_hole(spill, err));
    if (spill->n_pushed != 0 && !spill->stays_cached) { /* a small file may stay where it is */
        HS_TRY(
            spill_sync(spill, spill->n_pushed - HS_SPILL_PIECE_BYTES, spill->n_bytes, true, err));
        hs_spill_drop(spill, spill->n_pushed - HS_SPILL_PIECE_BYTES, spill->n_bytes);
    }
    hs_free(spill->buffer);
    spill->buffer = NULL;
    return HS_OK;
}

/* ---- reading ---- */

void hs_spill_expect(const struct hs_spill *spill, uint64_t begin, uint64_t end)
{
    (void)posix_fadvise(spill->fd, (off_t)begin, (off_t)(end - begin), POSIX_FADV_WILLNEED);
}

/* The kernel keeps pages that are covered in part: the first is dropped whole. */
void hs_spill_drop(const struct hs_spill *spill, uint64_t begin, uint64_t end)
{
    if (spill->is_read_often && spill->buffer == NULL)
        return;
    begin -= begin % PAGE_BYTES;
    (void)posix_fadvise(spill->fd, (off_t)begin, (off_t)(end - begin), POSIX_FADV_DONTNEED);
}

static hs_status spill_short(const struct hs_spill *spill, uint64_t at, struct hs_error *err)
{
    return hs_fail(err, HS_BUG, "the temporary file of %s ends early at byte %llu", spill->what,
                   (unsigned long long)at);
}

hs_status hs_spill_read_at(const struct hs_spill *spill, uint64_t at, void *bytes, size_t n_bytes,
                           struct hs_error *err)
{
    uint8_t *out = bytes;

    assert((spill->buffer == NULL || at + n_bytes <= spill->n_bytes - spill->n_buffered) &&
           "sealed or flushed first");
    while (n_bytes != 0) {
        ssize_t done = pread(spill->fd, out, n_bytes, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return hs_fail_errno(err, HS_IO, "cannot read %s back from a temporary file in '%s'",
                                 spill->what, spill->directory);
        if (done == 0)
            return spill_short(spill, at, err);
        out += done;
        at += (uint64_t)done;
        n_bytes -= (size_t)done;
    }
    return HS_OK;
}

hs_status hs_spill_read(const struct hs_spill *spill, uint64_t begin, uint64_t end,
                        struct hs_spill_reader *ret, struct hs_error *err)
{
    void *buffer;

    assert(spill->is_open && spill->buffer == NULL && begin <= end && end <= spill->n_bytes);
    HS_TRY(hs_alloc(HS_SPILL_BUFFER_BYTES + PAD_BYTES, 1, &buffer, err));
    *ret = (struct hs_spill_reader){.spill = spill,
                                    .at = begin,
                                    .end = end,
                                    .dropped = begin,
                                    .buffer = buffer,
                                    .next = buffer,
                                    .stop = buffer};
    return HS_OK;
}

void hs_spill_reader_close(struct hs_spill_reader *reader)
{
    if (reader == NULL)
        return;
    hs_free(reader->buffer);
    *reader = (struct hs_spill_reader){0};
}

hs_status hs_spill_fill(struct hs_spill_reader *reader, size_t n_bytes, struct hs_error *err)
{
    size_t rest = (size_t)(reader->stop - reader->next), room = HS_SPILL_BUFFER_BYTES - rest;
    size_t n = reader->end - reader->at < room ? (size_t)(reader->end - reader->at) : room;

    if (rest + n < n_bytes)
        return spill_short(reader->spill, reader->end, err);
    memmove(reader->buffer, reader->next, rest);
    reader->next = reader->buffer;
    reader->stop = reader->buffer + rest;
    HS_TRY(hs_spill_read_at(reader->spill, reader->at, reader->buffer + rest, n, err));
    reader->stop += n;
    reader->at += n;
    if (reader->at - reader->dropped >= HS_SPILL_PIECE_BYTES || reader->at == reader->end) {
        hs_spill_drop(reader->spill, reader->dropped, reader->at);
        reader->dropped = reader->at;
    }
    return HS_OK;
}

hs_status hs_spill_fill_back(struct hs_spill_reader *reader, size_t n_bytes, struct hs_error *err)
{
    size_t rest = (size_t)(reader->stop - reader->next), room = HS_SPILL_BUFFER_BYTES - rest;
    size_t n = reader->end - reader->at < room ? (size_t)(reader->end - reader->at) : room;

    if (rest + n < n_bytes)
        return spill_short(reader->spill, reader->at, err);
    memmove(reader->buffer + n, reader->next, rest);
    HS_TRY(hs_spill_read_at(reader->spill, reader->end - n, reader->buffer, n, err));
    reader->next = reader->buffer;
    reader->stop = reader->buffer + n + rest;
    reader->end -= n;
    hs_spill_drop(reader->spill, reader->end, reader->end + n);
    return HS_OK;
}

hs_status hs_spill_get_varint_slowly(struct hs_spill_reader *reader, uint64_t *ret,
                                     struct hs_error *err)
{
    if (reader->stop - reader->next < 10 && reader->at != reader->end)
        HS_TRY(hs_spill_fill(reader, 1, err));
    struct hs_cursor cursor = hs_cursor_make(reader->next, (size_t)(reader->stop - reader->next));
    uint64_t value = hs_cursor_varint(&cursor);
    if (cursor.failed)
        return spill_short(reader->spill, reader->at, err);
    reader->next += cursor.at;
    *ret = value;
    return HS_OK;
}
