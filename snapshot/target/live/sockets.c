/* The limits of waits that are a property of a socket (SO_RCVTIMEO, SO_SNDTIMEO).
 *
 * The call reads it as it begins. So it is the rest of the time for as long as the thread needs to
 * fall asleep again, and then what it was. That is done through a descriptor of our own for the
 * same socket, while all other threads still stand. A process of its own, the guard, puts it right
 * should we be killed in between; and goes on when a thread finds no processor for so long that the
 * others have to be let go. */
#include <errno.h>
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
#define SOCKETS_WAIT_NS ((uint64_t)20000000)   /* until all of a round sleep again */
#define SOCKETS_WATCH_NS ((uint64_t)500000000) /* the same, while all others run */
#define SOCKETS_AGAIN_NS ((uint64_t)1000000)   /* not more often: it takes the socket's lock */
#define SOCKETS_NAP_NS 20000
#define SOCKETS_WATCH_NAP_NS 100000
#define SOCKETS_GUARD_MS 1000
#define SOCKETS_GUARD_NS 1000000

int hs_target_own_fd(const struct hs_target *target, int fd)
{
    return target->pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, target->pidfd, fd, 0);
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
    int fd = hs_target_own_fd(target, wait->fd);

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
static bool sockets_has(struct hs_socket_round *round, const struct stat *file, int option)
{
    for (size_t i = 0; i < round->n; i++)
        if (round->limits[i].device == file->st_dev && round->limits[i].inode == file->st_ino &&
            round->limits[i].option == option) {
            round->limits[i].is_shared = true;
            return true;
        }
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
    limit.fd = hs_target_own_fd(target, wait.fd);
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

/* Never 0, which is no limit at all. */
static bool sockets_shorten(struct hs_socket_limit *limit)
{
    uint64_t now_ns = hs_now_ns();
    uint64_t ns = limit->deadline_ns > now_ns + 1000 ? limit->deadline_ns - now_ns : 1000;
    struct timeval rest = {(time_t)(ns / SOCKETS_NS_PER_S),
                           (suseconds_t)(ns % SOCKETS_NS_PER_S / 1000)};

    limit->set_ns = now_ns;
    return setsockopt(limit->fd, SOL_SOCKET, limit->option, &rest, sizeof rest) == 0 &&
           sockets_get(limit->fd, limit->option, &limit->rest);
}

/* Tells whether the limit is still ours: the program may have set another meanwhile. */
static bool sockets_is_ours(const struct hs_socket_limit *limit)
{
    struct timeval now;

    return sockets_get(limit->fd, limit->option, &now) && now.tv_sec == limit->rest.tv_sec &&
           now.tv_usec == limit->rest.tv_usec;
}

/* Tells whether the thread will not begin that wait again: what it waits for is there, or the
 * thread is not. */
static bool sockets_is_over(const struct hs_socket_limit *limit, const struct hs_target *target)
{
    struct pollfd there = {.fd = limit->fd, .events = POLLIN};

    return (limit->option == SO_RCVTIMEO && poll(&there, 1, 0) == 1) || !sockets_is_ours(limit) ||
           (syscall(SYS_tgkill, target->pid, limit->tid, 0) != 0 && errno == ESRCH);
}

/* Tells whether the thread sleeps in its call so that a signal could wake it. On its way back there
 * it may sleep for something else, such as the memory map while another thread forks, but not so.
 */
static bool sockets_sleeps(const struct hs_target *target, const struct hs_thread *thread)
{
    return hs_wait_is_in_call(target, thread) && hs_wait_state(target, thread) == 'S' &&
           hs_wait_is_in_call(target, thread);
}

/* Looks at the limits in `left` (bit i: number i of the round), and returns those whose threads do
 * not sleep yet. Of these the rest of the wait passes meanwhile and is set again. The others'
 * limits are set back to what they were. */
static uint64_t sockets_look(struct hs_socket_round *round, const struct hs_target *target,
                             uint64_t left)
{
    for (size_t i = 0; i < round->n; i++) {
        struct hs_socket_limit *limit = &round->limits[i];
        struct hs_thread thread = {.tid = limit->tid};
        if ((left >> i & 1) == 0)
            continue;
        if (!sockets_sleeps(target, &thread) && !sockets_is_over(limit, target)) {
            if (hs_now_ns() - limit->set_ns >= SOCKETS_AGAIN_NS)
                (void)sockets_shorten(limit);
            continue;
        }
        if (sockets_is_ours(limit))
            (void)setsockopt(limit->fd, SOL_SOCKET, limit->option, &limit->limit,
                             sizeof limit->limit);
        left &= ~(UINT64_C(1) << i);
    }
    return left;
}

static void sockets_give_up(const struct hs_socket_round *round, uint64_t left)
{
    for (size_t i = 0; i < round->n; i++)
        if ((left >> i & 1) != 0 && sockets_is_ours(&round->limits[i]))
            (void)setsockopt(round->limits[i].fd, SOL_SOCKET, round->limits[i].option,
                             &round->limits[i].limit, sizeof round->limits[i].limit);
}

/* Watches, in the guard, until the threads that were let go sleep again, for half a second at most
 * and while the tool lives: whoever stops the process after that shall find it as it was. */
static void sockets_watch(struct hs_socket_round *round, const struct hs_target *target,
                          uint64_t left, int from)
{
    const struct timespec nap = {.tv_nsec = SOCKETS_WATCH_NAP_NS};
    uint64_t until_ns = hs_now_ns() + SOCKETS_WATCH_NS;
    struct pollfd end = {.fd = from};

    for (size_t i = 0; i < round->n; i++)
        if ((left >> i & 1) != 0)
            (void)sockets_get(round->limits[i].fd, round->limits[i].option, &round->limits[i].rest);
    while ((left = sockets_look(round, target, left)) != 0 && hs_now_ns() < until_ns &&
           ppoll(&end, 1, &nap, NULL) == 0)
        ;
    sockets_give_up(round, left);
}

/* Does what we say: nothing, or to go on with those of a round that do not sleep yet. Puts all back
 * when we end without a word, or hang. */
static _Noreturn void sockets_guard(struct hs_socket_round *round, const struct hs_target *target,
                                    int from)
{
    struct timespec moment = {.tv_nsec = SOCKETS_GUARD_NS}; /* for threads let go by our end */
    struct pollfd word = {.fd = from, .events = POLLIN};
    uint64_t left = 0;

    if (poll(&word, 1, SOCKETS_GUARD_MS) != 1 || read(from, &left, sizeof left) != sizeof left) {
        nanosleep(&moment, NULL);
        sockets_put_back(round);
    } else if (left != 0) {
        sockets_watch(round, target, left, from);
    }
    _exit(0);
}

/* Starts the guard, which no signal reaches, neither one to our group nor one from a terminal. */
static bool sockets_start_guard(struct hs_socket_round *round, const struct hs_target *target)
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
        sockets_guard(round, target, ends[0]);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[0]);
    round->to_guard = ends[1];
    if (round->guard < 0)
        close(ends[1]);
    return round->guard >= 0;
}

