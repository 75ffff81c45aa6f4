/* Calls that a stop cannot put right: those that return what they have done until then, those that
 * close a socket and wait no longer for its data, and reads of terminals with a limit of their own,
 * which begin anew.
 *
 * Nobody can tell from outside how much a call has done, nor have it do the rest: another moment is
 * chosen where one comes soon, and what is cut all the same is counted. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "arch/calls.h"
#include "base/progress.h"
#include "target/procfs.h"
#include "target_private.h"

#define PARTIAL_NAP_NS 200000

/* The kind of the target's file, as in st_mode; 0 when it cannot be told. No file system is asked:
 * one that hangs would hold us. */
static mode_t partial_kind(const struct hs_target *target, int fd)
{
    char path[HS_PROC_PATH_BYTES];
    struct statx file;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", target->pid, fd);
    if (fd < 0 || statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &file) != 0)
        return 0;
    return file.stx_mode & S_IFMT;
}

/* Tells whether a file is a terminal whose reads are not by lines (termios(3)); then *ret has its
 * settings. */
static bool partial_raw_terminal(const struct hs_target *target, int fd, mode_t kind,
                                 struct termios *ret)
{
    int own = kind == S_IFCHR ? hs_target_own_fd(target, fd) : -1;
    bool is_raw = own >= 0 && tcgetattr(own, ret) == 0 && (ret->c_lflag & ICANON) == 0;

    if (own >= 0)
        close(own);
    return is_raw;
}

/* Returns the bytes that a read of a stream waits for by SO_RCVLOWAT (socket(7)); 0 for other
 * sockets, of which a message is read whole. */
static uint64_t partial_low_mark(const struct hs_target *target, int fd)
{
    int own = hs_target_own_fd(target, fd), type = 0, mark = 0;
    socklen_t n_type = sizeof type, n_mark = sizeof mark;
    bool is_stream = own >= 0 && getsockopt(own, SOL_SOCKET, SO_TYPE, &type, &n_type) == 0 &&
                     type == SOCK_STREAM &&
                     getsockopt(own, SOL_SOCKET, SO_RCVLOWAT, &mark, &n_mark) == 0;

    if (own >= 0)
        close(own);
    return is_stream && mark > 0 ? (uint64_t)mark : 0;
}

/* Does the file of a read wait for more bytes than one, and than the read has got? */
static bool partial_waits_for_more(const struct hs_target *target,
                                   const struct hs_partial_call *call, mode_t kind)
{
    struct termios settings;
    uint64_t least = 0;

    if (kind == S_IFSOCK)
        least = partial_low_mark(target, call->fd);
    else if (partial_raw_terminal(target, call->fd, kind, &settings))
        least = settings.c_cc[VMIN];
    if (call->n_asked != 0 && call->n_asked < least)
        least = call->n_asked;
    return least > 1 && call->n_done < least;
}

/* A pipe takes a write of at most PIPE_BUF whole, or not yet (pipe(7)). */
static bool partial_has_parts(const struct hs_target *target, const struct hs_partial_call *call)
{
    mode_t kind = partial_kind(target, call->fd);

    if (call->by_file)
        return partial_waits_for_more(target, call, kind);
    if (call->fd < 0) /* it waits for no file */
        return true;
    if (kind == S_IFIFO && call->is_write && call->n_asked <= PIPE_BUF)
        return false;
    return kind == S_IFIFO || kind == S_IFSOCK || kind == S_IFCHR;
}

/* Tells whether the thread sleeps; it does not when its user has stopped it in the call. */
static bool partial_sleeps(const struct hs_target *target, const struct hs_thread *thread)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_proc_stat stat;

    return hs_proc_stat_of(target->pid, thread->tid, &stat, &ignored) == HS_OK && stat.state == 'S';
}

/* Does a read end after some time, by the terminal's own setting (termios(3))? */
static bool partial_is_timed(const struct hs_target *target, int fd)
{
    struct termios settings;

    return partial_raw_terminal(target, fd, partial_kind(target, fd), &settings) &&
           settings.c_cc[VTIME] != 0 && settings.c_cc[VMIN] == 0;
}

/* One that is awake may be so for a moment, in the middle of its call: it is looked at again, if it
 * was seen in such a call, or nothing is known of it yet. */
static bool partial_may_be_awake(struct hs_thread *thread)
{
    bool is_first = thread->n_awake == 0;

    if (thread->n_awake < UINT8_MAX)
        thread->n_awake++;
    return is_first && (thread->has_parts || !thread->was_looked_at);
}

/* May it have done part of the call that it is in, or will the kernel begin that anew? */
static void partial_look(const struct hs_target *target, struct hs_thread *thread)
{
    struct hs_partial_call call;
    uint64_t number, arguments[6];
    hs_addr sp;

    thread->reads_timed = thread->lingers = false;
    if (!hs_wait_call(target, thread, &number, arguments, &sp)) {
        thread->may_be_cut = partial_may_be_awake(thread);
    } else {
        thread->lingers = hs_call_closes(number) && partial_sleeps(target, thread);
        thread->may_be_cut =
            thread->lingers || (hs_call_is_partial(number, arguments, &call) &&
                                partial_has_parts(target, &call) && partial_sleeps(target, thread));
        thread->reads_timed = hs_call_reads(number) && partial_is_timed(target, (int)arguments[0]);
        thread->has_parts |= thread->may_be_cut;
        thread->n_awake = 0;
    }
    thread->was_looked_at = true;
}

/* At all threads, or those that were in such a call before. Is any? */
static bool partial_look_all(struct hs_target *target, bool only_those)
{
    bool is_any = false;

    for (size_t i = 0; i < target->n_threads; i++) {
        struct hs_thread *thread = &target->threads[i];
        if (!only_those || thread->may_be_cut)
            partial_look(target, thread);
        is_any |= thread->may_be_cut;
    }
    return is_any;
}

void hs_partial_wait(struct hs_target *target, uint64_t until_ns)
{
    const struct timespec nap = {.tv_nsec = PARTIAL_NAP_NS};

    while (partial_look_all(target, false) && hs_now_ns() < until_ns)
        do
            nanosleep(&nap, NULL);
        while (partial_look_all(target, true) && hs_now_ns() < until_ns);
}

/* The kernel leaves what interrupted a recvmmsg that had some messages as the socket's error, which
 * the next call there returns: EINTR, or 512, which no program should ever see (net/socket.c). To
 * ask for it takes it away; who else would have got another error in this very moment does not. */
static void partial_take_error(const struct hs_target *target, int fd)
{
    int own = hs_target_own_fd(target, fd), error = 0;
    socklen_t n = sizeof error;

    if (own < 0)
        return;
    (void)getsockopt(own, SOL_SOCKET, SO_ERROR, &error, &n);
    close(own);
}

void hs_partial_settle(struct hs_target *target)
{
    struct hs_partial_call call;

    for (size_t i = 0; i < target->n_threads && !target->was_stopped_already; i++) {
        const struct hs_thread *thread = &target->threads[i];
        target->report.n_anew += thread->reads_timed && hs_regs_read_begins_anew(&thread->regs);
        target->report.n_unsent += thread->lingers && hs_regs_call_has_closed(&thread->regs);
        if (!hs_regs_call_is_cut(&thread->regs, &call) || !partial_has_parts(target, &call))
            continue;
        target->report.n_cut++;
        if (call.leaves_error)
            partial_take_error(target, call.fd);
    }
}
