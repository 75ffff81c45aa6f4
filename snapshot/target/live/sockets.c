/* The limits of waits that are a property of a socket (SO_RCVTIMEO, SO_SNDTIMEO).
 *
 * The call reads it as it begins. So it is the rest of the time for as long as the thread needs to
 * fall asleep again, and then what it was. That is done through a descriptor of our own for the
 * same socket, while all other threads still stand. A process of its own puts it right should we
 * be killed in between. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/calls.h"
#include "base/progress.h"
#include "target_private.h"

#define SOCKETS_NS_PER_S 1000000000
#define SOCKETS_WAIT_NS ((uint64_t)20000000) /* until all of a round sleep again */
#define SOCKETS_NAP_NS 20000
#define SOCKETS_GUARD_MS 1000
#define SOCKETS_GUARD_NS 1000000

/* Our own descriptor; -1 when it is no socket, or the system does not give it. */
static int sockets_open(const struct hs_target *target, const struct hs_wait *wait)
{
    return target->pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, target->pidfd, wait->fd, 0);
}

static int sockets_option(const struct hs_wait *wait)
{
    return wait->sends ? SO_SNDTIMEO : SO_RCVTIMEO;
}

static bool sockets_get(int fd, int option, struct timeval *ret)
{
    socklen_t n = sizeof *ret;
    return getsockopt(fd, SOL_SOCKET, option, ret, &n) == 0 && n == sizeof *ret;
}

bool hs_socket_limit(const struct hs_target *target, const struct hs_wait *wait, uint64_t *ret_ns)
{
    struct timeval limit = {0};
    int fd = sockets_open(target, wait);

    if (fd < 0)
        return false;
    bool is_limited =
        sockets_get(fd, sockets_option(wait), &limit) && (limit.tv_sec != 0 || limit.tv_usec != 0);
    close(fd);
    *ret_ns = (uint64_t)limit.tv_sec * SOCKETS_NS_PER_S + (uint64_t)limit.tv_usec * 1000;
    return is_limited;
}

static void sockets_put_back(const struct hs_socket_round *round)
{
    for (size_t i = 0; i < round->n; i++)
        (void)setsockopt(round->limits[i].fd, SOL_SOCKET, round->limits[i].option,
                         &round->limits[i].limit, sizeof round->limits[i].limit);
}

/* Two threads at one socket need different limits. */
static bool sockets_has(const struct hs_socket_round *round, const struct stat *file, int option)
{
    for (size_t i = 0; i < round->n; i++)
        if (round->limits[i].device == file->st_dev && round->limits[i].inode == file->st_ino &&
            round->limits[i].option == option)
            return true;
    return false;
}

bool hs_socket_take(struct hs_socket_round *round, const struct hs_target *target,
                    const struct hs_thread *thread)
{
    struct hs_wait wait = hs_regs_wait(&thread->regs);
    struct hs_socket_limit limit = {.fd = -1, .option = sockets_option(&wait), .tid = thread->tid};
    struct stat file;

    if (round->n == HS_SOCKETS_MAX)
        return false;
    limit.fd = sockets_open(target, &wait);
    if (limit.fd < 0)
        return false;
    if (!sockets_get(limit.fd, limit.option, &limit.limit) || fstat(limit.fd, &file) != 0 ||
        sockets_has(round, &file, limit.option)) {
        close(limit.fd);
        return false;
    }
    limit.device = file.st_dev;
    limit.inode = file.st_ino;
    limit.deadline_ns = thread->deadline_ns;
    round->limits[round->n++] = limit;
    return true;
}

/* Ends when we say so, and does nothing; puts all back when we end without a word, or hang. */
static _Noreturn void sockets_guard(const struct hs_socket_round *round, int from)
{
    struct timespec moment = {.tv_nsec = SOCKETS_GUARD_NS}; /* for threads let go by our end */
    struct pollfd word = {.fd = from, .events = POLLIN};
    char byte;

    if (poll(&word, 1, SOCKETS_GUARD_MS) != 1 || read(from, &byte, 1) != 1) {
        nanosleep(&moment, NULL);
        sockets_put_back(round);
    }
    _exit(0);
}

/* No signal reaches it, neither one to our group nor one from a terminal. */
static bool sockets_start_guard(struct hs_socket_round *round)
{
    sigset_t all, before;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    round->guard = fork();
    if (round->guard == 0) {
        close(ends[1]);
        (void)setsid();
        sockets_guard(round, ends[0]);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[0]);
    round->to_guard = ends[1];
    if (round->guard < 0)
        close(ends[1]);
    return round->guard >= 0;
}

/* Never 0, which is no limit at all. */
static bool sockets_shorten(const struct hs_socket_limit *limit)
{
    uint64_t now_ns = hs_now_ns();
    uint64_t ns = limit->deadline_ns > now_ns + 1000 ? limit->deadline_ns - now_ns : 1000;
    struct timeval rest = {(time_t)(ns / SOCKETS_NS_PER_S),
                           (suseconds_t)(ns % SOCKETS_NS_PER_S / 1000)};

    return setsockopt(limit->fd, SOL_SOCKET, limit->option, &rest, sizeof rest) == 0;
}

bool hs_socket_begin(struct hs_socket_round *round)
{
    bool is_good = sockets_start_guard(round);

    for (size_t i = 0; is_good && i < round->n; i++)
        (void)sockets_shorten(&round->limits[i]);
    return is_good;
}

void hs_socket_end(struct hs_socket_round *round, const struct hs_target *target)
{
    uint64_t until_ns = hs_now_ns() + SOCKETS_WAIT_NS;
    struct timespec nap = {.tv_nsec = SOCKETS_NAP_NS};

    for (size_t i = 0; round->guard > 0 && i < round->n; i++) {
        struct hs_thread thread = {.tid = round->limits[i].tid};
        while (!hs_wait_is_in_call(target, &thread) && hs_now_ns() < until_ns)
            nanosleep(&nap, NULL);
    }
    if (round->guard > 0) {
        sockets_put_back(round);
        (void)send(round->to_guard, "", 1, MSG_NOSIGNAL);
        close(round->to_guard);
        (void)waitpid(round->guard, NULL, 0);
    }
    for (size_t i = 0; i < round->n; i++)
        close(round->limits[i].fd);
}
