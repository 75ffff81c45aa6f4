/* Adds what waits in the kernel to be taken by the program: signals, and what it wrote into a pipe
 * or a socket whose other end is its own. An event loop is woken in this way, and given a pointer.
 *
 * All is looked at without taking it: signals by PTRACE_PEEKSIGINFO, pipes by tee(2) into one of
 * ours, sockets by MSG_PEEK, through descriptors of our own of the same files (pidfd_getfd). In a
 * stop: what passes through is then either there or in memory. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target/kernel_words.h"
#include "target/procfs.h"
#include "target_private.h"

enum {
    QUEUES_SIGNALS = 32, /* asked for at once */
    /* The most signals of one stop, of all threads. For each the kernel goes through the queue from
     * its front (ptrace_peek_siginfo in kernel/ptrace.c): the square of their number. */
    QUEUES_SIGNALS_MAX = 1 << 10,
    QUEUES_FILES_MAX = 1 << 12,  /* that are looked at in one stop */
    QUEUES_PER_CHECK = 64,       /* threads */
    QUEUES_BYTES = 1 << 20,      /* of one file: as much as a pipe can have */
    QUEUES_BYTES_MAX = 16 << 20, /* of all files, in one stop */
    QUEUES_BYTES_PER_CHECK = 64 << 10,
    QUEUES_PROTOCOL_BYTES = 64,
};

/* ---- signals */

/* The number of signals that may still be looked at in this stop. */
struct signals {
    struct hs_target *target;
    size_t n_left;
};

static hs_status add_signals(struct hs_target *target, pid_t tid, const siginfo_t *infos, size_t n,
                             struct hs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct hs_kernel_word held = {.place = HS_KERNEL_SIGNAL, .tid = tid};
        held.of_fd = (uint32_t)infos[i].si_signo;
        held.word = (uint64_t)(uintptr_t)infos[i].si_value.sival_ptr;
        if (infos[i].si_code < 0) /* by sigqueue and the like: with a value */
            HS_TRY(hs_kernel_words_add(target, &held, err));
    }
    return HS_OK;
}

static hs_status peek_signals(struct signals *s, pid_t tid, uint32_t flags, struct hs_error *err)
{
    struct __ptrace_peeksiginfo_args asked = {.flags = flags};
    siginfo_t infos[QUEUES_SIGNALS];

    for (;;) {
        /* when none is left: is there one more? */
        asked.nr = s->n_left > QUEUES_SIGNALS ? QUEUES_SIGNALS : s->n_left > 0 ? (int)s->n_left : 1;
        long n = ptrace(PTRACE_PEEKSIGINFO, tid, &asked, infos);
        if (n <= 0)
            return HS_OK;
        if (s->n_left == 0) {
            s->target->untold |= HS_UNTOLD_QUEUE;
            return HS_OK;
        }
        HS_TRY(add_signals(s->target, tid, infos, (size_t)n, err));
        HS_TRY(hs_freeze_check(s->target, err));
        s->n_left -= (size_t)n;
        asked.off += (uint64_t)n;
    }
}

static hs_status peek_all_signals(struct hs_target *target, struct hs_error *err)
{
    struct signals s = {.target = target, .n_left = QUEUES_SIGNALS_MAX};

    for (size_t i = 0; i < target->n_threads; i++) {
        if (i % QUEUES_PER_CHECK == 0)
            HS_TRY(hs_freeze_check(target, err));
        if (i == 0) /* those of the process, once */
            HS_TRY(peek_signals(&s, target->threads[i].tid, PTRACE_PEEKSIGINFO_SHARED, err));
        HS_TRY(peek_signals(&s, target->threads[i].tid, 0, err));
        if ((target->untold & HS_UNTOLD_QUEUE) != 0)
            return HS_OK;
    }
    return HS_OK;
}

/* ---- pipes and sockets */

struct queues {
    struct hs_target *target;
    uint8_t *bytes; /* owned: QUEUES_BYTES */
    int pipe[2];    /* ours; -1: not needed yet */
    size_t n_bytes_left;
};

/* Addresses at any place: what was written may be of any length. Most of it is no address at a
 * glance. */
