/* Calls that do their work in parts. */
#include <sys/socket.h>
#include <sys/syscall.h>

#include "arch/calls.h"

#define PARTIAL_RESTART (-512) /* include/linux/errno.h: ERESTARTSYS, starts again */

/* The number of no argument, for a call that does not tell its file, its amount or its flags in
 * one. */
enum { NOWHERE = 6 };

static const struct partial_row {
    uint16_t number;
    uint8_t fd, asked; /* numbers of arguments */
    uint8_t flags;     /* of a call that has parts only when it has these flags, or has not */
    uint32_t needs, forbids;
    bool is_write, leaves_error, by_file;
} partial_rows[] = {
    {.number = SYS_write, .fd = 0, .asked = 2, .flags = NOWHERE, .is_write = true},
    {.number = SYS_writev, .fd = 0, .asked = NOWHERE, .flags = NOWHERE},
    {.number = SYS_sendto, .fd = 0, .asked = 2, .flags = NOWHERE},
    {.number = SYS_sendmsg, .fd = 0, .asked = NOWHERE, .flags = NOWHERE},
    {.number = SYS_sendmmsg, .fd = 0, .asked = 2, .flags = NOWHERE},
    {.number = SYS_recvfrom, .fd = 0, .asked = 2, .flags = 3, .needs = MSG_WAITALL},
    {.number = SYS_recvmsg, .fd = 0, .asked = NOWHERE, .flags = 2, .needs = MSG_WAITALL},
    {.number = SYS_recvmmsg,
     .fd = 0,
     .asked = 2,
     .flags = 3,
     .forbids = MSG_WAITFORONE,
     .leaves_error = true},
    {.number = SYS_read, .fd = 0, .asked = 2, .flags = NOWHERE, .by_file = true},
    {.number = SYS_readv, .fd = 0, .asked = NOWHERE, .flags = NOWHERE, .by_file = true},
    {.number = SYS_recvfrom,
     .fd = 0,
     .asked = 2,
     .flags = 3,
     .forbids = MSG_WAITALL | MSG_DONTWAIT,
     .by_file = true},
    {.number = SYS_recvmsg,
     .fd = 0,
     .asked = NOWHERE,
     .flags = 2,
     .forbids = MSG_WAITALL | MSG_DONTWAIT,
     .by_file = true},
    {.number = SYS_sendfile, .fd = 0, .asked = 3, .flags = NOWHERE},
    {.number = SYS_splice, .fd = 2, .asked = 4, .flags = NOWHERE},
    {.number = SYS_tee, .fd = 1, .asked = 2, .flags = NOWHERE},
    {.number = SYS_vmsplice, .fd = 0, .asked = NOWHERE, .flags = NOWHERE},
    {.number = SYS_io_getevents, .fd = NOWHERE, .asked = 1, .flags = NOWHERE},
    {.number = SYS_io_pgetevents, .fd = NOWHERE, .asked = 1, .flags = NOWHERE},
};

static bool partial_is_of(const struct partial_row *row, uint64_t number,
                          const uint64_t arguments[6])
{
    uint64_t flags = row->flags == NOWHERE ? 0 : arguments[row->flags];

    return row->number == number && (flags & row->needs) == row->needs &&
           (flags & row->forbids) == 0;
}

bool hs_call_is_partial(uint64_t number, const uint64_t arguments[6], struct hs_partial_call *ret)
{
    const struct partial_row *row = NULL;

    for (size_t i = 0; i < sizeof partial_rows / sizeof *partial_rows && row == NULL; i++)
        if (partial_is_of(&partial_rows[i], number, arguments))
            row = &partial_rows[i];
    if (row == NULL || (row->asked != NOWHERE && arguments[row->asked] <= 1))
        return false;
    *ret = (struct hs_partial_call){
        .fd = row->fd == NOWHERE ? -1 : (int)arguments[row->fd],
        .n_asked = row->asked == NOWHERE ? 0 : arguments[row->asked],
        .is_write = row->is_write,
        .leaves_error = row->leaves_error,
        .by_file = row->by_file,
    };
    return true;
}

bool hs_regs_call_is_cut(const struct hs_regs *regs, struct hs_partial_call *ret)
{
    const uint64_t arguments[6] = {regs->rdi, regs->rsi, regs->rdx, regs->r10, regs->r8, regs->r9};
    struct hs_partial_call call;

    if ((int64_t)regs->rax <= 0 || !hs_call_is_partial(regs->orig_rax, arguments, &call) ||
        (call.n_asked != 0 && regs->rax >= call.n_asked))
        return false;
    *ret = call;
    ret->n_done = regs->rax;
    return true;
}

bool hs_call_closes(uint64_t number)
{
    return number == SYS_close || number == SYS_dup2 || number == SYS_dup3 ||
           number == SYS_close_range;
}

bool hs_regs_call_has_closed(const struct hs_regs *regs)
{
    return hs_call_closes(regs->orig_rax) && (int64_t)regs->rax >= 0;
}

bool hs_call_reads(uint64_t number)
{
    return number == SYS_read || number == SYS_readv;
}

bool hs_regs_read_begins_anew(const struct hs_regs *regs)
{
    return hs_call_reads(regs->orig_rax) && (int64_t)regs->rax == PARTIAL_RESTART;
}
