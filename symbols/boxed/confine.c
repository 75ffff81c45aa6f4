/* The system calls that the box may make: read descriptors it is given, use some memory, answer. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/processor.h"
#include "box/wire.h"
#include "boxed/serve.h"

enum {
    CONFINE_CPU_SECONDS = 600, /* in all: for one whose asker is gone and that hears nothing */
    CONFINE_FILES = 16,        /* one socket, and one file while it is opened */
    CONFINE_NOBODY = 65534,
};

/* The first thing that could not be done is what is told. */
static void confine_failed(struct hs_box_confinement *ret, const char *what)
{
    if ((ret->how & BOX_HOW_FAILED) == 0)
        (void)snprintf(ret->why, sizeof ret->why, "%s: %s", what, strerror(errno));
    ret->how |= BOX_HOW_FAILED;
}

/* Above a limit that is there already: that one stays. */
static void confine_limit(struct hs_box_confinement *ret, __rlimit_resource_t what, uint64_t most)
{
    const struct rlimit limit = {most, most};
    struct rlimit now;
    if (setrlimit(what, &limit) != 0 && (getrlimit(what, &now) != 0 || now.rlim_max > most))
        confine_failed(ret, "setrlimit");
}

#ifndef HS_SANITIZED

/* A user in whose name nothing can be done. Its files are given to it, so it needs no name. Root of
 * a namespace, or without the capability, often cannot; then it has none either, which is seen to
 * next. */
static bool confine_user(void)
{
    return geteuid() == 0 && setgroups(0, NULL) == 0 &&
           setresgid(CONFINE_NOBODY, CONFINE_NOBODY, CONFINE_NOBODY) == 0 &&
           setresuid(CONFINE_NOBODY, CONFINE_NOBODY, CONFINE_NOBODY) == 0;
}

/* Root without capabilities is a user like others, and the kernel says that there are none. */
static bool confine_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}},
                                  now[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capset, &head, none) != 0 || syscall(SYS_capget, &head, now) != 0)
        return false;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        if ((now[i].effective | now[i].permitted) != 0) {
            errno = EPERM;
            return false;
        }
    return true;
}

#define FILTER_LOAD(field) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define FILTER_ALLOW(number)                                       \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(number), 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Memory, but none to run code in: the third argument is the protection. */
#define FILTER_ALLOW_DATA(number)                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(number), 0, 4), FILTER_LOAD(args[2]), \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)PROT_EXEC, 1, 0),                 \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),                                    \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

#define FILTER_ALLOW_DUPLICATE(number)                                                   \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(number), 0, 4), FILTER_LOAD(args[1]), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)F_DUPFD_CLOEXEC, 0, 1),            \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),                                    \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

/* Everything else fails with EPERM instead of killing: what a C library tries at the side it can do
 * without. */
static bool confine_calls(void)
{
    struct sock_filter filter[] = {
        FILTER_LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, HS_ARCH_AUDIT, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        FILTER_LOAD(nr),
        FILTER_ALLOW(SYS_recvmsg),
        FILTER_ALLOW(SYS_sendmsg),
        FILTER_ALLOW(SYS_pread64),
        FILTER_ALLOW(SYS_read),
        FILTER_ALLOW(SYS_lseek),
        FILTER_ALLOW(SYS_fstat),
        FILTER_ALLOW(SYS_close),
        FILTER_ALLOW(SYS_brk),
        FILTER_ALLOW(SYS_munmap),
        FILTER_ALLOW(SYS_mremap),
        FILTER_ALLOW(SYS_madvise),
        FILTER_ALLOW(SYS_futex),
        FILTER_ALLOW(SYS_getrandom),
        FILTER_ALLOW(SYS_clock_gettime),
        FILTER_ALLOW(SYS_rt_sigreturn),
        FILTER_ALLOW(SYS_exit),
        FILTER_ALLOW(SYS_exit_group),
#ifdef SYS_newfstatat
        FILTER_ALLOW(SYS_newfstatat), /* how older C libraries do fstat */
#endif
        FILTER_ALLOW_DUPLICATE(SYS_fcntl),
        FILTER_ALLOW_DATA(SYS_mmap),
        FILTER_ALLOW_DATA(SYS_mprotect),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static void confine_self(uint64_t memory_bytes, struct hs_box_confinement *ret)
{
    if (confine_user())
        ret->how |= BOX_HOW_NOBODY;
    if (confine_capabilities())
        ret->how |= BOX_HOW_PLAIN;
    else
        confine_failed(ret, "capset");
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    confine_limit(ret, RLIMIT_AS, memory_bytes);
    confine_limit(ret, RLIMIT_FSIZE, 0);
    confine_limit(ret, RLIMIT_NOFILE, CONFINE_FILES);
    if ((ret->how & BOX_HOW_FAILED) == 0)
        ret->how |= BOX_HOW_LIMITS;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* after the user, which takes it back */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        confine_failed(ret, "no_new_privs");
    if (confine_calls())
        ret->how |= BOX_HOW_CALLS;
    else
        confine_failed(ret, "seccomp");
}

#else

static void confine_self(uint64_t memory_bytes, struct hs_box_confinement *ret)
{
    (void)memory_bytes;
    (void)ret;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

#endif

void hs_box_confine(uint64_t memory_bytes, struct hs_box_confinement *ret)
{
    *ret = (struct hs_box_confinement){.how = 0};
    confine_limit(ret, RLIMIT_CORE, 0);
    confine_limit(ret, RLIMIT_CPU, CONFINE_CPU_SECONDS);
    confine_self(memory_bytes, ret);
}