bool hs_socket_begin(struct hs_socket_round *round, const struct hs_target *target)
{
    bool is_good = sockets_start_guard(round, target);

    for (size_t i = 0; is_good && i < round->n; i++)
        (void)sockets_shorten(&round->limits[i]);
    return is_good;
}

/* Those of sockets at which others wait, too, are put back: these shall not begin with that. */
static uint64_t sockets_alone(const struct hs_socket_round *round, uint64_t left)
{
    for (size_t i = 0; i < round->n; i++)
        if (round->limits[i].is_shared)
            left &= ~(UINT64_C(1) << i);
    return left;
}

/* The guard goes on with those in `left`, or ends. */
static bool sockets_leave(struct hs_socket_round *round, struct hs_target *target, uint64_t left)
{
    bool is_left = left != 0 && target->n_socket_guards < HS_SOCKET_GUARDS;
    uint64_t word = is_left ? left : 0;

    is_left &= send(round->to_guard, &word, sizeof word, MSG_NOSIGNAL) == sizeof word;
    if (is_left) {
        target->socket_guards[target->n_socket_guards++] =
            (struct hs_socket_guard){round->guard, round->to_guard};
    } else {
        close(round->to_guard);
        (void)waitpid(round->guard, NULL, 0);
    }
    return is_left;
}

size_t hs_socket_end(struct hs_socket_round *round, struct hs_target *target)
{
    const struct timespec nap = {.tv_nsec = SOCKETS_NAP_NS};
    uint64_t until_ns = hs_now_ns() + SOCKETS_WAIT_NS;
    uint64_t left = round->n == 0 ? 0 : UINT64_MAX >> (HS_SOCKETS_MAX - round->n);

    if (round->guard > 0) {
        while ((left = sockets_look(round, target, left)) != 0 && hs_now_ns() < until_ns)
            nanosleep(&nap, NULL);
        uint64_t alone = sockets_alone(round, left);
        if (sockets_leave(round, target, alone))
            left &= ~alone;
        sockets_give_up(round, left);
    }
    for (size_t i = 0; i < round->n; i++)
        close(round->limits[i].fd);
    return round->guard > 0 ? (size_t)__builtin_popcountll(left) : 0;
}

void hs_socket_guards_wait(struct hs_target *target)
{
    for (size_t i = 0; i < target->n_socket_guards; i++) {
        (void)waitpid(target->socket_guards[i].pid, NULL, 0);
        close(target->socket_guards[i].word);
    }
    target->n_socket_guards = 0;
}
