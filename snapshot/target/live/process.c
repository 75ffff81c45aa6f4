/* Reads what can be known of a process without a stop of it. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "page_search.h"
#include "target/procfs.h"
#include "target_private.h"

#define PROCESS_COMMAND_BYTES ((size_t)4096)
#define PROCESS_SPEAKERS 8 /* so many threads may end while they are asked */

pid_t hs_process_of_thread(pid_t tid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t leader;

    if (hs_proc_read_of(tid, "status", &text, &n, &ignored) != HS_OK ||
        !hs_proc_number(text, "Tgid", 10, &leader) || leader == 0 || leader > INT_MAX)
        return tid;
    return (pid_t)leader;
}

static bool process_thread_lives(pid_t pid, pid_t tid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_proc_stat stat;

    return hs_proc_stat_of(pid, tid, &stat, &ignored) == HS_OK && stat.state != 'Z' &&
           stat.state != 'X';
}

pid_t hs_process_speaker(pid_t pid)
{
    char path[HS_PROC_PATH_BYTES];
    pid_t found = 0;

    if (process_thread_lives(pid, pid))
        return pid;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL)
        return 0;
    for (struct dirent *e; found == 0 && (e = readdir(tasks)) != NULL;) {
        long tid = strtol(e->d_name, NULL, 10);
        if (tid > 0 && tid != pid && process_thread_lives(pid, (pid_t)tid))
            found = (pid_t)tid;
    }
    closedir(tasks);
    return found;
}

/* Reads the state of `speaker` and the file of its program; of the main thread, too, as a thread:
 * for a process the kernel adds up what all threads have used, 2 ms for 10,000 of them. *ret_why is
 * 0, or the error for which the program cannot be told. */
static hs_status identify_by(pid_t pid, pid_t speaker, struct hs_proc_stat *ret,
                             struct stat *ret_exe, int *ret_why, struct hs_error *err)
{
    struct hs_error failure = HS_ERROR_INIT;
    char path[HS_PROC_PATH_BYTES];
    hs_status status = hs_proc_stat_of(pid, speaker, ret, &failure);

    *ret_why = ENOENT;
    if (status == HS_TARGET)
        return HS_OK;
    if (status != HS_OK) {
        *err = failure;
        return status;
    }
    snprintf(path, sizeof path, "/proc/%d/exe", speaker);
    *ret_why = stat(path, ret_exe) == 0 ? 0 : errno;
    return HS_OK;
}

hs_status hs_target_identify(pid_t pid, struct hs_identity *ret, struct hs_error *err)
{
    struct hs_proc_stat leader, stat_file = {0};
    struct stat exe = {0};
    int why = ENOENT;

    HS_TRY(hs_proc_stat_of(pid, pid, &leader, err));
    /* A main thread that has ended no longer knows where code and stack are. */
    bool is_asked = leader.state != 'Z' && leader.state != 'X';
    for (int i = 0; i < PROCESS_SPEAKERS && (why == ENOENT || why == ESRCH); i++) {
        pid_t speaker = is_asked ? pid : hs_process_speaker(pid);
        if (speaker == 0)
            return hs_fail(err, HS_TARGET, "process %d has ended", pid);
        HS_TRY(identify_by(pid, speaker, &stat_file, &exe, &why, err));
        is_asked = false;
    }
    if (why == ENOENT || why == ESRCH)
        return hs_fail(err, HS_TARGET, "process %d is ending: it has no program any more", pid);
    errno = why;
    if (why != 0)
        return hs_fail_errno(err, HS_TARGET, "cannot look at '/proc/%d/exe'", pid);
    *ret = (struct hs_identity){
        .start_time = leader.start_time,
        .exe_device = exe.st_dev,
        .exe_inode = exe.st_ino,
        .code_begin = stat_file.code_begin,
        .stack_begin = stat_file.stack_begin,
    };
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

    HS_TRY(hs_proc_read_of(target->live.pid, "cmdline", &text, &n, err));
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

/* Reads the kernel's name of the main thread: at first the last component of what was executed. */
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

void hs_process_follow(struct hs_target *target)
{
    hs_page_search_forget(target->live.search);
    if (process_thread_lives(target->pid, target->live.pid))
        return;
    pid_t speaker = hs_process_speaker(target->pid);
    if (speaker == 0)
        return;
    hs_memory_close(&target->live);
    hs_memory_open(speaker, &target->live);
}

static hs_status process_read_speaker(struct hs_target *target, struct hs_error *err)
{
    hs_free(target->command);
    target->command = NULL;
    HS_TRY(process_read_command(target, err));
    return hs_mappings_refresh(target, err);
}

static bool process_speaker_is_gone(const struct hs_target *target, hs_status status)
{
    return status == HS_TARGET && !process_thread_lives(target->pid, target->live.pid);
}

/* The thread that is asked may end before the others do: then another one is. */
static hs_status process_ask(struct hs_target *target,
                             hs_status (*ask)(struct hs_target *, struct hs_error *),
                             struct hs_error *err)
{
    hs_status status = ask(target, err);

    for (int i = 0; i < PROCESS_SPEAKERS && process_speaker_is_gone(target, status); i++) {
        hs_process_follow(target);
        status = ask(target, err);
    }
    if (process_speaker_is_gone(target, status))
        return hs_fail(err, HS_TARGET, "process %d is ending", target->pid);
    return status;
}

hs_status hs_process_mappings(struct hs_target *target, struct hs_error *err)
{
    return process_ask(target, hs_mappings_refresh, err);
}

hs_status hs_process_open(struct hs_target *target, struct hs_error *err)
{
    HS_TRY(hs_target_identify(target->pid, &target->identity, err));
    target->pidfd = (int)syscall(SYS_pidfd_open, target->pid, 0);
    pid_t speaker = hs_process_speaker(target->pid);
    hs_memory_open(speaker != 0 ? speaker : target->pid, &target->live);
    HS_TRY(process_read_user(target, err));
    process_read_name(target);
    return process_ask(target, process_read_speaker, err);
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
    hs_free(target->terminal_ends);
    hs_free(target->inet_inodes);
    hs_free(target->command);
    memset(target, 0, sizeof *target);
}
