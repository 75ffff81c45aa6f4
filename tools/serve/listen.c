#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128 };

hs_status hs_listen_port(uint64_t port, struct hs_listener *ret, struct hs_error *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t n = sizeof address;
    int one = 1;
    if (port > UINT16_MAX)
        return hs_fail(err, HS_USAGE, "--port: from 1 to 65535");
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_made = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
                   bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
                   listen(fd, BACKLOG) == 0 &&
                   getsockname(fd, (struct sockaddr *)&address, &n) == 0;
    if (!is_made) {
        (void)hs_fail_errno(err, HS_IO, "cannot listen on port %lu", (unsigned long)port);
        if (err->sys_errno == EADDRINUSE)
            (void)hs_hint(err, "leave --port out: any port that is free is taken");
        if (fd >= 0)
            (void)close(fd);
        return HS_IO;
    }
    *ret = (struct hs_listener){.fd = fd, .port = ntohs(address.sin_port)};
    return HS_OK;
}

/* Tells whether a path is a socket whose listener is gone. */
static bool is_left_behind(const struct sockaddr_un *address)
{
    struct stat about;
    if (lstat(address->sun_path, &about) != 0 || !S_ISSOCK(about.st_mode))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_refused = fd >= 0 &&
                      connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 &&
                      errno == ECONNREFUSED;
    if (fd >= 0)
        (void)close(fd);
    return is_refused;
}

hs_status hs_listen_path(const char *path, struct hs_listener *ret, struct hs_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat about;
    if (strlen(path) >= sizeof address.sun_path || path[0] == '\0')
        return hs_fail(err, HS_USAGE, "--socket: a name of 1 to %zu bytes",
                       sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (is_left_behind(&address))
        (void)unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177); /* from its first moment its owner's alone */
    bool is_bound = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    int why = errno;
    (void)umask(mask);
    errno = why;
    if (!is_bound || listen(fd, BACKLOG) != 0 || lstat(path, &about) != 0) {
        (void)hs_fail_errno(err, HS_IO, "cannot listen at '%s'", path);
        if (fd >= 0)
            (void)close(fd);
        return HS_IO;
    }
    *ret =
        (struct hs_listener){.fd = fd, .path = path, .device = about.st_dev, .inode = about.st_ino};
    return HS_OK;
}

void hs_listener_close(struct hs_listener *listener)
{
    struct stat about;
    if (listener->fd >= 0)
        (void)close(listener->fd);
    if (listener->path != NULL && lstat(listener->path, &about) == 0 &&
        about.st_dev == listener->device && about.st_ino == listener->inode)
        (void)unlink(listener->path);
    *listener = (struct hs_listener){.fd = -1};
}
