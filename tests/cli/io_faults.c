/* Preloaded into heapsnap: one system call, or all of a kind from there on, fails as disks do.
 *
 *   IO_FAULT=CLASS:N:KIND[+]    CLASS open read write sync close rename map
 *                               N     the how manyth call of the class, from 1; 0: none fails
 *                               KIND  eio enospc eintr short; + from there on
 *   IO_FAULT_COUNT=FILE         how many calls of the class there were is appended here at the end
 *   IO_FAULT_MARK=PATH          only calls on files whose path holds this text count
 *
 * Standard error is left alone: what is said of the failure is part of the test. Calls go to the
 * kernel directly, so that the handler of a signal may make them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum fault_class { NONE, OPEN, READ, WRITE, SYNC, CLOSE, RENAME, MAP };
static const char *const class_names[] = {"none", "open",  "read",   "write",
                                          "sync", "close", "rename", "map"};

static struct {
    enum fault_class class;
    unsigned long nth;
    int number; /* errno; 0: short */
    bool sticky, is_ready;
    char mark[128];
} fault;
static atomic_ulong n_calls;

__attribute__((constructor)) static void fault_read_plan(void)
{
    const char *plan = getenv("IO_FAULT"), *mark = getenv("IO_FAULT_MARK");
    char class[16] = "", kind[16] = "";
    if (plan == NULL || sscanf(plan, "%15[a-z]:%lu:%15s", class, &fault.nth, kind) != 3)
        return;
    for (unsigned i = OPEN; i <= MAP; i++)
        if (strcmp(class, class_names[i]) == 0)
            fault.class = (enum fault_class)i;
    fault.sticky = kind[0] != '\0' && kind[strlen(kind) - 1] == '+';
    fault.number = strncmp(kind, "enospc", 6) == 0  ? ENOSPC
                   : strncmp(kind, "eintr", 5) == 0 ? EINTR
                   : strncmp(kind, "short", 5) == 0 ? 0
                                                    : EIO;
    if (mark != NULL)
        (void)snprintf(fault.mark, sizeof fault.mark, "%s", mark);
    fault.is_ready = true;
}

__attribute__((destructor)) static void fault_tell(void)
{
    const char *path = getenv("IO_FAULT_COUNT");
    char text[32];
    if (path == NULL)
        return;
    int n = snprintf(text, sizeof text, "%lu\n", atomic_load(&n_calls));
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)syscall(SYS_write, fd, text, n);
        (void)syscall(SYS_close, fd);
    }
}

/* Digits without stdio: this runs in handlers of signals. */
static bool fd_is_marked(int fd)
{
    char link[32] = "/proc/self/fd/", path[PATH_MAX], digits[12];
    size_t n_link = strlen(link), n = 0;
    if (fault.mark[0] == '\0')
        return true;
    for (unsigned rest = (unsigned)fd; n == 0 || rest != 0; rest /= 10)
        digits[n++] = (char)('0' + rest % 10);
    while (n > 0)
        link[n_link++] = digits[--n];
    link[n_link] = '\0';
    long got = syscall(SYS_readlink, link, path, sizeof path - 1);
    if (got <= 0)
        return false;
    path[got] = '\0';
    return strstr(path, fault.mark) != NULL;
}

/* Does this call fail? It is counted in any case. */
static bool fault_hits(enum fault_class class, int fd)
{
    if (!fault.is_ready || class != fault.class || fd == STDERR_FILENO)
        return false;
    int saved = errno;
    bool is_marked = fd < 0 || fd_is_marked(fd);
    errno = saved;
    if (!is_marked)
        return false;
    unsigned long number = atomic_fetch_add(&n_calls, 1) + 1;
    return fault.nth != 0 && (number == fault.nth || (fault.sticky && number > fault.nth));
}

