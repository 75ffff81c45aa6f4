#include "arch/calls.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#define CALLS_CODE_SEGMENT_64 0x33

/* include/linux/errno.h: starts again unless a handler runs */
#define CALLS_RESTART_NO_HANDLER (-514)

/* linux/futex.h, FUTEX_CMD_MASK */
#define CALLS_FUTEX_COMMAND UINT64_C(127)

/* linux/io_uring.h */
#define CALLS_RING_ARGUMENT (UINT64_C(1) << 3) /* IORING_ENTER_EXT_ARG */
#define CALLS_RING_ABSOLUTE (UINT64_C(1) << 5) /* IORING_ENTER_ABS_TIMER */

/* Tells whether a stop may break off the call: those measured, or told by their use of
 * sock_intr_errno with a time limit (include/net/sock.h). An interrupted one has done nothing, or
 * has undone it (fallocate in memory, mm/shmem.c), so it can start again. */
bool hs_call_may_break_off(uint64_t number)
{
    static const uint16_t calls[] = {
        SYS_epoll_wait,     SYS_epoll_pwait, SYS_epoll_pwait2,    SYS_read,
        SYS_readv,          SYS_recvfrom,    SYS_recvmsg,         SYS_recvmmsg,
        SYS_accept,         SYS_accept4,     SYS_write,           SYS_writev,
        SYS_sendto,         SYS_sendmsg,     SYS_sendmmsg,        SYS_connect,
        SYS_semop,          SYS_semtimedop,  SYS_rt_sigtimedwait, SYS_io_getevents,
        SYS_io_pgetevents,  SYS_ppoll,       SYS_pselect6,        SYS_select,
        SYS_io_uring_enter, SYS_fallocate,   SYS_ioctl,
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i] == number)
            return true;
    return false;
}

/* Tells whether an ioctl only waits until a terminal has sent all (tcdrain(3)), which can be asked
 * again. */
static bool calls_is_drain(const struct hs_regs *regs)
{
    return regs->rsi == TCSBRK && regs->rdx != 0;
}

/* The kernel starts it again by itself, with all of its time: we do it better. */
static bool calls_is_begun_anew(const struct hs_regs *regs)
{
    return (int64_t)regs->rax == CALLS_RESTART_NO_HANDLER && regs->orig_rax == SYS_io_pgetevents;
}

bool hs_regs_call_is_broken_off(const struct hs_regs *regs)
{
    if (regs->orig_rax == SYS_ioctl && !calls_is_drain(regs))
        return false;
    return ((int64_t)regs->rax == -EINTR && hs_call_may_break_off(regs->orig_rax)) ||
           calls_is_begun_anew(regs);
}

bool hs_regs_call_restart(struct hs_regs *regs)
{
    if (!hs_regs_call_is_broken_off(regs))
        return false;
    regs->rax = (uint64_t)(int64_t)CALLS_RESTART_NO_HANDLER;
    return true;
}

/* The argument in which each call states its timeout: in an argument, or in the socket that the
 * first one names. */
