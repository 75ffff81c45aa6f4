/* Opens the file of a core. A plain one is read where it lies; a pipe, or what is compressed, goes
 * to a temporary file first. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "core_private.h"

enum { FILE_MAGIC_BYTES = 8, FILE_NOBODY = 65534 };

static size_t file_read_first(int fd, uint8_t *bytes, size_t n_bytes, bool is_seekable)
{
    size_t n = 0;

    while (n < n_bytes) {
        ssize_t got = is_seekable ? pread(fd, bytes + n, n_bytes - n, (off_t)n)
                                  : read(fd, bytes + n, n_bytes - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    return n;
}

/* RFC 8878 and the description of LZ4's frames; both may begin with frames to be skipped. */
static hs_status file_form(const struct hs_core_file *file, const uint8_t *bytes, size_t n,
                           enum hs_core_form *ret, struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(bytes, n);
    uint32_t magic = hs_cursor_u32(&c);
    const char *packer = NULL;

    *ret = magic == 0xfd2fb528 ? HS_CORE_ZSTD : magic == 0x184d2204 ? HS_CORE_LZ4 : HS_CORE_PLAIN;
    if ((magic & 0xfffffff0) == 0x184d2a50)
        *ret = HS_CORE_ZSTD; /* pzstd begins so; lz4 does not write them */
    if (*ret != HS_CORE_PLAIN || c.failed)
        return HS_OK;
    if ((magic & 0xffff) == 0x8b1f)
        packer = "gzip";
    else if (magic == 0x587a37fd)
        packer = "xz";
    else if ((magic & 0xffffff) == 0x685a42)
        packer = "bzip2";
    if (packer == NULL)
        return HS_OK;
    (void)hs_fail(err, HS_FORMAT, "cannot read '%s': it is compressed by %s", file->name, packer);
    return hs_hint(err, "%s -dc FILE | heapsnap dump --core -", packer);
}

static hs_status file_open(const struct hs_core_options *options, struct hs_core_file *file,
                           struct hs_error *err)
{
    bool is_input = strcmp(options->path, "-") == 0;

    HS_TRY(hs_strdup(is_input ? "standard input" : options->path, &file->name, err));
    file->fd = is_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                        : open(options->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file->fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot open '%s'", file->name);
    if (isatty(file->fd)) {
        (void)hs_fail(err, HS_FORMAT, "cannot read a core from '%s': it is a terminal", file->name);
        return hs_hint(err, "coredumpctl dump PID | heapsnap dump --core -");
    }
    return HS_OK;
}

/* From now on the unpacked bytes are the file. */
static void file_use_spill(struct hs_core_file *file)
{
    (void)close(file->fd);
    file->fd = file->spill.fd;
    file->n_bytes = file->spill.n_bytes;
}

static hs_status file_spool(const struct hs_core_options *options, struct hs_core_file *file,
                            enum hs_core_form form, const uint8_t *first, size_t n_first,
                            struct hs_error *err)
{
    HS_TRY(hs_spill_open(options->budget, "the core", &file->spill, err));
    HS_TRY(hs_core_unpack(file->fd, form, first, n_first, file, err));
    HS_TRY(hs_spill_seal(&file->spill, err));
    file_use_spill(file);
    return HS_OK;
}

static hs_status file_fill(const struct hs_core_options *options, struct hs_core_file *file,
                           struct hs_error *err)
{
    uint8_t first[FILE_MAGIC_BYTES];
    enum hs_core_form form;
    struct stat found;

    HS_TRY(file_open(options, file, err));
    if (fstat(file->fd, &found) != 0)
        return hs_fail_errno(err, HS_IO, "cannot look at '%s'", file->name);
    if (S_ISDIR(found.st_mode)) {
        errno = EISDIR;
        return hs_fail_errno(err, HS_IO, "cannot read '%s'", file->name);
    }
    bool in_place = S_ISREG(found.st_mode) && lseek(file->fd, 0, SEEK_CUR) == 0;
    file->uid = in_place ? found.st_uid : FILE_NOBODY;
    file->gid = in_place ? found.st_gid : FILE_NOBODY;
    file->n_bytes = in_place ? (uint64_t)found.st_size : 0;
    size_t n_first = file_read_first(file->fd, first, sizeof first, in_place);
    HS_TRY(file_form(file, first, n_first, &form, err));
    if (in_place && form == HS_CORE_PLAIN)
        return HS_OK;
    return file_spool(options, file, form, first, in_place ? 0 : n_first, err);
}

void hs_core_file_close(struct hs_core_file *file)
{
    if (file == NULL)
        return;
    if (file->fd >= 0 && (!file->spill.is_open || file->fd != file->spill.fd))
        (void)close(file->fd);
    hs_spill_close(&file->spill);
    hs_free(file->name);
    hs_free(file);
}

hs_status hs_core_file_open(const struct hs_core_options *options, struct hs_core_file **ret,
                            struct hs_error *err)
{
    struct hs_core_file *file;
    HS_TRY(HS_ALLOC(&file, 1, err));
    file->fd = -1;
    hs_status status = file_fill(options, file, err);
    if (status != HS_OK) {
        hs_core_file_close(file);
        return status;
    }
    *ret = file;
    return HS_OK;
}

hs_status hs_core_file_read(const struct hs_core_file *file, uint64_t at, void *bytes,
                            size_t n_bytes, struct hs_error *err)
{
    uint8_t *out = bytes;

    while (n_bytes != 0) {
        ssize_t got = at <= INT64_MAX ? pread(file->fd, out, n_bytes, (off_t)at) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hs_fail_errno(err, HS_IO, "cannot read '%s'", file->name);
        if (got == 0)
            return hs_fail(err, HS_FORMAT, "'%s' ends early at byte %llu", file->name,
                           (unsigned long long)at);
        out += got;
        at += (uint64_t)got;
        n_bytes -= (size_t)got;
    }
    return HS_OK;
}
