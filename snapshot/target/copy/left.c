/* Finds what killed dumps have left at a process: ended children, each of which takes no memory,
 * but a pid. Their exit signal is 0, so that no wait of the program's own collects them; the next
 * dump does. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "copy_private.h"
#include "target/procfs.h"

#define LEFT_CHILDREN_MAX 4096 /* so many are looked at */
#define LEFT_EXIT_SIGNAL_AT 36 /* fields of a stat file from the state on (proc_pid_stat(5)) */

/* The mask with which T makes children: what can be blocked. No program of a C library blocks the
 * signals that the library keeps for itself. */
static const uint64_t left_mask =
    ~((UINT64_C(1) << (SIGKILL - 1)) | (UINT64_C(1) << (SIGSTOP - 1)));

/* The n-th word after the command, from 1 on; NULL when there are not so many. */
static const char *left_word(const char *stat, unsigned n)
{
    const char *at = strrchr(stat, ')');

    for (; at != NULL && n > 0; n--)
        at = strchr(at + 1, ' ');
    return at == NULL ? NULL : at + 1;
}

/* Numbers on the line of a pid in its own and all inner namespaces; the last of them. */
static size_t left_levels(const char *status_text, pid_t *ret_inner)
{
    const char *at = strstr(status_text, "\nNSpid:");
    size_t n = 0;

    if (at == NULL)
        return 0;
    for (at += strlen("\nNSpid:"); *at == '\t' || *at == ' '; n++) {
        char *end;
        *ret_inner = (pid_t)strtol(at, &end, 10);
        if (end == at)
            break;
        at = end;
    }
    return n;
}

bool hs_copy_left_is(const char *stat, const char *status_text, const char *parent_status_text,
                     pid_t *ret_inner)
{
    const char *state = left_word(stat, 1), *exit_signal = left_word(stat, LEFT_EXIT_SIGNAL_AT);
    uint64_t blocked = 0;
    pid_t inner = 0, ignored;

    if (state == NULL || *state != 'Z' || exit_signal == NULL || strncmp(exit_signal, "0 ", 2) != 0)
        return false;
    if (!hs_proc_number(status_text, "SigBlk", 16, &blocked) || blocked != left_mask)
        return false;
    size_t n = left_levels(status_text, &inner);
    if (n == 0 || n != left_levels(parent_status_text, &ignored) || inner <= 0)
        return false;
    *ret_inner = inner;
    return true;
}

static bool left_look(pid_t child, const char *parent_status_text, pid_t *ret_inner)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *stat = NULL;
    hs_auto_free char *status_text = NULL;
    size_t n;

    if (hs_proc_read_of(child, "stat", &stat, &n, &ignored) != HS_OK)
        return false;
    const char *state = left_word(stat, 1);
    return state != NULL && *state == 'Z' && /* the rest costs more */
           hs_proc_read_of(child, "status", &status_text, &n, &ignored) == HS_OK &&
           hs_copy_left_is(stat, status_text, parent_status_text, ret_inner);
}

size_t hs_copy_left_find(pid_t pid, const char *status_text, pid_t *inner, size_t n)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *children = NULL;
    char path[HS_PROC_PATH_BYTES];
    size_t n_bytes, n_found = 0;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    if (hs_proc_read(path, &children, &n_bytes, &ignored) != HS_OK)
        return 0;
    const char *at = children;
    for (unsigned i = 0; i < LEFT_CHILDREN_MAX && n_found < n; i++) {
        char *end;
        pid_t child = (pid_t)strtol(at, &end, 10);
        if (end == at)
            break;
        n_found += left_look(child, status_text, &inner[n_found]);
        at = end;
    }
    return n_found;
}