static const struct calls_limit {
    uint16_t number;
    uint8_t form, argument;
    bool sends;
} calls_limits[] = {
    {SYS_epoll_wait, HS_WAIT_MS, 3, false},
    {SYS_epoll_pwait, HS_WAIT_MS, 3, false},
    {SYS_epoll_pwait2, HS_WAIT_TIMESPEC, 3, false},
    {SYS_semtimedop, HS_WAIT_TIMESPEC, 3, false},
    {SYS_rt_sigtimedwait, HS_WAIT_TIMESPEC, 2, false},
    {SYS_ppoll, HS_WAIT_TIMESPEC, 2, false},
    {SYS_pselect6, HS_WAIT_TIMESPEC, 4, false},
    {SYS_io_getevents, HS_WAIT_TIMESPEC, 4, false},
    {SYS_io_pgetevents, HS_WAIT_TIMESPEC, 4, false},
    {SYS_select, HS_WAIT_TIMEVAL, 4, false},
    {SYS_io_uring_enter, HS_WAIT_NESTED, 4, false},
    {SYS_read, HS_WAIT_SOCKET, 0, false},
    {SYS_readv, HS_WAIT_SOCKET, 0, false},
    {SYS_recvfrom, HS_WAIT_SOCKET, 0, false},
    {SYS_recvmsg, HS_WAIT_SOCKET, 0, false},
    {SYS_recvmmsg, HS_WAIT_SOCKET, 0, false},
    {SYS_accept, HS_WAIT_SOCKET, 0, false},
    {SYS_accept4, HS_WAIT_SOCKET, 0, false},
    {SYS_write, HS_WAIT_SOCKET, 0, true},
    {SYS_writev, HS_WAIT_SOCKET, 0, true},
    {SYS_sendto, HS_WAIT_SOCKET, 0, true},
    {SYS_sendmsg, HS_WAIT_SOCKET, 0, true},
    {SYS_sendmmsg, HS_WAIT_SOCKET, 0, true},
    {SYS_connect, HS_WAIT_SOCKET, 0, true},
};

static const struct calls_limit *calls_limit(const struct calls_limit *limits, size_t n,
                                             uint64_t number)
{
    for (size_t i = 0; i < n; i++)
        if (limits[i].number == number)
            return &limits[i];
    return NULL;
}

static struct hs_wait calls_wait(const struct calls_limit *limit, const uint64_t arguments[6])
{
    struct hs_wait wait = {.form = HS_WAIT_UNTIMED};

    if (limit == NULL)
        return wait;
    uint64_t value = arguments[limit->argument];
    wait.argument = limit->argument;
    wait.sends = limit->sends;
    if (limit->form == HS_WAIT_SOCKET)
        wait.fd = (int)value;
    else if (limit->form == HS_WAIT_MS)
        wait.ms = (uint64_t)(int32_t)value;
    else
        wait.at = value;
    bool is_ring = limit->form == HS_WAIT_NESTED;
    bool is_untimed = (limit->form == HS_WAIT_MS && (int64_t)wait.ms <= 0) ||
                      (limit->form != HS_WAIT_MS && limit->form != HS_WAIT_SOCKET && value == 0) ||
                      (is_ring && (arguments[5] != HS_WAIT_NESTED_BYTES ||
                                   (arguments[3] & (CALLS_RING_ARGUMENT | CALLS_RING_ABSOLUTE)) !=
                                       CALLS_RING_ARGUMENT));
    wait.form = is_untimed ? HS_WAIT_UNTIMED : (enum hs_wait_form)limit->form;
    return wait;
}

struct hs_wait hs_wait_of(uint64_t number, const uint64_t arguments[6])
{
    size_t n = sizeof calls_limits / sizeof *calls_limits;

    return calls_wait(calls_limit(calls_limits, n, number), arguments);
}

/* The calls that are restarted by restart_syscall, for the rest of their time
 * (kernel/time/hrtimer.c, fs/select.c, kernel/futex/waitwake.c). */
static const struct calls_limit calls_kept[] = {
    {SYS_nanosleep, HS_WAIT_TIMESPEC, 0, false},
    {SYS_clock_nanosleep, HS_WAIT_TIMESPEC, 2, false},
    {SYS_poll, HS_WAIT_MS, 2, false},
    {SYS_futex, HS_WAIT_TIMESPEC, 3, false},
};

static const struct calls_limit *calls_limit_kept(uint64_t number)
{
    return calls_limit(calls_kept, sizeof calls_kept / sizeof *calls_kept, number);
}

bool hs_call_is_kept(uint64_t number)
{
    return number == SYS_restart_syscall || calls_limit_kept(number) != NULL;
}

/* Tells whether a call waits until a point in time, or by a clock that does not run while the
 * thread sleeps. */
