#include "own_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A watch that was killed a moment ago may still have a dump that ends. */
enum { LOCK_TRIES = 30, LOCK_PAUSE_MS = 100 };

/* A slash at the end would follow a link. */
static hs_status plain_path(const char *path, char *plain, struct hs_error *err)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (n == 0 || n >= PATH_MAX)
        return hs_fail(err, HS_IO, "cannot watch into '%.80s': it names no directory", path);
    memcpy(plain, path, n);
    plain[n] = '\0';
    return HS_OK;
}

static hs_status explain_open(const char *path, struct hs_error *err)
{
    struct stat about;
    int number = errno;

    if ((number == ENOTDIR || number == ELOOP) && lstat(path, &about) == 0 &&
        S_ISLNK(about.st_mode)) {
        (void)hs_fail(err, HS_IO, "cannot watch into '%s': it is a symbolic link", path);
        return hs_hint(err, "give the directory that it leads to");
    }
    errno = number;
    return hs_fail_errno(err, HS_IO, "cannot watch into '%s'", path);
}

/* The lock goes with the descriptor: a dump that outlives its watch still holds it. */
static hs_status lock(int fd, const char *path, struct hs_error *err)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return HS_OK;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return hs_fail_errno(err, HS_IO, "cannot lock '%s'", path);
        (void)nanosleep(&pause, NULL);
    }
    (void)hs_fail(err, HS_IO, "cannot watch into '%s': another watch is at work there", path);
    return hs_hint(err, "give each watched process a directory of its own");
}

hs_status hs_own_directory_open(const char *path, int *ret_fd, struct hs_error *err)
{
    char plain[PATH_MAX];
    HS_TRY(plain_path(path, plain, err));
    if (mkdir(plain, 0700) != 0 && errno != EEXIST)
        return hs_fail_errno(err, HS_IO, "cannot make the directory '%s'", plain);
    int fd = open(plain, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return explain_open(plain, err);
    hs_status status = lock(fd, plain, err);
    if (status != HS_OK) {
        (void)close(fd);
        return status;
    }
    *ret_fd = fd;
    return HS_OK;
}
