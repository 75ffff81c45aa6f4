/* Why a process cannot be dumped, in words that say what to do. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "symbols/elf.h"
#include "target/procfs.h"
#include "target_private.h"

#define REFUSAL_PF_KTHREAD 0x00200000u /* include/linux/sched.h */
#define REFUSAL_CAP_SYS_PTRACE 19      /* linux/capability.h */
#define REFUSAL_NAME_BYTES 64

/* The command name of a process, printable. */
static void refusal_name(pid_t pid, char *name)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n = 0;

    snprintf(name, REFUSAL_NAME_BYTES, "unknown");
    if (hs_proc_read_of(pid, "comm", &text, &n, &ignored) != HS_OK || n < 2)
        return;
    if (text[n - 1] == '\n')
        text[n - 1] = '\0';
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            *c = '?';
    snprintf(name, REFUSAL_NAME_BYTES, "%.63s", text);
}

static hs_status refusal_ended(pid_t pid, struct hs_error *err)
{
    (void)hs_fail(err, HS_TARGET, "cannot dump process '%d': no such process", pid);
    return hs_hint(err,
                   "list processes with 'ps -e'; inside a container numbers differ from outside");
}

static hs_status refusal_ending(pid_t pid, struct hs_error *err)
{
    (void)hs_fail(err, HS_TARGET, "cannot dump process '%d': it is ending", pid);
    return hs_hint(err, "its memory is already gone");
}

hs_status hs_refusal_if_ended(pid_t pid, hs_status status, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_proc_stat stat;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t n_kib;

    if (status != HS_TARGET)
        return status;
    if (hs_proc_stat_of(pid, 0, &stat, &ignored) == HS_OK && stat.state != 'Z' &&
        stat.state != 'X' && hs_proc_read_of(pid, "status", &text, &n, &ignored) == HS_OK &&
        hs_proc_number(text, "VmSize", 10, &n_kib))
        return status;
    if (ignored.status == HS_LIMIT)
        return status;
    return hs_fail(err, HS_TARGET, "cannot dump process '%d': it ended during the dump", pid);
}

static bool refusal_has_other_threads(pid_t pid)
{
    char path[HS_PROC_PATH_BYTES];
    bool found = false;

    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL)
        return false;
    for (struct dirent *e; !found && (e = readdir(tasks)) != NULL;) {
        struct hs_error ignored = HS_ERROR_INIT;
        struct hs_proc_stat stat;
        long tid = strtol(e->d_name, NULL, 10);
        if (tid <= 0 || tid == pid)
            continue;
        found = hs_proc_stat_of(pid, (pid_t)tid, &stat, &ignored) == HS_OK && stat.state != 'Z' &&
                stat.state != 'X';
    }
    closedir(tasks);
    return found;
}

static hs_status refusal_check_zombie(pid_t pid, const char *status_text, struct hs_error *err)
{
    uint64_t parent = 0;

    if (refusal_has_other_threads(pid)) {
        (void)hs_fail(err, HS_TARGET,
                      "cannot dump process '%d': its main thread has ended before the others", pid);
        return hs_hint(
            err, "the kernel shows no memory of such a process; take a core file of a thread");
    }
    hs_proc_number(status_text, "PPid", 10, &parent);
    (void)hs_fail(err, HS_TARGET,
                  "cannot dump process '%d': it is a zombie, its memory is already gone", pid);
    return hs_hint(err, "its parent %llu has not collected its exit status yet",
                   (unsigned long long)parent);
}

static hs_status refusal_check_traced(pid_t pid, const char *status_text, struct hs_error *err)
{
    uint64_t tracer = 0;
    char name[REFUSAL_NAME_BYTES];

    if (!hs_proc_number(status_text, "TracerPid", 10, &tracer) || tracer == 0)
        return HS_OK;
    refusal_name((pid_t)tracer, name);
    (void)hs_fail(err, HS_TARGET,
                  "cannot dump process '%d': it is already traced by '%s' (pid %llu)", pid, name,
                  (unsigned long long)tracer);
    return hs_hint(err, "let '%s' detach or end it; a process can have one tracer only", name);
}

static hs_status refusal_check_kind(pid_t pid, const char *status_text, struct hs_error *err)
{
    struct hs_proc_stat stat;
    uint64_t leader = (uint64_t)pid;

    if (hs_proc_number(status_text, "Tgid", 10, &leader) && leader != (uint64_t)pid) {
        (void)hs_fail(err, HS_TARGET, "cannot dump process '%d': it is a thread of process %llu",
                      pid, (unsigned long long)leader);
        return hs_hint(err, "dump the whole process: heapsnap dump %llu",
                       (unsigned long long)leader);
    }
    if (hs_proc_stat_of(pid, 0, &stat, err) != HS_OK)
        return err->status == HS_LIMIT ? HS_LIMIT : refusal_ended(pid, err);
    if (stat.flags & REFUSAL_PF_KTHREAD) {
        (void)hs_fail(err, HS_TARGET,
                      "cannot dump process '%d': it is a kernel thread and has no heap", pid);
        return hs_hint(err, "give the pid of a program");
    }
    if (stat.state == 'Z' || stat.state == 'X')
        return refusal_check_zombie(pid, status_text, err);
    return HS_OK;
}

static bool refusal_may_trace_all(void)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t effective;

    if (hs_proc_read("/proc/self/status", &text, &n, &ignored) != HS_OK ||
        !hs_proc_number(text, "CapEff", 16, &effective))
        return false;
    return effective >> REFUSAL_CAP_SYS_PTRACE & 1;
}

static int refusal_yama_scope(void)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;

    if (hs_proc_read("/proc/sys/kernel/yama/ptrace_scope", &text, &n, &ignored) != HS_OK ||
        n == 0 || text[0] < '0' || text[0] > '9')
        return -1;
    return text[0] - '0';
}

