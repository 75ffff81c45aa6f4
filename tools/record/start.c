/* Starts the program of a recording. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run.h"
#include "tool.h"

enum {
    SOCKET_BYTES = 8 << 20, /* what the kernel grants of it */
    HIGH_FD = 900,          /* programs close or reuse the low ones */
    NO_PROGRAM = 127
};

static void set(const char *name, const char *value)
{
    if (value != NULL)
        (void)setenv(name, value, 1); /* without memory exec fails, too */
}

static void set_number(const char *name, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%lu", (unsigned long)value);
    set(name, text);
}

/* Sets LD_PRELOAD; what is preloaded already stays, behind ours. */
static void set_preload(const char *library)
{
    static char text[2 * PATH_MAX];
    const char *old = getenv("LD_PRELOAD");
    int n = old == NULL || old[0] == '\0' ? snprintf(text, sizeof text, "%s", library)
                                          : snprintf(text, sizeof text, "%s:%s", library, old);
    set("LD_PRELOAD", n < (int)sizeof text ? text : library);
}

static void set_environment(const struct hs_recording *r, int fd)
{
    set_preload(r->library);
    (void)unsetenv("HEAPSNAP_RECORD_FILE");
    (void)unsetenv("HEAPSNAP_RECORD_FD");
    if (fd >= 0) {
        set_number("HEAPSNAP_RECORD_FD", (uint64_t)fd);
        set("HEAPSNAP_RECORD_HELD", "1");
    }
    if (r->rate_bytes != 0)
        set_number("HEAPSNAP_RECORD_RATE", r->rate_bytes);
    set("HEAPSNAP_RECORD_STACKS", r->stacks);
    set("HEAPSNAP_RECORD_START", r->start);
    set("HEAPSNAP_RECORD_OCAML", r->ocaml);
    if (r->with_children)
        set("HEAPSNAP_RECORD_CHILDREN", "1");
}

/* Puts signals back, as exec keeps what is ignored. */
static void put_signals_back(const struct hs_recording *r)
{
    for (int number = 1; number < SIGRTMIN; number++)
        if (number == SIGPIPE || number == SIGXFSZ || sigismember(r->ignored, number) == 1)
            (void)signal(number, sigismember(r->ignored, number) == 1 ? SIG_IGN : SIG_DFL);
}

/* Without a process for it, or descriptors: the library keeps its table for dumps. */
static hs_status become_unrecorded(const struct hs_recording *r, struct hs_error *err)
{
    hs_talk_error(err);
    hs_talk("'%s' runs all the same; nothing is recorded", r->program);
    put_signals_back(r);
    set_environment(r, -1);
    (void)execv(r->program, r->command);
    return hs_fail_errno(err, HS_TARGET, "cannot start '%s'", r->program);
}

/* Waits, in the child, until its file is there, then becomes the program. */
static _Noreturn void become(const struct hs_recording *r, int socket, int go, int trouble)
{
    char byte;
    int fd = fcntl(socket, F_DUPFD, HIGH_FD);
    if (fd < 0)
        fd = fcntl(socket, F_DUPFD, 3);
    ssize_t n;
    while ((n = read(go, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (n == 1 && fd >= 0) {
        put_signals_back(r);
        set_environment(r, fd);
        (void)execv(r->program, r->command);
    }
    int why = errno;
    n = write(trouble, &why, sizeof why);
    (void)n; /* nobody is there to be told */
    _exit(NO_PROGRAM);
}

static void enlarge(int socket)
{
    int n_bytes = SOCKET_BYTES;
    if (setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &n_bytes, sizeof n_bytes) != 0)
        (void)setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &n_bytes, sizeof n_bytes);
}

static void close_pair(const int *pair)
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            (void)close(pair[i]); /* pipes and sockets */
}

hs_status hs_recording_start(struct hs_recording *r, int *ret_go, int *ret_trouble,
                             struct hs_error *err)
{
    int sockets[2] = {-1, -1}, go[2] = {-1, -1}, trouble[2] = {-1, -1};
    bool is_open = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0 &&
                   pipe2(go, O_CLOEXEC) == 0 && pipe2(trouble, O_CLOEXEC) == 0;
    if (is_open) {
        int yes = 1; /* who sends is told by the kernel */
        (void)setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
        enlarge(sockets[1]);
    }
    r->pid = is_open ? fork() : -1;
    if (r->pid == 0) {
        (void)close(go[1]); /* else it would never see the end */
        become(r, sockets[1], go[0], trouble[1]);
    }
    if (r->pid < 0) {
        (void)hs_fail_errno(err, HS_IO, "cannot record '%s'", r->program);
        close_pair(sockets);
        close_pair(go);
        close_pair(trouble);
        return become_unrecorded(r, err);
    }
    r->socket = sockets[0];
    r->pid_fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    (void)close(sockets[1]);
    (void)close(go[0]);
    (void)close(trouble[1]);
    *ret_go = go[1];
    *ret_trouble = trouble[0];
    return HS_OK;
}
