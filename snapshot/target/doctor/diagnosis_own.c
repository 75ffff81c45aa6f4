/* Finds what heapsnap itself may do: which calls a filter forbids, and where its capabilities
 * count. */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "diagnosis_facts.h"
#include "target/procfs.h"

#define OWN_NAMESPACES_MAX 33 /* user_namespaces(7): 32 below the first */

/* ---- calls */

/* Harmless: we are nobody's tracer, least of all our own, so the kernel itself says ESRCH. */
static bool own_may_call_ptrace(void)
{
    errno = 0;
    (void)ptrace(PTRACE_PEEKUSER, getpid(), NULL, NULL);
    return errno != EPERM && errno != EACCES && errno != ENOSYS;
}

static bool own_may_call_readv(void)
{
    char from = 'x', to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 && to == from;
}

/* Makes the call in a child, since a seccomp filter may kill the caller. Returns -1 without a
 * child. */
static int own_try(bool (*call)(void))
{
    int report = 0;
    pid_t child = fork();

    if (child < 0)
        return -1;
    if (child == 0)
        _exit(call() ? 0 : 1);
    while (waitpid(child, &report, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(report) && WEXITSTATUS(report) == 0;
}

static enum hs_fact own_fact(int tried)
{
    if (tried < 0)
        return HS_FACT_UNKNOWN;
    return tried != 0 ? HS_FACT_YES : HS_FACT_NO;
}

void hs_facts_of_calls(struct hs_process_facts *facts)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t mode = 2; /* not told: be careful */

    if (hs_proc_read("/proc/self/status", &text, &n, &ignored) == HS_OK)
        (void)hs_proc_number(text, "Seccomp", 10, &mode);
    facts->own_seccomp = (unsigned)mode;
    bool is_free = mode == 0;
    facts->may_call_ptrace =
        own_fact(is_free ? own_may_call_ptrace() : own_try(own_may_call_ptrace));
    facts->may_call_readv = own_fact(is_free ? own_may_call_readv() : own_try(own_may_call_readv));
}

/* ---- user namespaces */

static bool own_is_same_file(int a, const struct stat *b)
{
    struct stat found;
    return fstat(a, &found) == 0 && found.st_dev == b->st_dev && found.st_ino == b->st_ino;
}

/* Climbs from the namespace `fd` (taken) to ours. The owner that counts is that of the namespace
 * right below ours: who made it has all capabilities in it and below. */
static void own_climb(struct hs_process_facts *facts, int fd, const struct stat *ours)
{
    uid_t owner = (uid_t)-1;

    facts->userns = HS_USERNS_ELSEWHERE;
    for (unsigned level = 0; fd >= 0 && level < OWN_NAMESPACES_MAX; level++) {
        if (own_is_same_file(fd, ours)) {
            facts->userns = level == 0 ? HS_USERNS_SAME : HS_USERNS_BELOW;
            facts->owns_userns = level != 0 && owner == geteuid();
            break;
        }
        if (ioctl(fd, NS_GET_OWNER_UID, &owner) != 0)
            owner = (uid_t)-1;
        int above = ioctl(fd, NS_GET_PARENT); /* EPERM: above or beside ours */
        close(fd);
        fd = above;
    }
    if (fd >= 0)
        close(fd);
}

/* The link cannot be followed without the permission to look. What numbers a namespace maps anybody
 * may read: other ones than ours, another namespace. */
static hs_status own_compare_maps(struct hs_process_facts *facts, struct hs_error *err)
{
    hs_auto_free char *theirs = NULL, *ours = NULL;
    size_t n_theirs, n_ours;

    hs_status status = hs_proc_read_of(facts->pid, "uid_map", &theirs, &n_theirs, err);
    if (status == HS_OK)
        status = hs_proc_read("/proc/self/uid_map", &ours, &n_ours, err);
    if (status != HS_OK)
        return status == HS_LIMIT ? status : HS_OK;
    bool is_same = n_theirs == n_ours && memcmp(theirs, ours, n_ours) == 0;
    facts->userns = is_same ? HS_USERNS_SAME : HS_USERNS_ELSEWHERE;
    return HS_OK;
}

hs_status hs_facts_of_userns(struct hs_process_facts *facts, struct hs_error *err)
{
    char path[HS_PROC_PATH_BYTES];
    struct stat ours;

    facts->userns = HS_USERNS_UNKNOWN;
    if (stat("/proc/self/ns/user", &ours) != 0) {
        facts->userns = HS_USERNS_SAME; /* a kernel without them */
        return HS_OK;
    }
    snprintf(path, sizeof path, "/proc/%d/ns/user", facts->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return own_compare_maps(facts, err);
    own_climb(facts, fd, &ours);
    return HS_OK;
}
