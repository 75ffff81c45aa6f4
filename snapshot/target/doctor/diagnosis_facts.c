/* Asking the system what decides whether a process may be dumped. Nothing here stops anybody. */
#include "diagnosis_facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/append.h"
#include "symbols/elf.h"
#include "target/procfs.h"
#include "target_private.h"

#define FACTS_PF_KTHREAD 0x00200000u /* include/linux/sched.h */
#define FACTS_CAP_SYS_PTRACE 19      /* linux/capability.h */
#define FACTS_MAX_NAMESPACES 33      /* MAX_PID_NS_LEVEL and ours: linux/pid_namespace.h */
#define FACTS_ELF_HEAD_BYTES 64

/* Returns the thread whose files of /proc are read: the one that still has the memory when the main
 * thread has ended. A zombie has some of the files, too. */
static pid_t facts_whom(const struct hs_process_facts *facts)
{
    return facts->speaker != 0 ? facts->speaker : facts->pid;
}

/* Copies one line of text, printable. */
static void facts_copy_line(const char *text, char *ret, size_t n_bytes)
{
    size_t n = strcspn(text, "\n");

    snprintf(ret, n_bytes, "%.*s", (int)n, text);
    for (char *c = ret; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            *c = '?';
}

/* A small file of /proc or /sys; "" when there is none. */
static void facts_line_of(const char *path, char *ret, size_t n_bytes)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n = 0;

    ret[0] = '\0';
    if (hs_proc_read(path, &text, &n, &ignored) == HS_OK)
        facts_copy_line(text, ret, n_bytes);
}

