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
#include "base/plain.h"

#define OUT_BUFFER_BYTES 65536U
#define READ_FIRST_BYTES 65536U
#define NAME_TRIES 64
/* A page of a mapped file that is touched brings others along that the system has in memory: 64 KiB
 * about it (fault_around_bytes), all of a large folio. None is farther away than this. */
#define FAULT_AROUND_BYTES ((uint64_t)2 << 20)

/* ---- reading ---- */

static void file_wait(int fd, short events)
{
    struct pollfd wait = {.fd = fd, .events = events};
    (void)poll(&wait, 1, -1);
}

/* Reads: bytes read, 0 at the end, -1 with errno; waits where a descriptor does not block. */
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

hs_status hs_map_open_fd(int fd, const char *name, struct hs_map *ret, struct hs_error *err)
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
    *ret = (struct hs_map){.bytes = bytes, .n_bytes = n_bytes, .is_file = true};
    return HS_OK;
}

hs_status hs_map_open(const char *path, struct hs_map *ret, struct hs_error *err)
{
    if (strcmp(path, "-") == 0)
        return hs_map_open_fd(STDIN_FILENO, "standard input", ret, err);

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot open '%s'", path);
    hs_status status = hs_map_open_fd(fd, path, ret, err);
    (void)close(fd); /* nothing was written: its answer tells nothing */
    return status;
}

void hs_map_release(const struct hs_map *map, uint64_t begin, uint64_t end)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    if (!map->is_file || begin >= end || end > map->n_bytes)
        return;
    begin = begin > FAULT_AROUND_BYTES ? begin - FAULT_AROUND_BYTES : 0;
    begin -= begin % page;
    end = map->n_bytes - end > FAULT_AROUND_BYTES ? end + FAULT_AROUND_BYTES : map->n_bytes;
    (void)madvise((uint8_t *)(uintptr_t)map->bytes + begin, (size_t)(end - begin), MADV_DONTNEED);
}

/* Asks the descriptor that was opened, lest the name is another file by then. */
static hs_status file_is_trusted(int fd, const char *path, uid_t maker, struct hs_error *err)
{
    struct stat about;

    if (fstat(fd, &about) != 0)
        return hs_fail_errno(err, HS_IO, "cannot open '%s'", path);
    if (!S_ISREG(about.st_mode))
        return hs_fail(err, HS_FORMAT, "'%s' is not a file", path);
    if (about.st_uid != 0 && about.st_uid != geteuid() && about.st_uid != maker)
        return hs_fail(err, HS_FORMAT, "'%s' is another user's", path);
    return HS_OK;
}

hs_status hs_map_open_trusted(const char *path, uid_t maker, struct hs_map *ret,
                              struct hs_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot open '%s'", path);
    hs_status status = file_is_trusted(fd, path, maker, err);
    if (status == HS_OK)
        status = hs_map_open_fd(fd, path, ret, err);
    (void)close(fd);
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
    *out = (struct hs_out){.fd = fd};
    HS_TRY(hs_strdup(name, &out->path, err));
    HS_TRY(HS_ALLOC(&out->buffer, OUT_BUFFER_BYTES, err));
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

/* Puts random letters for the last six, and another try's when that was taken. */
static void out_name_draw(char *name, int nth)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    uint64_t random = (uint64_t)getpid() * NAME_TRIES + (uint64_t)nth;
    char *tail = name + strlen(name) - 6;

    (void)!getrandom(&random, sizeof random, GRND_NONBLOCK); /* the pid does as well */
    for (int at = 0; at < 6; at++, random >>= 5)
        tail[at] = letters[random & 31];
}