static hs_status words_in(struct hs_target *target, const uint8_t *bytes, size_t n,
                          struct hs_kernel_word held, struct hs_error *err)
{
    hs_addr lowest = target->n_mappings > 0 ? target->mappings[0].begin : 0;

    for (size_t at = 0; at + sizeof held.word <= n; at++) {
        if (at % QUEUES_BYTES_PER_CHECK == 0)
            HS_TRY(hs_freeze_check(target, err));
        memcpy(&held.word, bytes + at, sizeof held.word);
        if (held.word < lowest || held.word >> 56 != 0)
            continue;
        HS_TRY(hs_kernel_words_add(target, &held, err));
    }
    return HS_OK;
}

static int open_file(const struct hs_target *target, uint32_t fd)
{
    return target->pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, target->pidfd, (int)fd, 0);
}

/* All that is in a pipe is copied into ours, as large as it is, and stays in it. */
static ssize_t peek_pipe(struct queues *q, int fd, size_t n_there)
{
    size_t n = 0;

    if (q->pipe[0] < 0 && pipe2(q->pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    int size = fcntl(fd, F_GETPIPE_SZ);
    if (size > 0 && fcntl(q->pipe[1], F_SETPIPE_SZ, size) < 0)
        return -1;
    ssize_t n_copied = tee(fd, q->pipe[1], QUEUES_BYTES, SPLICE_F_NONBLOCK);
    while (n_copied > 0 && n < (size_t)n_copied) {
        ssize_t more = read(q->pipe[0], q->bytes + n, QUEUES_BYTES - n);
        if (more <= 0)
            break;
        n += (size_t)more;
    }
    return n < n_there ? -1 : (ssize_t)n;
}

static int option_of(int fd, int name)
{
    int value = 0;
    socklen_t n = sizeof value;
    return getsockopt(fd, SOL_SOCKET, name, &value, &n) == 0 ? value : 0;
}

/* Peeks at what waits in a socket whose peer is of the process itself; -1 when that is not all of
 * it. Of what was sent in parts only the first is seen, and of files that were sent (SCM_RIGHTS)
 * that they are there. */
static ssize_t peek_socket(struct queues *q, int fd, size_t n_there)
{
    struct iovec to = {.iov_base = q->bytes, .iov_len = QUEUES_BYTES};
    struct msghdr message = {.msg_iov = &to, .msg_iovlen = 1};
    ssize_t n = recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT);

    if (option_of(fd, SO_TYPE) == SOCK_DGRAM || (message.msg_flags & MSG_CTRUNC) != 0)
        return -1;
    return n < 0 || (size_t)n < n_there ? -1 : n;
}

/* Tells whether what waits in a Unix socket may be the process's own: its peer is, or it has none:
 * who sent a datagram is not told, nor who waits to be accepted. */
static bool is_own_socket(const struct hs_target *target, int fd)
{
    struct ucred peer = {0};
    socklen_t n_peer = sizeof peer;

    if (option_of(fd, SO_DOMAIN) != AF_UNIX)
        return false;
    if (option_of(fd, SO_TYPE) == SOCK_DGRAM || option_of(fd, SO_ACCEPTCONN) != 0)
        return true;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n_peer) == 0 && peer.pid == target->pid;
}

/* Tells whether a connection waits to be accepted, with what was written to it. */
static bool is_waited_for(int fd)
{
    struct pollfd asked = {.fd = fd, .events = POLLIN};

    return option_of(fd, SO_ACCEPTCONN) != 0 && poll(&asked, 1, 0) > 0;
}

/* Tells whether a socket is of another family than AF_UNIX, by the name of its protocol
 * (sockfs_xattr_get in net/socket.c): without taking part in it, as a descriptor of ours would hold
 * a connection open that the process closes in this moment. By O_PATH, so that it is asked of no
 * other file that the number is given to. */
static bool is_of_another_family(const struct hs_target *target, uint32_t fd)
{
    char path[HS_PROC_PATH_BYTES], name[QUEUES_PROTOCOL_BYTES];
    struct stat file;

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%u", target->pid, fd);
    int at = open(path, O_PATH | O_CLOEXEC);
    if (at < 0)
        return false;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", at);
    ssize_t n = fstat(at, &file) == 0 && S_ISSOCK(file.st_mode)
                    ? getxattr(path, "system.sockprotoname", name, sizeof name)
                    : -1;
    close(at);
    return n > 1 && strncmp(name, "UNIX", 4) != 0;
}

