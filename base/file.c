#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define OUT_BUFFER_BYTES 65536U
#define READ_FIRST_BYTES 65536U
#define NAME_TRIES 64

/* ---- reading ---- */

static void file_wait(int fd, short events)
{
    struct pollfd wait = {.fd = fd, .events = events};
    (void)poll(&wait, 1, -1);
}

/* Bytes read, 0 at the end, -1 with errno; waits where a descriptor does not block. */
static ssize_t file_read(int fd, void *bytes, size_t n)
{
    for (;;) {
        ssize_t got = read(fd, bytes, n);
        if (got >= 0 || (errno != EINTR && errno != EAGAIN))
            return got;
        if (errno == EAGAIN)
            file_wait(fd, POLLIN);
    }
}

static hs_status file_grow_pages(uint8_t **pages, size_t *capacity, struct hs_error *err)
{
    size_t doubled = *capacity == 0 ? READ_FIRST_BYTES : *capacity * 2;
    void *fresh;
    HS_TRY(hs_pages_alloc(doubled, 1, &fresh, err));
    if (*capacity != 0)
        memcpy(fresh, *pages, *capacity);
    hs_pages_free(*pages, *capacity, 1);
    *pages = fresh;
    *capacity = doubled;
    return HS_OK;
}

/* Gives back the whole pages behind the first n bytes, so that hs_map_close needs only n. */
static void file_trim_pages(uint8_t *pages, size_t n, size_t capacity)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t kept = (n + page - 1) / page * page;
    if (kept < capacity)
        (void)munmap(pages + kept, capacity - kept);
}

static hs_status file_read_all(int fd, const char *name, struct hs_map *ret, struct hs_error *err)
{
    uint8_t *pages = NULL;
    size_t capacity = 0;
    size_t n = 0;

    for (;;) {
        hs_status status = HS_OK;
        if (n == capacity)
            status = file_grow_pages(&pages, &capacity, err);
        ssize_t got = status == HS_OK ? file_read(fd, pages + n, capacity - n) : 0;
        if (got < 0)
            status = hs_fail_errno(err, HS_IO, "cannot read '%s'", name);
        if (status != HS_OK) {
            hs_pages_free(pages, capacity, 1);
            return status;
        }
        if (got == 0)
            break;
        n += (size_t)got;
    }
    file_trim_pages(pages, n, capacity);
    *ret = (struct hs_map){.bytes = n == 0 ? NULL : pages, .n_bytes = n};
    return HS_OK;
}

static hs_status file_map(int fd, const char *name, struct hs_map *ret, struct hs_error *err)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return hs_fail_errno(err, HS_IO, "cannot read '%s'", name);
    if (S_ISDIR(about.st_mode))
        return hs_fail(err, HS_IO, "cannot read '%s': it is a directory", name);
    /* Files of /proc say 0 bytes and have more; a redirected file may be half consumed. */
    if (!S_ISREG(about.st_mode) || about.st_size == 0 || lseek(fd, 0, SEEK_CUR) != 0)
        return file_read_all(fd, name, ret, err);
    if ((uint64_t)about.st_size > PTRDIFF_MAX)
        return hs_fail(err, HS_LIMIT, "cannot map '%s': too large", name);

    size_t n_bytes = (size_t)about.st_size;
    void *bytes = mmap(NULL, n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return errno == ENODEV ? file_read_all(fd, name, ret, err)
                               : hs_fail_errno(err, HS_IO, "cannot map '%s'", name);
    *ret = (struct hs_map){.bytes = bytes, .n_bytes = n_bytes};
    return HS_OK;
}

hs_status hs_map_open(const char *path, struct hs_map *ret, struct hs_error *err)
{
    if (strcmp(path, "-") == 0)
        return file_map(STDIN_FILENO, "standard input", ret, err);

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot open '%s'", path);
    hs_status status = file_map(fd, path, ret, err);
    (void)close(fd); /* nothing was written: its answer tells nothing */
    return status;
}

void hs_map_close(struct hs_map *map)
{
    if (map == NULL)
        return;
    if (map->bytes != NULL)
        (void)munmap((void *)map->bytes, map->n_bytes);
    *map = (struct hs_map){0};
}

/* ---- writing ---- */

static hs_status out_init(int fd, const char *name, struct hs_out *out, struct hs_error *err)
{
    void *buffer;
    *out = (struct hs_out){.fd = fd};
    HS_TRY(hs_strdup(name, &out->path, err));
    HS_TRY(hs_alloc(OUT_BUFFER_BYTES, 1, &buffer, err));
    out->buffer = buffer;
    return HS_OK;
}

hs_status hs_out_open_fd(int fd, const char *name, struct hs_out *ret, struct hs_error *err)
{
    struct hs_out out;
    hs_status status = out_init(fd, name, &out, err);
    if (status == HS_OK)
        *ret = out;
    else
        hs_out_close(&out);
    return status;
}

/* ".NAME.XXXXXX" beside `path`. */
static hs_status out_name_neighbour(const char *path, char **ret, struct hs_error *err)
{
    const char *slash = strrchr(path, '/');
    size_t directory = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    size_t n_bytes = strlen(path) + sizeof "..XXXXXX";
    void *name;
    HS_TRY(hs_alloc(n_bytes, 1, &name, err));
    (void)snprintf(name, n_bytes, "%.*s.%s.XXXXXX", (int)directory, path, path + directory);
    *ret = name;
    return HS_OK;
}

