#include "record_output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FD_LOW 1000
#define SUFFIX_MAX 10000U

/* The program may have made another file of it since. */
static bool is_stderr(const struct hs_record_output *output)
{
    struct stat facts;

    return fstat(STDERR_FILENO, &facts) == 0 && facts.st_dev == output->stderr_device &&
           facts.st_ino == output->stderr_inode;
}

static void remember_stderr(struct hs_record_output *output)
{
    struct stat facts = {.st_ino = 0};

    (void)fstat(STDERR_FILENO, &facts);
    output->stderr_device = facts.st_dev;
    output->stderr_inode = facts.st_ino;
}

/* Prints one line in the life of a process, in one write, without stdio. */
static void say(struct hs_record_output *output, const char *what)
{
    static const char head[] = "heapsnap record: ";
    char line[sizeof head + HS_RECORD_PATH_BYTES + 128];
    size_t n = 0;

    if (output->has_said || !is_stderr(output))
        return;
    output->has_said = true;
    for (const char *part = head; *part != '\0'; part++)
        line[n++] = *part;
    for (const char *part = output->path; *part != '\0' && n < sizeof line - 100; part++)
        line[n++] = *part;
    for (const char *part = what; *part != '\0' && n < sizeof line - 1; part++)
        line[n++] = *part;
    line[n++] = '\n';
    (void)syscall(SYS_write, STDERR_FILENO, line, n);
}

/* Moves a descriptor as far up as may be: programs close or reuse the low ones. */
static int move_up(int fd)
{
    struct rlimit limit;
    int low = FD_LOW, moved = -1;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 64)
        low = limit.rlim_cur > (1U << 16) ? (1 << 16) - 16 : (int)limit.rlim_cur - 16;
    for (; moved < 0 && low > 2; low /= 2)
        moved = fcntl(fd, F_DUPFD_CLOEXEC, low);
    return moved;
}

/* Appends; what does not fit is left out, which makes a name that cannot be opened by accident. */
static size_t append(char *to, size_t n, const char *text)
{
    while (*text != '\0' && n < HS_RECORD_PATH_BYTES - 1)
        to[n++] = *text++;
    to[n] = '\0';
    return n;
}

static size_t append_number(char *to, size_t n, unsigned long number)
{
    char digits[24];
    size_t at = sizeof digits - 1;

    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return append(to, n, digits + at);
}

static bool name_file(char *path, const char *pattern, long pid, unsigned suffix)
{
    size_t n = 0;
    char one[2] = "";

    path[0] = '\0';
    /* A relative path is made absolute now: the process may change its directory later. */
    if (pattern[0] != '/' && syscall(SYS_getcwd, path, HS_RECORD_PATH_BYTES) > 0 && path[0] == '/')
        n = append(path, strlen(path), "/");
    for (; *pattern != '\0'; pattern++) {
        one[0] = *pattern;
        if (pattern[0] == '%' && pattern[1] == 'p')
            n = append_number(path, n, (unsigned long)pid), pattern++;
        else
            n = append(path, n, one);
    }
    if (suffix != 0)
        n = append_number(path, append(path, n, "."), suffix);
    return n < HS_RECORD_PATH_BYTES - 1;
}