static void facts_line_of_pid(pid_t pid, const char *name, char *ret, size_t n_bytes)
{
    char path[HS_PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    facts_line_of(path, ret, n_bytes);
}

/* The command name of a process. */
static void facts_name(pid_t pid, char *ret)
{
    facts_line_of_pid(pid, "comm", ret, HS_FACT_NAME_BYTES);
    if (ret[0] == '\0')
        snprintf(ret, HS_FACT_NAME_BYTES, "unknown");
}

/* The numbers on the line of `key`: at most n, how many. */
static size_t facts_numbers(const char *status, const char *key, uint64_t *ret, size_t n)
{
    char line_key[32];
    size_t found = 0;

    snprintf(line_key, sizeof line_key, "\n%s:", key);
    const char *at = strstr(status, line_key);
    if (at == NULL)
        return 0;
    at += strlen(line_key);
    while (found < n && *at != '\n' && *at != '\0') {
        char *end;
        uint64_t value = strtoull(at, &end, 10);
        if (end == at || memchr(at, '\n', (size_t)(end - at)) != NULL)
            break;
        ret[found++] = value;
        at = end + strspn(end, " \t");
    }
    return found;
}

/* ---- a number that /proc does not have */

/* Does any of these pid namespaces below ours give the process the number `pid`? */
static bool facts_is_namesake(pid_t candidate, pid_t pid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t numbers[FACTS_MAX_NAMESPACES];

    if (hs_proc_read_of(candidate, "status", &text, &n, &ignored) != HS_OK)
        return false;
    size_t n_numbers = facts_numbers(text, "NSpid", numbers, FACTS_MAX_NAMESPACES);
    for (size_t i = 1; i < n_numbers; i++)
        if (numbers[i] == (uint64_t)pid)
            return true;
    return false;
}

static void facts_find_namesake(struct hs_process_facts *facts)
{
    DIR *processes = opendir("/proc");

    if (processes == NULL)
        return;
    for (struct dirent *e; facts->namesake == 0 && (e = readdir(processes)) != NULL;) {
        long candidate = strtol(e->d_name, NULL, 10);
        if (candidate > 0 && facts_is_namesake((pid_t)candidate, facts->pid))
            facts->namesake = (pid_t)candidate;
    }
    closedir(processes);
    if (facts->namesake != 0)
        facts_name(facts->namesake, facts->namesake_name);
}

/* Does /proc count as our system calls do? One of another pid namespace shows other processes under
 * the numbers that ptrace would take. */
static bool facts_is_foreign_proc(void)
{
    char link[32];
    ssize_t n = readlink("/proc/self", link, sizeof link - 1);

    if (n <= 0)
        return access("/proc/1", F_OK) == 0; /* it does not know us at all */
    link[n] = '\0';
    return strtol(link, NULL, 10) != getpid();
}

static void facts_of_nobody(struct hs_process_facts *facts)
{
    char path[HS_PROC_PATH_BYTES];

    facts->exists = false;
    snprintf(path, sizeof path, "/proc/%d/stat", facts->pid);
    if (facts->pid <= 0 || facts->is_foreign_proc || access(path, R_OK) == 0)
        return; /* that last one has ended since */
    facts->is_hidden = kill(facts->pid, 0) == 0 || errno == EPERM;
    if (!facts->is_hidden)
        facts_find_namesake(facts);
}

/* ---- one that it has */

void hs_facts_set_tracer(struct hs_process_facts *facts, pid_t tracer)
{
    facts->tracer = tracer;
    facts_name(tracer, facts->tracer_name);
}

static void facts_of_status(struct hs_process_facts *facts, const char *status)
{
    uint64_t number = (uint64_t)facts->pid, numbers[FACTS_MAX_NAMESPACES];

    facts->leader = facts->pid;
    if (hs_proc_number(status, "Tgid", 10, &number))
        facts->leader = (pid_t)number;
    if (hs_proc_number(status, "PPid", 10, &number))
        facts->parent = (pid_t)number;
    if (hs_proc_number(status, "TracerPid", 10, &number) && number != 0)
        hs_facts_set_tracer(facts, (pid_t)number);
    facts->has_memory = hs_proc_number(status, "VmSize", 10, &number); /* fs/proc/array.c */
    size_t n = facts_numbers(status, "NSpid", numbers, FACTS_MAX_NAMESPACES);
    facts->n_namespaces = (uint32_t)n;
    facts->inner_pid = n != 0 ? (pid_t)numbers[n - 1] : facts->pid;
}

/* The head of the program as it was mapped, for a file that only its user may read. HS_TARGET when
 * that cannot be found. */
static hs_status facts_mapped_head(const struct hs_process_facts *facts, uint8_t *head,
                                   struct hs_error *err)
{
    struct hs_target view = {.pid = facts->pid, .live = HS_MEMORY_INIT};
    struct stat exe;
    char path[HS_PROC_PATH_BYTES];
    bool found = false;

    snprintf(path, sizeof path, "/proc/%d/exe", facts_whom(facts));
    if (stat(path, &exe) != 0)
        return HS_TARGET;
    hs_memory_open(facts_whom(facts), &view.live);
    hs_status status = hs_mappings_refresh(&view, err);
    for (size_t i = 0; !found && i < view.n_mappings; i++) {
        const struct hs_mapping *m = &view.mappings[i];
        if (m->inode == exe.st_ino && m->file_offset == 0)
            found = hs_memory_read(&view.live, m->begin, head, FACTS_ELF_HEAD_BYTES) ==
                    (ssize_t)FACTS_ELF_HEAD_BYTES;
    }
    hs_memory_close(&view.live);
    hs_mappings_fini(&view);
    return status == HS_OK && !found ? HS_TARGET : status;
}

static void facts_of_identity(struct hs_process_facts *facts, bool is_elf,
                              const struct hs_elf_identity *identity)
{
    facts->is_readable_program = HS_FACT_YES;
    facts->is_elf = is_elf ? HS_FACT_YES : HS_FACT_NO;
    if (!is_elf)
        return;
    facts->is_64_bit = identity->address_bits == 64 ? HS_FACT_YES : HS_FACT_NO;
    facts->is_our_machine = identity->is_our_machine ? HS_FACT_YES : HS_FACT_NO;
    facts->machine = identity->machine;
}

void hs_facts_of_program(struct hs_process_facts *facts, const char *path)
{
    struct hs_elf_identity identity = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 && (errno == ENOENT || errno == ESRCH))
        facts->has_memory = false; /* gone since: kernel threads are told apart before */
    if (fd < 0)
        return;
    bool is_elf = hs_elf_identify_fd(fd, &identity);
    facts_of_identity(facts, is_elf, &identity);
    close(fd);
}