/* Not mkstemp, whose files are for the owner alone: the umask decides here, as for any output. */
static int out_create(char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    char *tail = name + strlen(name) - 6;

    for (int i = 0; i < NAME_TRIES; i++) {
        uint64_t random = (uint64_t)getpid() * NAME_TRIES + (uint64_t)i;
        (void)!getrandom(&random, sizeof random, GRND_NONBLOCK); /* the pid does as well */
        for (int at = 0; at < 6; at++, random >>= 5)
            tail[at] = letters[random & 31];
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static hs_status out_open_neighbour(struct hs_out *out, struct hs_error *err)
{
    char *name;
    HS_TRY(out_name_neighbour(out->path, &name, err));
    out->fd = out_create(name);
    if (out->fd < 0) {
        hs_status status = hs_fail_errno(err, HS_IO, "cannot create '%s'", out->path);
        hs_free(name);
        return status;
    }
    out->owns_fd = true;
    out->temporary = name;
    return HS_OK;
}

/* A device, a pipe or a socket is never replaced by a file. */
static hs_status out_open_in_place(struct hs_out *out, struct hs_error *err)
{
    out->fd = open(out->path, O_WRONLY | O_CLOEXEC);
    if (out->fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot write '%s'", out->path);
    out->owns_fd = true;
    return HS_OK;
}

static hs_status out_open(const char *path, struct hs_out *out, struct hs_error *err)
{
    char resolved[PATH_MAX];
    struct stat about;

    *out = (struct hs_out){.fd = -1};
    if (path[0] == '\0' || path[strlen(path) - 1] == '/')
        return hs_fail(err, HS_IO, "cannot write '%s': it names no file", path);
    bool exists = stat(path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode))
        return hs_fail(err, HS_IO, "cannot write '%s': it is a directory", path);
    bool in_place = exists && !S_ISREG(about.st_mode);
    /* A link that leads to a file stays a link: the file it names is replaced. */
    bool follow = exists && !in_place && realpath(path, resolved) != NULL;
    HS_TRY(out_init(-1, follow ? resolved : path, out, err));
    if (in_place)
        return out_open_in_place(out, err);
    HS_TRY(out_open_neighbour(out, err));
    if (exists && fchmod(out->fd, about.st_mode & 0777) != 0)
        return hs_fail_errno(err, HS_IO, "cannot keep the mode of '%s'", path);
    return HS_OK;
}

hs_status hs_out_open_path(const char *path, struct hs_out *ret, struct hs_error *err)
{
    struct hs_out out;
    hs_status status = out_open(path, &out, err);
    if (status == HS_OK)
        *ret = out;
    else
        hs_out_close(&out);
    return status;
}

static hs_status out_fail(struct hs_out *out, struct hs_error *err)
{
    out->failed = true;
    return hs_fail_errno(err, HS_IO, "cannot write '%s'", out->path);
}

static hs_status out_write_all(struct hs_out *out, const uint8_t *bytes, size_t n,
                               struct hs_error *err)
{
    while (n != 0) {
        ssize_t done = write(out->fd, bytes, n);
        if (done < 0 && errno == EAGAIN)
            file_wait(out->fd, POLLOUT);
        else if (done < 0 && errno != EINTR)
            return out_fail(out, err);
        if (done > 0) {
            bytes += done;
            n -= (size_t)done;
        }
    }
    return HS_OK;
}

static hs_status out_flush(struct hs_out *out, struct hs_error *err)
{
    HS_TRY(out_write_all(out, out->buffer, out->n_buffered, err));
    out->n_buffered = 0;
    return HS_OK;
}

hs_status hs_out_write(struct hs_out *out, const void *bytes, size_t n_bytes, struct hs_error *err)
{
    if (out->failed)
        return hs_fail(err, HS_IO, "cannot write '%s': an earlier write failed", out->path);
    if (n_bytes > OUT_BUFFER_BYTES - out->n_buffered)
        HS_TRY(out_flush(out, err));
    if (n_bytes >= OUT_BUFFER_BYTES)
        HS_TRY(out_write_all(out, bytes, n_bytes, err));
    else if (n_bytes != 0) {
        memcpy(out->buffer + out->n_buffered, bytes, n_bytes);
        out->n_buffered += n_bytes;
    }
    out->n_written += n_bytes;
    return HS_OK;
}

/* Some file systems tell of a failed write only at close: for a descriptor that is not ours, a copy
 * is closed to hear it. */
static hs_status out_finish_fd(struct hs_out *out, struct hs_error *err)
{
    int fd = out->owns_fd ? out->fd : dup(out->fd);
    if (out->owns_fd)
        out->fd = -1;
    out->owns_fd = false;
    if (fd >= 0 && close(fd) != 0 && errno != EINTR)
        return out_fail(out, err);
    return HS_OK;
}

hs_status hs_out_commit(struct hs_out *out, struct hs_error *err)
{
    if (out->failed)
        return hs_fail(err, HS_IO, "cannot write '%s': an earlier write failed", out->path);
    HS_TRY(out_flush(out, err));
    if (out->temporary != NULL && fsync(out->fd) != 0 && errno != EINVAL)
        return out_fail(out, err);
    HS_TRY(out_finish_fd(out, err));
    if (out->temporary == NULL)
        return HS_OK;
    if (rename(out->temporary, out->path) != 0)
        return out_fail(out, err);
    hs_free(out->temporary);
    out->temporary = NULL;
    return HS_OK;
}

void hs_out_close(struct hs_out *out)
{
    if (out == NULL)
        return;
    int saved = errno;
    if (out->owns_fd)
        (void)close(out->fd); /* uncommitted: the file is thrown away */
    if (out->temporary != NULL)
        (void)unlink(out->temporary);
    hs_free(out->temporary);
    hs_free(out->path);
    hs_free(out->buffer);
    *out = (struct hs_out){0};
    errno = saved;
}