static bool calls_is_absolute(uint64_t number, const uint64_t arguments[6])
{
    clockid_t clock = (clockid_t)arguments[0];

    if (number == SYS_futex)
        return (arguments[1] & CALLS_FUTEX_COMMAND) != FUTEX_WAIT;
    return number == SYS_clock_nanosleep &&
           ((arguments[1] & TIMER_ABSTIME) != 0 ||
            (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME));
}

struct hs_wait hs_regs_wait_kept(const struct hs_regs *framed)
{
    const uint64_t arguments[6] = {framed->rdi, framed->rsi, framed->rdx,
                                   framed->r10, framed->r8,  framed->r9};

    return calls_is_absolute(framed->rax, arguments)
               ? (struct hs_wait){.form = HS_WAIT_UNTIMED}
               : calls_wait(calls_limit_kept(framed->rax), arguments);
}

struct hs_wait hs_regs_wait(const struct hs_regs *regs)
{
    const uint64_t arguments[6] = {regs->rdi, regs->rsi, regs->rdx, regs->r10, regs->r8, regs->r9};
    struct hs_wait wait = hs_wait_of(regs->orig_rax, arguments);

    if (hs_regs_call_is_broken_off(regs))
        return wait;
    wait.has_rest = (int64_t)regs->rax == CALLS_RESTART_NO_HANDLER && wait.at != 0 &&
                    (regs->orig_rax == SYS_ppoll || regs->orig_rax == SYS_pselect6 ||
                     regs->orig_rax == SYS_select);
    return wait.has_rest ? wait : (struct hs_wait){.form = HS_WAIT_UNTIMED};
}

void hs_regs_wait_ms(struct hs_regs *regs, const struct hs_wait *wait, uint64_t ms)
{
    hs_regs_wait_at(regs, wait, ms);
}

void hs_regs_wait_at(struct hs_regs *regs, const struct hs_wait *wait, hs_addr at)
{
    uint64_t *arguments[6] = {&regs->rdi, &regs->rsi, &regs->rdx, &regs->r10, &regs->r8, &regs->r9};

    *arguments[wait->argument] = at;
}

bool hs_regs_may_call(const struct hs_regs *regs)
{
    return regs->cs == CALLS_CODE_SEGMENT_64;
}

void hs_regs_call(struct hs_regs *regs, hs_addr code, hs_addr stack, uint64_t number,
                  const uint64_t arguments[5])
{
    regs->rip = code;
    regs->rsp = stack;
    regs->rax = number;
    regs->orig_rax = UINT64_MAX;
    regs->rdi = arguments[0];
    regs->rsi = arguments[1];
    regs->rdx = arguments[2];
    regs->r10 = arguments[3];
    regs->r8 = arguments[4];
    regs->r9 = 0;
}

uint64_t hs_regs_call_number(const struct hs_regs *regs)
{
    return regs->rax;
}

int64_t hs_regs_call_result(const struct hs_regs *regs)
{
    return (int64_t)regs->rax;
}

void hs_regs_sigreturn(struct hs_regs *regs, hs_addr code, hs_addr frame)
{
    regs->rip = code;
    regs->rsp = frame + sizeof(uint64_t);
    regs->orig_rax = UINT64_MAX;
}

const struct hs_code_sequence hs_code_sequences[] = {
    /* syscall; ret */
    {HS_CODE_CALL, 3, {0x0f, 0x05, 0xc3}},
    /* mov $15, %rax; syscall: how libraries return from handlers, and debuggers know it */
    {HS_CODE_SIGRETURN, 9, {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}},
    /* mov $231, %eax; syscall (exit_group), mov $60, %eax; syscall (exit) */
    {HS_CODE_LEAVE, 7, {0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05}},
    {HS_CODE_LEAVE, 7, {0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05}},
};
const size_t hs_n_code_sequences = sizeof hs_code_sequences / sizeof *hs_code_sequences;
