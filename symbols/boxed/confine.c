/* What the box may do: read descriptors it is given, use some memory, answer. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/processor.h"
#include "boxed/serve.h"

enum {
    CONFINE_CPU_SECONDS = 600, /* in all: for one whose asker is gone and that hears nothing */
    CONFINE_FILES = 16,        /* one socket, and one file while it is opened */
    CONFINE_NOBODY = 65534,
};

static void confine_limit(__rlimit_resource_t what, uint64_t most)
{
    const struct rlimit limit = {most, most};
    (void)setrlimit(what, &limit); /* above a limit that is there already: that one stays */
}

#ifndef HS_SANITIZED

/* A user in whose name nothing can be done. Its files are given to it, so it needs no name. */
static void confine_user(void)
{
    if (geteuid() != 0)
        return;
    /* In a user namespace the number may not exist; then it is root of that one, and the filter
     * is what holds it. */
    if (setgroups(0, NULL) != 0 || setresgid(CONFINE_NOBODY, CONFINE_NOBODY, CONFINE_NOBODY) != 0 ||
        setresuid(CONFINE_NOBODY, CONFINE_NOBODY, CONFINE_NOBODY) != 0)
        errno = 0;
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
static void confine_calls(void)
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
    (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void confine_self(uint64_t memory_bytes)
{
    confine_user();
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    confine_limit(RLIMIT_AS, memory_bytes);
    confine_limit(RLIMIT_FSIZE, 0);
    confine_limit(RLIMIT_NOFILE, CONFINE_FILES);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* after the user, which takes it back */
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    confine_calls();
}

#else

static void confine_self(uint64_t memory_bytes)
{
    (void)memory_bytes;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

#endif

void hs_box_confine(uint64_t memory_bytes)
{
    confine_limit(RLIMIT_CORE, 0);
    confine_limit(RLIMIT_CPU, CONFINE_CPU_SECONDS);
    confine_self(memory_bytes);
}