/* -1 with errno, or the half of n for a short count (at least one byte, lest it mean the end). */
static ssize_t fault_result(size_t n)
{
    if (fault.number == 0)
        return (ssize_t)(n > 1 ? n / 2 : n);
    errno = fault.number;
    return -1;
}

static size_t fault_length(size_t n)
{
    return (size_t)fault_result(n);
}

ssize_t read(int fd, void *bytes, size_t n)
{
    if (fault_hits(READ, fd)) {
        if (fault.number != 0)
            return fault_result(n);
        n = fault_length(n);
    }
    return syscall(SYS_read, fd, bytes, n);
}

ssize_t pread(int fd, void *bytes, size_t n, off_t at)
{
    if (fault_hits(READ, fd)) {
        if (fault.number != 0)
            return fault_result(n);
        n = fault_length(n);
    }
    return syscall(SYS_pread64, fd, bytes, n, at);
}

ssize_t pread64(int fd, void *bytes, size_t n, off_t at) __attribute__((alias("pread")));

ssize_t write(int fd, const void *bytes, size_t n)
{
    if (fault_hits(WRITE, fd)) {
        if (fault.number != 0)
            return fault_result(n);
        n = fault_length(n);
    }
    return syscall(SYS_write, fd, bytes, n);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    if (fault_hits(WRITE, fd)) {
        if (fault.number != 0)
            return fault_result(n);
        n = fault_length(n);
    }
    return syscall(SYS_pwrite64, fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off_t at) __attribute__((alias("pwrite")));

static int open_at(int directory, const char *path, int flags, mode_t mode)
{
    if (fault_hits(OPEN, -1))
        return (int)fault_result(0);
    return (int)syscall(SYS_openat, directory, path, flags, mode);
}

#define OPEN_MODE(flags)                                              \
    mode_t mode = 0;                                                  \
    if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) { \
        va_list list;                                                 \
        va_start(list, flags);                                        \
        mode = va_arg(list, mode_t);                                  \
        va_end(list);                                                 \
    }

int open(const char *path, int flags, ...)
{
    OPEN_MODE(flags)
    return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    OPEN_MODE(flags)
    return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...)
{
    OPEN_MODE(flags)
    return open_at(directory, path, flags, mode);
}

int openat64(int directory, const char *path, int flags, ...)
{
    OPEN_MODE(flags)
    return open_at(directory, path, flags, mode);
}

/* As the kernel's: the descriptor is gone whatever is said of it. */
int close(int fd)
{
    bool fails = fault_hits(CLOSE, fd);
    int result = (int)syscall(SYS_close, fd);
    return fails ? (int)fault_result(0) : result;
}

int fsync(int fd)
{
    return fault_hits(SYNC, fd) ? (int)fault_result(0) : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fault_hits(SYNC, fd) ? (int)fault_result(0) : (int)syscall(SYS_fdatasync, fd);
}

int ftruncate(int fd, off_t n)
{
    return fault_hits(WRITE, fd) ? (int)fault_result(0) : (int)syscall(SYS_ftruncate, fd, n);
}

int ftruncate64(int fd, off_t n) __attribute__((alias("ftruncate")));

int rename(const char *from, const char *to)
{
    return fault_hits(RENAME, -1) ? (int)fault_result(0) : (int)syscall(SYS_rename, from, to);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    return fault_hits(RENAME, -1)
               ? (int)fault_result(0)
               : (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, 0);
}

int renameat2(int from_directory, const char *from, int to_directory, const char *to,
              unsigned flags)
{
    return fault_hits(RENAME, -1)
               ? (int)fault_result(0)
               : (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, flags);
}

int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags)
{
    return fault_hits(RENAME, -1)
               ? (int)fault_result(0)
               : (int)syscall(SYS_linkat, from_directory, from, to_directory, to, flags);
}

/* Of files only. */
void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    if (fd >= 0 && fault_hits(MAP, fd)) {
        errno = fault.number != 0 ? fault.number : ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset); // NOLINT
}

void *mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));
