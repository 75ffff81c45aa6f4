#include "arch/calls.h"

#include <errno.h>
#include <sys/syscall.h>

#define CALLS_CODE_SEGMENT_64 0x33
#define CALLS_INSTRUCTION_BYTES 2 /* of `syscall` */

/* Those measured, or told by their use of sock_intr_errno with a time limit (include/net/sock.h).
 * An interrupted one has done nothing, so it can start again. */
static bool calls_may_restart(uint64_t number)
{
    static const uint16_t calls[] = {
        SYS_epoll_wait,    SYS_epoll_pwait, SYS_epoll_pwait2,    SYS_read,
        SYS_readv,         SYS_recvfrom,    SYS_recvmsg,         SYS_recvmmsg,
        SYS_accept,        SYS_accept4,     SYS_write,           SYS_writev,
        SYS_sendto,        SYS_sendmsg,     SYS_sendmmsg,        SYS_connect,
        SYS_semop,         SYS_semtimedop,  SYS_rt_sigtimedwait, SYS_io_getevents,
        SYS_io_pgetevents,
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i] == number)
            return true;
    return false;
}

bool hs_regs_call_is_broken_off(const struct hs_regs *regs)
{
    return (int64_t)regs->rax == -EINTR && calls_may_restart(regs->orig_rax);
}

bool hs_regs_call_restart(struct hs_regs *regs)
{
    if (!hs_regs_call_is_broken_off(regs))
        return false;
    regs->rip -= CALLS_INSTRUCTION_BYTES;
    regs->rax = regs->orig_rax;
    regs->orig_rax = UINT64_MAX;
    return true;
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