/* Asks what PTRACE_SEIZE will ask, and reads nothing: nothing is ever mapped at 0. For a user who
 * has CAP_SYS_PTRACE but may not open the files of others. */
static bool facts_may_read(pid_t pid)
{
    char byte;
    struct iovec local = {&byte, 1}, remote = {NULL, 1};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1 || errno == EFAULT;
}

/* Opening mem asks the same, and for the permissions of the file. Neither disturbs anybody. */
static hs_status facts_of_memory(struct hs_process_facts *facts, struct hs_error *err)
{
    struct hs_elf_identity identity = {0};
    uint8_t head[FACTS_ELF_HEAD_BYTES];
    char path[HS_PROC_PATH_BYTES];

    snprintf(path, sizeof path, "/proc/%d/exe", facts_whom(facts));
    hs_facts_of_program(facts, path);
    snprintf(path, sizeof path, "/proc/%d/mem", facts_whom(facts));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ESRCH)
        facts->has_memory = false;
    else if (fd < 0 && errno == ENOENT)
        facts_of_nobody(facts);
    else
        facts->may_trace = fd >= 0 || facts_may_read(facts_whom(facts)) ? HS_FACT_YES : HS_FACT_NO;
    if (fd >= 0)
        close(fd);
    bool is_hidden_program = facts->is_readable_program != HS_FACT_YES && facts->has_memory &&
                             facts->may_trace == HS_FACT_YES;
    hs_status status = is_hidden_program ? facts_mapped_head(facts, head, err) : HS_TARGET;
    if (status == HS_OK)
        facts_of_identity(facts, hs_elf_identify(head, sizeof head, &identity), &identity);
    return status == HS_LIMIT ? HS_LIMIT : HS_OK;
}

/* Finds a thread that still has the memory when the main thread has ended. */
static hs_status facts_of_speaker(struct hs_process_facts *facts, struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t n_kib;

    facts->speaker = hs_process_speaker(facts->pid);
    if (facts->speaker == 0)
        return HS_OK;
    hs_status status = hs_proc_read_of(facts->speaker, "status", &text, &n, err);
    facts->has_memory = status == HS_OK && hs_proc_number(text, "VmSize", 10, &n_kib);
    return status == HS_LIMIT ? HS_LIMIT : HS_OK;
}

hs_status hs_facts_of_process(pid_t pid, struct hs_process_facts *ret, struct hs_error *err)
{
    struct hs_process_facts facts = {.pid = pid, .yama_scope = -1};
    hs_auto_free char *text = NULL;
    size_t n;
    struct hs_proc_stat stat = {0};

    *ret = facts;
    facts.is_foreign_proc = facts_is_foreign_proc();
    if (pid <= 0 || facts.is_foreign_proc ||
        hs_proc_read_of(pid, "status", &text, &n, err) != HS_OK ||
        hs_proc_stat_of(pid, 0, &stat, err) != HS_OK) {
        if (pid > 0 && !facts.is_foreign_proc && err->status == HS_LIMIT)
            return HS_LIMIT;
        facts_of_nobody(&facts);
        *ret = facts;
        return HS_OK;
    }
    facts.exists = true;
    facts.speaker = pid;
    facts.is_ourselves = pid == getpid();
    facts.state = stat.state;
    facts.is_kernel_thread = (stat.flags & FACTS_PF_KTHREAD) != 0;
    facts_of_status(&facts, text);
    if (stat.state == 'Z' || stat.state == 'X')
        HS_TRY(facts_of_speaker(&facts, err));
    if (facts.has_memory && facts.leader == pid)
        HS_TRY(facts_of_memory(&facts, err));
    *ret = facts;
    return HS_OK;
}

/* ---- permission */

static int facts_yama_scope(void)
{
    char text[16];

    facts_line_of("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text);
    return text[0] >= '0' && text[0] <= '9' ? text[0] - '0' : -1;
}

static bool facts_is_in_list(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; *at != '\0';) {
        size_t length = strcspn(at, ",");
        if (length == n && strncmp(at, name, n) == 0)
            return true;
        at += length + (at[length] == ',');
    }
    return false;
}

