/* What is known of a process without a stop of it. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target/procfs.h"
#include "target_private.h"

#define PROCESS_COMMAND_BYTES ((size_t)4096)

hs_status hs_target_identify(pid_t pid, struct hs_identity *ret, struct hs_error *err)
{
    struct hs_identity identity = {0};
    struct hs_proc_stat stat_file;
    struct stat exe;
    char path[HS_PROC_PATH_BYTES];

    HS_TRY(hs_proc_stat_of(pid, 0, &stat_file, err));
    if (stat_file.state == 'Z' || stat_file.state == 'X')
        return hs_fail(err, HS_TARGET, "process %d has ended", pid);
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    if (stat(path, &exe) != 0)
        return hs_fail_errno(err, HS_TARGET, "cannot look at '%s'", path);
    identity.start_time = stat_file.start_time;
    identity.exe_device = exe.st_dev;
    identity.exe_inode = exe.st_ino;
    identity.code_begin = stat_file.code_begin;
    identity.stack_begin = stat_file.stack_begin;
    *ret = identity;
    return HS_OK;
}

bool hs_identity_equal(const struct hs_identity *a, const struct hs_identity *b)
{
    return a->start_time == b->start_time && a->exe_device == b->exe_device &&
           a->exe_inode == b->exe_inode && a->code_begin == b->code_begin &&
           a->stack_begin == b->stack_begin;
}

/* The command line with spaces between arguments and no control characters; "[name]" without. */
static hs_status process_read_command(struct hs_target *target, struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    size_t n;
    bool is_empty;

    HS_TRY(hs_proc_read_of(target->pid, "cmdline", &text, &n, err));
    if (n > PROCESS_COMMAND_BYTES)
        n = PROCESS_COMMAND_BYTES;
    while (n > 0 && (text[n - 1] == '\0' || text[n - 1] == ' '))
        n--;
    is_empty = n == 0;
    if (is_empty) {
        hs_free(HS_STEAL(text));
        HS_TRY(hs_proc_read_of(target->pid, "comm", &text, &n, err));
        while (n > 0 && text[n - 1] == '\n')
            n--;
    }
    text[n] = '\0'; /* hs_proc_read leaves room for it */
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\0')
            text[i] = ' ';
        else if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = '?';
    }
    return hs_strdup(text, &target->command, err);
}

/* What the kernel calls the main thread: at first the last component of what was executed. */
static void process_read_name(struct hs_target *target)
{
    struct hs_error ignored = HS_ERROR_INIT; /* the program's file has a name, too */
    hs_auto_free char *text = NULL;
    size_t n = 0;

    if (hs_proc_read_of(target->pid, "comm", &text, &n, &ignored) != HS_OK)
        return;
    n = strcspn(text, "\n");
    if (n < sizeof target->name)
        memcpy(target->name, text, n);
}

static hs_status process_read_user(struct hs_target *target, struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t uid, gid;

    HS_TRY(hs_proc_read_of(target->pid, "status", &text, &n, err));
    if (!hs_proc_number(text, "Uid", 10, &uid) || !hs_proc_number(text, "Gid", 10, &gid))
        return hs_fail(err, HS_TARGET, "cannot tell the user of process %d", target->pid);
    target->uid = (uint32_t)uid;
    target->gid = (uint32_t)gid;
    return HS_OK;
}

hs_status hs_process_open(struct hs_target *target, struct hs_error *err)
{
    HS_TRY(hs_target_identify(target->pid, &target->identity, err));
    target->pidfd = (int)syscall(SYS_pidfd_open, target->pid, 0);
    hs_memory_open(target->pid, &target->live);
    HS_TRY(process_read_user(target, err));
    HS_TRY(process_read_command(target, err));
    process_read_name(target);
    return hs_mappings_refresh(target, err);
}

void hs_process_close(struct hs_target *target)
{
    if (target->pidfd >= 0)
        close(target->pidfd);
    hs_memory_close(&target->live);
    hs_mappings_fini(target);
    hs_free(target->threads);
    hs_free(target->kernel_words);
    hs_free(target->queue_files);
    hs_free(target->command);
    memset(target, 0, sizeof *target);
}
