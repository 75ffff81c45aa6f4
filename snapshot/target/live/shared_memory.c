/* Shared memory as the kernel keeps it, whoever has filled it. A page that this process has not
 * touched yet, such as a child of the one that wrote it, stands in no page table of it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "target/procfs.h"
#include "target_private.h"

/* Between two looks at the bounds of the stop. */
enum { SHARED_READ_BYTES = 1 << 24 };

bool hs_shared_is_in_memory(const struct hs_target *target, const struct hs_mapping *mapping)
{
    static const char *const beginnings[] = {"/dev/zero", "/memfd:", "/SYSV", "/dev/shm/"};
    const char *path = hs_mapping_path(target, mapping);

    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (mapping->shared && strncmp(path, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

/* Is it that memory, and such that its parts can be told? */
static bool shared_is_right(int fd, const struct hs_mapping *mapping)
{
    struct statfs system;
    struct stat file;

    return fstat(fd, &file) == 0 && file.st_ino == mapping->inode && S_ISREG(file.st_mode) &&
           fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

int hs_shared_open(const struct hs_target *target, const struct hs_mapping *mapping)
{
    char path[HS_PROC_PATH_BYTES];

    if (target->core != NULL || !hs_shared_is_in_memory(target, mapping))
        return -1;
    (void)snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", target->live.pid,
                   (unsigned long long)mapping->begin, (unsigned long long)mapping->end);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && !shared_is_right(fd, mapping)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

bool hs_shared_next(int fd, uint64_t from, uint64_t end, uint64_t *ret_begin, uint64_t *ret_end)
{
    if (from >= end || end > INT64_MAX)
        return false;
    off_t begin = lseek(fd, (off_t)from, SEEK_DATA);
    if (begin < 0 || (uint64_t)begin >= end)
        return false;
    off_t hole = lseek(fd, begin, SEEK_HOLE);
    *ret_begin = (uint64_t)begin;
    *ret_end = hole <= begin || (uint64_t)hole > end ? end : (uint64_t)hole;
    return true;
}

hs_status hs_shared_read(struct hs_target *target, int fd, uint64_t offset, void *bytes,
                         size_t n_bytes, size_t *ret_n, struct hs_error *err)
{
    ssize_t n;

    HS_TRY(hs_freeze_check(target, err));
    if (n_bytes > SHARED_READ_BYTES)
        n_bytes = SHARED_READ_BYTES;
    do
        n = pread(fd, bytes, n_bytes, (off_t)offset);
    while (n < 0 && errno == EINTR);
    *ret_n = n < 0 ? 0 : (size_t)n;
    return HS_OK;
}