/* Those that have a word in ptrace (security_ptrace_access_check), but Yama, which has its own. */
static void facts_of_modules(struct hs_process_facts *facts)
{
    static const char *const guards[] = {"apparmor", "selinux", "smack", "landlock", "bpf"};
    char list[256];

    facts_line_of("/sys/kernel/security/lsm", list, sizeof list);
    facts->modules[0] = '\0';
    for (size_t i = 0; i < sizeof guards / sizeof *guards; i++)
        if (facts_is_in_list(list, guards[i]))
            hs_append_item(facts->modules, sizeof facts->modules, ", ", guards[i]);
    facts_line_of_pid(facts->pid, "attr/current", facts->label, sizeof facts->label);
    facts_line_of("/proc/self/attr/current", facts->own_label, sizeof facts->own_label);
}

static bool facts_all_are(const uint64_t *numbers, size_t n, uint64_t value)
{
    for (size_t i = 0; i < n; i++)
        if (numbers[i] != value)
            return false;
    return true;
}

/* The three ids of each that the kernel compares with ours. */
static void facts_of_user(struct hs_process_facts *facts, const char *status)
{
    uint64_t uids[3], gids[3];

    facts->own_uid = geteuid();
    facts->own_gid = getegid();
    if (facts_numbers(status, "Uid", uids, 3) == 3) {
        facts->uid = (uint32_t)uids[0];
        facts->euid = (uint32_t)uids[1];
        facts->is_other_user = !facts_all_are(uids, 3, facts->own_uid);
    }
    if (facts_numbers(status, "Gid", gids, 3) == 3) {
        facts->gid = (uint32_t)gids[0];
        facts->is_other_group = !facts_all_are(gids, 3, facts->own_gid);
    }
}

/* The files of a process that is not dumpable are root's; its directory never is (fs/proc/base.c,
 * task_dump_owner). */
static void facts_of_dumpable(struct hs_process_facts *facts)
{
    char path[HS_PROC_PATH_BYTES];
    struct stat owner;

    snprintf(path, sizeof path, "/proc/%d/maps", facts_whom(facts));
    if (stat(path, &owner) != 0) {
        facts_of_nobody(facts);
        return;
    }
    if (owner.st_uid != facts->euid)
        facts->is_dumpable = HS_FACT_NO;
    else if (facts->euid != 0)
        facts->is_dumpable = HS_FACT_YES;
}

static hs_status facts_of_capabilities(struct hs_process_facts *facts, const char *status,
                                       struct hs_error *err)
{
    hs_auto_free char *own = NULL;
    size_t n;
    uint64_t effective = 0, permitted = 0;

    hs_status got = hs_proc_read("/proc/self/status", &own, &n, err);
    if (got == HS_LIMIT)
        return got;
    if (got == HS_OK && hs_proc_number(own, "CapEff", 16, &effective))
        facts->has_ptrace = effective >> FACTS_CAP_SYS_PTRACE & 1;
    HS_TRY(hs_facts_of_userns(facts, err));
    if (facts->userns == HS_USERNS_SAME && hs_proc_number(status, "CapPrm", 16, &permitted))
        facts->has_more_capabilities = (permitted & ~effective) != 0;
    return HS_OK;
}

hs_status hs_facts_of_permission(struct hs_process_facts *facts, struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t n_kib;

    hs_status got = hs_proc_read_of(facts_whom(facts), "status", &text, &n, err);
    if (got == HS_LIMIT)
        return got;
    if (got != HS_OK) {
        facts_of_nobody(facts);
        return HS_OK;
    }
    facts->has_memory = hs_proc_number(text, "VmSize", 10, &n_kib);
    facts_of_user(facts, text);
    facts_of_dumpable(facts);
    facts->yama_scope = facts_yama_scope();
    facts_of_modules(facts);
    hs_facts_of_calls(facts);
    return facts_of_capabilities(facts, text, err);
}