bool hs_queue_leads_back(const struct hs_target *target, const struct hs_queue_file *file)
{
    if (file->is_pipe)
        return true;
    if (is_of_another_family(target, file->fd))
        return false;
    int fd = open_file(target, file->fd);
    if (fd < 0)
        return false;
    bool is_own = is_own_socket(target, fd);
    close(fd);
    return is_own;
}

static hs_status words_of_queue(struct queues *q, const struct hs_queue_file *file, int fd,
                                struct hs_error *err)
{
    struct hs_kernel_word held = {.place = HS_KERNEL_QUEUE, .fd = file->fd};
    int n_there = 0;

    if (!file->is_pipe && !is_own_socket(q->target, fd))
        return HS_OK;
    if (!file->is_pipe && is_waited_for(fd))
        q->target->untold |= HS_UNTOLD_QUEUE;
    if ((file->is_pipe && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) ||
        ioctl(fd, FIONREAD, &n_there) != 0 || n_there <= 0)
        return HS_OK;
    if ((size_t)n_there > QUEUES_BYTES || (size_t)n_there > q->n_bytes_left) {
        q->target->untold |= HS_UNTOLD_QUEUE;
        return HS_OK;
    }
    ssize_t n =
        file->is_pipe ? peek_pipe(q, fd, (size_t)n_there) : peek_socket(q, fd, (size_t)n_there);
    if (n < 0) {
        q->target->untold |= HS_UNTOLD_QUEUE;
        return HS_OK;
    }
    q->n_bytes_left -= (size_t)n < q->n_bytes_left ? (size_t)n : q->n_bytes_left;
    return words_in(q->target, q->bytes, (size_t)n, held, err);
}

static int compare_files(const void *a, const void *b)
{
    const struct hs_queue_file *x = a, *y = b;
    if (x->is_pipe != y->is_pipe)
        return x->is_pipe ? -1 : 1;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return y->can_read - x->can_read;
}

/* Chooses of the descriptors of one pipe the first that can be read, also where the other end is
 * not there: the process may have written what waits, and closed that end. */
static bool is_candidate(const struct hs_target *target, size_t i)
{
    const struct hs_queue_file *files = target->queue_files;

    return !files[i].is_pipe ||
           (files[i].can_read && (i == 0 || !files[i - 1].is_pipe || !files[i - 1].can_read ||
                                  files[i - 1].inode != files[i].inode));
}

void hs_queue_files_sort(struct hs_target *target)
{
    if (target->n_queue_files > 1)
        qsort(target->queue_files, target->n_queue_files, sizeof *target->queue_files,
              compare_files);
}

static hs_status look_at_queues(struct queues *q, struct hs_error *err)
{
    struct hs_target *target = q->target;
    size_t n_looked_at = 0;

    for (size_t i = 0; i < target->n_queue_files; i++) {
        const struct hs_queue_file *file = &target->queue_files[i];
        if (!is_candidate(target, i))
            continue;
        HS_TRY(hs_freeze_check(target, err));
        if (++n_looked_at > QUEUES_FILES_MAX) {
            target->untold |= HS_UNTOLD_QUEUE;
            return HS_OK;
        }
        int fd = open_file(target, file->fd);
        if (fd < 0) {
            if (errno != EBADF) /* closed since */
                target->untold |= HS_UNTOLD_QUEUE;
            continue;
        }
        hs_status status = words_of_queue(q, file, fd, err);
        close(fd);
        HS_TRY(status);
    }
    return HS_OK;
}

hs_status hs_kernel_words_of_queues(struct hs_target *target, struct hs_error *err)
{
    struct queues q = {.target = target, .pipe = {-1, -1}, .n_bytes_left = QUEUES_BYTES_MAX};

    target->untold &= ~(unsigned)HS_UNTOLD_QUEUE;
    HS_TRY(peek_all_signals(target, err));
    if (target->n_queue_files == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&q.bytes, QUEUES_BYTES, err));
    hs_status status = look_at_queues(&q, err);
    hs_free(q.bytes);
    if (q.pipe[0] >= 0) {
        close(q.pipe[0]);
        close(q.pipe[1]);
    }
    return status;
}
