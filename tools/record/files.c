#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

enum { NAME_TRIES = 1000 };

/* ---- opening ---- */

static hs_status adopt(int fd, const char *name, const struct hs_out_access *access, bool is_new,
                       struct hs_record_file *ret, struct hs_error *err)
{
    struct stat about;
    *ret = (struct hs_record_file){.fd = fd, .max_bytes = UINT64_MAX};
    if (is_new)
        HS_TRY(hs_out_access_apply(fd, access, name, err));
    if (fstat(fd, &about) != 0)
        return hs_fail_errno(err, HS_IO, "cannot write '%s'", name);
    ret->is_regular = S_ISREG(about.st_mode);
    return hs_strdup(name, &ret->name, err);
}

static hs_status open_in_place(const struct hs_out_path *path, struct hs_record_file *ret,
                               struct hs_error *err)
{
    struct stat about;
    int fd = open(path->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot open '%s'", path->path);
    hs_status status = HS_OK;
    if (fstat(fd, &about) != 0 || about.st_dev != path->device || about.st_ino != path->inode)
        status = hs_fail(err, HS_IO, "cannot write '%s': it was replaced meanwhile", path->path);
    if (status == HS_OK)
        status = adopt(fd, path->path, NULL, false, ret, err);
    if (status != HS_OK)
        (void)close(fd); /* nothing was written */
    return status;
}

/* A neighbour that takes the name at once: who reads an older file of this name goes on with it. */
static hs_status open_replacing(const char *path, const struct hs_out_access *access,
                                struct hs_record_file *ret, struct hs_error *err)
{
    char neighbour[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int n_directory = slash == NULL ? 0 : (int)(slash + 1 - path);
    if (snprintf(neighbour, sizeof neighbour, "%.*s.heapsnap.XXXXXX", n_directory, path) >=
        (int)sizeof neighbour)
        return hs_fail(err, HS_IO, "cannot write '%.80s...': its name is too long", path);
    int fd = mkostemp(neighbour, O_CLOEXEC);
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot create '%s'", path);
    hs_status status = adopt(fd, path, access, true, ret, err);
    if (status == HS_OK && rename(neighbour, path) != 0)
        status = hs_fail_errno(err, HS_IO, "cannot create '%s'", path);
    if (status == HS_OK)
        return HS_OK;
    (void)unlink(neighbour);
    (void)close(fd); /* nothing was written */
    hs_free(ret->name);
    *ret = (struct hs_record_file){.fd = -1};
    return status;
}

hs_status hs_record_file_open(const char *path, const struct hs_out_access *access,
                              struct hs_record_file *ret, struct hs_error *err)
{
    struct hs_out_path found = {0};
    HS_TRY(hs_out_path_find(path, &found, err));
    hs_status status = found.in_place ? open_in_place(&found, ret, err)
                                      : open_replacing(found.path, access, ret, err);
    hs_out_path_fini(&found);
    return status;
}

hs_status hs_record_file_new(int dir_fd, const char *stem, const struct hs_out_access *access,
                             struct hs_record_file *ret, struct hs_error *err)
{
    char name[NAME_MAX + 1];
    for (int number = 1; number < NAME_TRIES; number++) {
        int n = number == 1 ? snprintf(name, sizeof name, "%s.trace", stem)
                            : snprintf(name, sizeof name, "%s.%d.trace", stem, number);
        if (n < 0 || (size_t)n >= sizeof name)
            return hs_fail(err, HS_IO, "cannot create '%.80s...': its name is too long", stem);
        int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                        (mode_t)0600);
        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0)
            return hs_fail_errno(err, HS_IO, "cannot create '%s'", name);
        hs_status status = adopt(fd, name, access, true, ret, err);
        if (status != HS_OK) {
            (void)unlinkat(dir_fd, name, 0);
            (void)close(fd); /* nothing was written */
        }
        return status;
    }
    return hs_fail(err, HS_IO, "cannot create '%s.trace': there are too many of that name", stem);
}

/* ---- writing ---- */

static void complain(struct hs_record_files *files, const struct hs_error *why)
{
    files->is_failed = true;
    files->complain(files->context, why->message);
}

static void fail_file(struct hs_record_files *files, struct hs_record_file *file, const char *why)
{
    struct hs_error err = HS_ERROR_INIT;
    (void)hs_fail(&err, HS_IO, "the trace '%s' ends here: %s", file->name, why);
    file->is_failed = true;
    complain(files, &err);
}

