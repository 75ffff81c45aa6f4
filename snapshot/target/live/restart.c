/* System calls that notice a mere stop: they fail with EINTR though no signal came. */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "target/procfs.h"
#include "target_private.h"

/* Those measured, or told by their use of sock_intr_errno with a time limit (include/net/sock.h).
 * An interrupted one has done nothing, so it can start again. */
static bool restart_is_due(uint64_t number)
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

bool hs_call_is_broken_off(const struct user_regs_struct *regs)
{
    return (int64_t)regs->rax == -EINTR && restart_is_due(regs->orig_rax);
}

bool hs_call_restart(struct user_regs_struct *regs)
{
    if (!hs_call_is_broken_off(regs))
        return false;
    regs->rip -= 2; /* onto the two bytes of `syscall` */
    regs->rax = regs->orig_rax;
    regs->orig_rax = UINT64_MAX;
    return true;
}

bool hs_call_has_signal(pid_t pid, pid_t tid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    char path[HS_PROC_PATH_BYTES];
    uint64_t own = 0, shared = 0, blocked = 0;

    snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, tid);
    if (hs_proc_read(path, &text, &n, &ignored) != HS_OK ||
        !hs_proc_number(text, "SigPnd", 16, &own) || !hs_proc_number(text, "ShdPnd", 16, &shared) ||
        !hs_proc_number(text, "SigBlk", 16, &blocked))
        return true;
    return ((own | shared) & ~blocked) != 0;
}