static hs_status refusal_explain_yama(const struct hs_permission *facts, struct hs_error *err)
{
    (void)hs_fail(err, HS_TARGET,
                  "cannot dump process '%d': not permitted while kernel.yama.ptrace_scope is %d",
                  facts->pid, facts->yama_scope);
    if (facts->yama_scope == 1)
        return hs_hint(err,
                       "run heapsnap as root, or once: sudo sysctl kernel.yama.ptrace_scope=0");
    if (facts->yama_scope == 2)
        return hs_hint(err, "only a tool with CAP_SYS_PTRACE may trace: run heapsnap as root");
    return hs_hint(err, "nobody may trace until the next boot; change the value in sysctl.d first");
}

/* The reason that comes first is the one the user has to remove first. */
hs_status hs_refusal_explain(const struct hs_permission *facts, struct hs_error *err)
{
    const char *why = "the system does not permit it";
    const char *hint = "run heapsnap as root; in a container, allow ptrace in its seccomp profile";

    if (facts->yama_scope == 3)
        return refusal_explain_yama(facts, err);
    if (facts->may_trace_all) {
        why = "not permitted although CAP_SYS_PTRACE is held";
        hint = "it may be in another user namespace or guarded by a security module";
    } else if (facts->own_uid == 0) {
        why = "not permitted, this root lacks CAP_SYS_PTRACE";
        hint = "start the container with --cap-add SYS_PTRACE, or dump from the host";
    } else if (facts->target_uid != facts->own_uid) {
        (void)hs_fail(err, HS_TARGET,
                      "cannot dump process '%d': it belongs to user %u and you are user %u",
                      facts->pid, facts->target_uid, facts->own_uid);
        return hs_hint(err, "run heapsnap as that user or as root");
    } else if (facts->owner_is_root) {
        why = "it is not dumpable (set-user-id, capabilities, or prctl PR_SET_DUMPABLE)";
        hint = "run heapsnap as root";
    } else if (facts->yama_scope == 1 || facts->yama_scope == 2) {
        return refusal_explain_yama(facts, err);
    }
    (void)hs_fail(err, HS_TARGET, "cannot dump process '%d': %s", facts->pid, why);
    return hs_hint(err, "%s", hint);
}

hs_status hs_refusal_permission(pid_t pid, struct hs_error *err)
{
    struct hs_permission facts = {.pid = pid, .own_uid = geteuid(), .target_uid = geteuid()};
    hs_auto_free char *text = NULL;
    size_t n;
    char path[HS_PROC_PATH_BYTES];
    struct stat owner;
    uint64_t uid;

    /* The files of a process that is not dumpable are root's; its directory never is
     * (fs/proc/base.c, task_dump_owner). */
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    if (stat(path, &owner) != 0)
        return refusal_ended(pid, err);
    if (hs_proc_read_of(pid, "status", &text, &n, err) != HS_OK)
        return err->status == HS_LIMIT ? HS_LIMIT : refusal_ended(pid, err);
    uint64_t n_kib;
    if (!hs_proc_number(text, "VmSize", 10, &n_kib)) /* no memory any more: fs/proc/array.c */
        return refusal_ending(pid, err);
    if (hs_proc_number(text, "Uid", 10, &uid))
        facts.target_uid = (uint32_t)uid;
    facts.owner_is_root = owner.st_uid == 0 && facts.target_uid != 0;
    facts.may_trace_all = refusal_may_trace_all();
    facts.yama_scope = refusal_yama_scope();
    return hs_refusal_explain(&facts, err);
}

hs_status hs_refusal_check_program(pid_t pid, const char *path, struct hs_error *err)
{
    struct hs_elf_identity identity;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 && (errno == EACCES || errno == EPERM))
        return hs_refusal_permission(pid, err);
    if (fd < 0 && (errno == ENOENT || errno == ESRCH)) /* kernel threads are refused before */
        return refusal_ending(pid, err);
    if (fd < 0)
        return hs_fail_errno(err, HS_TARGET, "cannot open the program of process %d", pid);
    bool is_elf = hs_elf_identify_fd(fd, &identity);
    close(fd);
    if (is_elf && identity.address_bits == 64 && identity.is_x86_64)
        return HS_OK;
    if (!is_elf)
        (void)hs_fail(err, HS_TARGET, "cannot dump process '%d': its program is no ELF file", pid);
    else if (identity.address_bits != 64)
        (void)hs_fail(err, HS_TARGET, "cannot dump process '%d': it is a 32-bit program", pid);
    else
        (void)hs_fail(
            err, HS_TARGET,
            "cannot dump process '%d': it is a program for another machine (ELF number %u)", pid,
            (unsigned)identity.machine);
    return hs_hint(err, "only 64-bit x86-64 programs are supported");
}

hs_status hs_refusal_check(pid_t pid, struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    size_t n;
    char path[HS_PROC_PATH_BYTES];

    if (pid <= 0)
        return refusal_ended(pid, err);
    if (pid == getpid()) {
        (void)hs_fail(err, HS_TARGET, "cannot dump process '%d': it is heapsnap itself", pid);
        return hs_hint(err, "give the pid of another process");
    }
    if (hs_proc_read_of(pid, "status", &text, &n, err) != HS_OK)
        return err->status == HS_LIMIT ? HS_LIMIT : refusal_ended(pid, err);
    HS_TRY(refusal_check_kind(pid, text, err));
    HS_TRY(refusal_check_traced(pid, text, err));
    /* Opening mem asks the kernel what PTRACE_SEIZE will ask, and disturbs nobody. */
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? refusal_ended(pid, err) : hs_refusal_permission(pid, err);
    close(fd);
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    return hs_refusal_check_program(pid, path, err);
}