bool hs_record_output_file(struct hs_record_output *output, const char *pattern, long pid)
{
    bool has_said = output->has_said;
    struct stat facts;
    int fd = -1;

    *output = (struct hs_record_output){.fd = -1, .has_said = has_said};
    remember_stderr(output);
    for (unsigned suffix = 0; fd < 0 && suffix < SUFFIX_MAX; suffix++) {
        if (!name_file(output->path, pattern, pid, suffix)) {
            say(output, "...: the name is too long: nothing is written");
            return false;
        }
        fd = (int)syscall(SYS_openat, AT_FDCWD, output->path,
                          O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
        if (fd < 0 && stat(output->path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
            /* A device can only be written as it is; the end of a pipe's reader would be ours. */
            if (!S_ISCHR(facts.st_mode))
                break;
            fd = (int)syscall(SYS_openat, AT_FDCWD, output->path,
                              O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
            break;
        }
    }
    if (fd < 0) {
        say(output, ": cannot be created: nothing is written");
        return false;
    }
    output->fd = move_up(fd);
    if (output->fd >= 0)
        (void)close(fd);
    else
        output->fd = fd;
    if (fstat(output->fd, &facts) == 0) {
        output->device = facts.st_dev;
        output->inode = facts.st_ino;
    }
    return true;
}

bool hs_record_output_socket(struct hs_record_output *output, int fd)
{
    bool has_said = output->has_said;
    struct stat facts;

    *output = (struct hs_record_output){.fd = -1, .has_said = has_said};
    remember_stderr(output);
    if (fstat(fd, &facts) != 0 || !S_ISSOCK(facts.st_mode))
        return false;
    output->fd = move_up(fd);
    output->is_socket = true;
    output->device = facts.st_dev;
    output->inode = facts.st_ino;
    return output->fd >= 0;
}

/* Closes only what is still ours. */
void hs_record_output_close(struct hs_record_output *output)
{
    struct stat facts;

    if (output->fd >= 0 && fstat(output->fd, &facts) == 0 && facts.st_dev == output->device &&
        facts.st_ino == output->inode)
        (void)syscall(SYS_close, output->fd);
    output->fd = -1;
    output->path[0] = '\0';
}

/* The program closed our descriptor, or it is another file by now. */
static bool reopen(struct hs_record_output *output)
{
    struct stat facts;
    int fd;

    output->fd = -1;
    if (output->is_socket)
        return false;
    fd = (int)syscall(SYS_openat, AT_FDCWD, output->path,
                      O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    if (fstat(fd, &facts) == 0 && facts.st_dev == output->device && facts.st_ino == output->inode)
        output->fd = move_up(fd);
    (void)syscall(SYS_close, fd);
    return output->fd >= 0;
}

static bool is_ours(struct hs_record_output *output)
{
    struct stat facts;

    if (output->fd < 0 || fstat(output->fd, &facts) != 0 || facts.st_dev != output->device ||
        facts.st_ino != output->inode) {
        if (!reopen(output) || fstat(output->fd, &facts) != 0)
            return false;
    }
    /* Nobody would ever read what fills the disk without a name. */
    return output->is_socket || facts.st_nlink != 0;
}

/* Tells whether a write is within the limit of file sizes: beyond it a write would kill the
 * program. */
static bool is_allowed(const struct hs_record_output *output, size_t n_bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           (uint64_t)output->n_bytes + n_bytes <= limit.rlim_cur;
}

static bool write_file(struct hs_record_output *output, const void *bytes, size_t n_bytes)
{
    long n = is_allowed(output, n_bytes) ? syscall(SYS_write, output->fd, bytes, n_bytes) : -1;

    if (n == (long)n_bytes) {
        output->n_bytes += n;
        return true;
    }
    /* Half a packet would hide all that comes after it. */
    if (n > 0 && syscall(SYS_ftruncate, output->fd, output->n_bytes) != 0)
        output->is_broken = true;
    return false;
}

bool hs_record_output_packet(struct hs_record_output *output, const void *bytes, size_t n_bytes)
{
    bool is_written;

    if (output->is_broken || (output->fd < 0 && output->path[0] == '\0'))
        return false;
    if (!is_ours(output)) {
        say(output, ": closed or deleted by the program: the trace is incomplete");
        return false;
    }
    if (output->is_socket) /* a reader that is too slow loses packets, and says so itself */
        return syscall(SYS_sendto, output->fd, bytes, n_bytes, MSG_DONTWAIT | MSG_NOSIGNAL, NULL,
                       0) == (long)n_bytes;
    is_written = write_file(output, bytes, n_bytes);
    if (!is_written)
        say(output, ": cannot be written: the trace is incomplete");
    return is_written;
}
