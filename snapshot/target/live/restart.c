/* System calls that notice a mere stop fail with EINTR though no signal came: did one? */
#include <stdio.h>

#include "base/alloc.h"
#include "target/procfs.h"
#include "target_private.h"

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