/* Writes all of it, or cuts the file back to where it was. */
static void write_whole(struct hs_record_files *files, struct hs_record_file *file,
                        const uint8_t *bytes, size_t n_bytes)
{
    if (file->is_failed)
        return;
    if (n_bytes > file->max_bytes - file->n_bytes) {
        fail_file(files, file, "it would be larger than is allowed");
        return;
    }
    for (size_t done = 0; done < n_bytes;) {
        ssize_t n = write(file->fd, bytes + done, n_bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int why = errno;
            if (file->is_regular && ftruncate(file->fd, (off_t)file->n_bytes) != 0)
                why = errno; /* its reader drops a cut packet */
            fail_file(files, file, strerror(why));
            return;
        }
        done += (size_t)n;
    }
    file->n_bytes += n_bytes;
}

static struct hs_record_file *file_of(struct hs_record_files *files, uint64_t pid,
                                      unsigned *ret_number)
{
    struct hs_record_file *last = NULL;
    *ret_number = 0;
    for (size_t i = 0; i < files->n_files; i++)
        if (files->files[i].pid == pid) {
            last = &files->files[i];
            ++*ret_number;
        }
    return last;
}

static void close_file(struct hs_record_files *files, struct hs_record_file *file)
{
    struct stat about;
    if (file->fd < 0)
        return;
    if (!file->is_failed && file->is_regular && fstat(file->fd, &about) == 0 && about.st_nlink == 0)
        fail_file(files, file, "it was removed while it was written");
    if (close(file->fd) != 0 && !file->is_failed)
        fail_file(files, file, strerror(errno));
    file->fd = -1;
}

/* A program that allocated nothing and became another one is not worth a file. */
static bool is_reusable(const struct hs_record_file *file)
{
    return file->is_regular && !file->is_failed && file->n_allocs == 0 && file->fd >= 0 &&
           ftruncate(file->fd, 0) == 0 && lseek(file->fd, 0, SEEK_SET) == 0;
}

static hs_status begin_file(struct hs_record_files *files, const struct hs_packet *info,
                            struct hs_record_file **ret, struct hs_error *err)
{
    struct hs_error why = HS_ERROR_INIT;
    unsigned number;
    struct hs_record_file *last = file_of(files, info->pid, &number);
    if (last != NULL && is_reusable(last)) {
        last->n_bytes = 0;
        *ret = last;
        return HS_OK;
    }
    if (last != NULL)
        close_file(files, last);
    HS_TRY(HS_GROW(&files->files, &files->capacity, files->n_files + 1, err));
    struct hs_record_file file = {.fd = -1};
    if (files->n_files == HS_RECORD_MAX_FILES)
        (void)hs_fail(&why, HS_LIMIT, "process %lu is not kept: there are %d traces already",
                      (unsigned long)info->pid, HS_RECORD_MAX_FILES);
    else if (files->open(files->context, info, number, &file, &why) == HS_OK)
        why.status = HS_OK;
    *ret = NULL;
    if (why.status != HS_OK) {
        if (why.message[0] != '\0')
            complain(files, &why);
        return HS_OK;
    }
    file.pid = info->pid;
    files->files[files->n_files++] = file;
    *ret = &files->files[files->n_files - 1];
    return HS_OK;
}

/* Counts a packet's allocations: as written, or as cut off when the file has failed; ids that no
 * packet brought count as missing. */
static void count(struct hs_record_file *file, const struct hs_packet *packet)
{
    uint64_t n_allocs = packet->id_end - packet->id_begin;
    if (packet->id_begin > file->next_id)
        file->n_missing += packet->id_begin - file->next_id;
    if (packet->id_end > file->next_id)
        file->next_id = packet->id_end;
    if (file->is_failed)
        file->n_cut += n_allocs;
    else
        file->n_allocs += n_allocs;
}

hs_status hs_record_files_put(struct hs_record_files *files, const struct hs_packet *packet,
                              bool is_info, const void *bytes, size_t n_bytes, struct hs_error *err)
{
    unsigned number;
    struct hs_record_file *file = NULL;
    if (is_info)
        HS_TRY(begin_file(files, packet, &file, err));
    else
        file = file_of(files, packet->pid, &number);
    if (file == NULL || file->fd < 0) {
        files->n_homeless += packet->id_end - packet->id_begin;
        return HS_OK;
    }
    write_whole(files, file, bytes, n_bytes);
    count(file, packet);
    return HS_OK;
}

void hs_record_files_close(struct hs_record_files *files)
{
    for (size_t i = 0; i < files->n_files; i++)
        close_file(files, &files->files[i]);
}

void hs_record_files_fini(struct hs_record_files *files)
{
    for (size_t i = 0; i < files->n_files; i++) {
        if (files->files[i].fd >= 0)
            (void)close(files->files[i].fd); /* what went wrong is known */
        hs_free(files->files[i].name);
    }
    hs_free(files->files);
    files->files = NULL;
    files->n_files = files->capacity = 0;
}