static int out_create(char *name)
{
    int fd = -1;

    for (int i = 0; i < NAME_TRIES; i++) {
        out_name_draw(name, i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

/* Writes the name by which a descriptor can be linked to a file: through /proc. */
static void out_fd_name(int fd, char name[32])
{
    (void)snprintf(name, 32, "/proc/self/fd/%d", fd);
}

/* A file without a name beside `path`; -1 where that cannot be, or could get no name later. */
static int out_create_unnamed(const char *path)
{
    char directory[PATH_MAX], name[32];
    const char *slash = strrchr(path, '/');
    int n = slash == NULL ? 0 : (int)(slash - path) + 1;

    (void)snprintf(directory, sizeof directory, "%.*s", n, path);
    int fd = open(n == 0 ? "." : directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    out_fd_name(fd, name);
    if (fd < 0 || access(name, F_OK) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static hs_status out_open_neighbour(struct hs_out *out, const struct hs_out_access *access,
                                    struct hs_error *err)
{
    HS_TRY(out_name_neighbour(out->path, &out->temporary, err));
    out->fd = out_create_unnamed(out->path);
    if (out->fd < 0) {
        out->fd = out_create(out->temporary);
        out->is_named = out->fd >= 0;
    }
    if (out->fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot create '%s'", out->path);
    out->owns_fd = true;
    return hs_out_access_apply(out->fd, access, out->path, err);
}

/* A device, a pipe or a socket is never replaced by a file. */
static hs_status out_open_in_place(struct hs_out *out, const struct hs_out_path *found,
                                   struct hs_error *err)
{
    struct stat about;

    out->fd = open(out->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (out->fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot write '%s'", out->path);
    out->owns_fd = true;
    if (fstat(out->fd, &about) != 0 || about.st_dev != found->device ||
        about.st_ino != found->inode)
        return hs_fail(err, HS_IO, "cannot write '%s': it was replaced meanwhile", out->path);
    return HS_OK;
}

static hs_status out_open(const struct hs_out_path *found, const struct hs_out_access *access,
                          struct hs_out *out, struct hs_error *err)
{
    *out = (struct hs_out){.fd = -1};
    HS_TRY(out_init(-1, found->path, out, err));
    return found->in_place ? out_open_in_place(out, found, err)
                           : out_open_neighbour(out, access, err);
}

hs_status hs_out_open_path_as(const char *path, const struct hs_out_access *access,
                              struct hs_out *ret, struct hs_error *err)
{
    struct hs_out_path found;
    struct hs_out out;

    HS_TRY(hs_out_path_find(path, &found, err));
    hs_status status = out_open(&found, access, &out, err);
    hs_out_path_fini(&found);
    if (status == HS_OK)
        *ret = out;
    else
        hs_out_close(&out);
    return status;
}

hs_status hs_out_open_path(const char *path, struct hs_out *ret, struct hs_error *err)
{
    return hs_out_open_path_as(path, NULL, ret, err);
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

static hs_status out_write_plain(struct hs_out *out, const char *text, size_t n_bytes,
                                 struct hs_error *err)
{
    hs_auto_free char *plain = NULL;
    HS_TRY(HS_ALLOC(&plain, n_bytes, err));
    return out_write_all(out, (const uint8_t *)plain, hs_plain(text, n_bytes, plain), err);
}

hs_status hs_out_write(struct hs_out *out, const void *bytes, size_t n_bytes, struct hs_error *err)
{
    if (out->failed)
        return hs_fail(err, HS_IO, "cannot write '%s': an earlier write failed", out->path);
    if (n_bytes > OUT_BUFFER_BYTES - out->n_buffered)
        HS_TRY(out_flush(out, err));
    if (n_bytes >= OUT_BUFFER_BYTES && out->is_plain)
        HS_TRY(out_write_plain(out, bytes, n_bytes, err));
    else if (n_bytes >= OUT_BUFFER_BYTES)
        HS_TRY(out_write_all(out, bytes, n_bytes, err));
    else if (out->is_plain) {
        char *end = (char *)out->buffer + out->n_buffered;
        out->n_buffered += hs_plain(bytes, n_bytes, end);
    } else if (n_bytes != 0) {
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

/* Links the file to a name. 0, or an errno. The name of a link that somebody put there is taken,
 * too. */
static int out_link(const struct hs_out *out, const char *name)
{
    char from[32];
    out_fd_name(out->fd, from);
    return linkat(AT_FDCWD, from, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* A file without a name gets the one that was asked for, or the neighbour's when that is taken. */
static hs_status out_give_name(struct hs_out *out, bool *ret_done, struct hs_error *err)
{
    int failed = out_link(out, out->path);

    *ret_done = failed == 0;
    for (int i = 0; failed == EEXIST && i < NAME_TRIES; i++) {
        out_name_draw(out->temporary, i);
        failed = out_link(out, out->temporary);
        out->is_named = failed == 0;
    }
    errno = failed;
    return failed == 0 ? HS_OK : out_fail(out, err);
}

static hs_status out_commit_file(struct hs_out *out, struct hs_error *err)
{
    bool is_done = false;

    if (fsync(out->fd) != 0 && errno != EINVAL)
        return out_fail(out, err);
    if (!out->is_named)
        HS_TRY(out_give_name(out, &is_done, err));
    HS_TRY(out_finish_fd(out, err));
    if (!is_done && rename(out->temporary, out->path) != 0)
        return out_fail(out, err);
    out->is_named = false;
    return HS_OK;
}

hs_status hs_out_commit(struct hs_out *out, struct hs_error *err)
{
    if (out->failed)
        return hs_fail(err, HS_IO, "cannot write '%s': an earlier write failed", out->path);
    HS_TRY(out_flush(out, err));
    if (out->temporary == NULL)
        return out_finish_fd(out, err);
    HS_TRY(out_commit_file(out, err));
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
    if (out->is_named)
        (void)unlink(out->temporary);
    hs_free(out->temporary);
    hs_free(out->path);
    hs_free(out->buffer);
    *out = (struct hs_out){0};
    errno = saved;
}

bool hs_cache_dir(char *path, size_t n)
{
    const char *base = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int n_path = -1;

    if (base != NULL && base[0] == '/')
        n_path = snprintf(path, n, "%s/heapsnap", base);
    else if (home != NULL && home[0] == '/')
        n_path = snprintf(path, n, "%s/.cache/heapsnap", home);
    return n_path > 0 && (size_t)n_path < n;
}
