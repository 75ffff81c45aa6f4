/* A live process: opening, reading, closing. */
#include "target_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target/procfs.h"

#define TARGET_COMMAND_BYTES ((size_t)4096)
/* Requests of 256 KiB to 1 MiB were the fastest; larger ones gain nothing and cannot be renewed. */
#define TARGET_PAGE_BYTES ((hs_addr)4096)
#define TARGET_REQUEST_BYTES ((size_t)1 << 20)

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
static hs_status target_read_command(struct hs_target *target, struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    size_t n;
    bool is_empty;

    HS_TRY(hs_proc_read_of(target->pid, "cmdline", &text, &n, err));
    if (n > TARGET_COMMAND_BYTES)
        n = TARGET_COMMAND_BYTES;
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

static hs_status target_read_user(struct hs_target *target, struct hs_error *err)
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

static int target_open_file(pid_t pid, const char *name)
{
    char path[HS_PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

void hs_memory_open(pid_t pid, struct hs_memory *ret)
{
    ret->pid = pid;
    ret->mem_fd = target_open_file(pid, "mem");
    ret->pagemap_fd = target_open_file(pid, "pagemap");
    ret->reads_by_file = false;
}

static hs_status target_open_parts(struct hs_target *target, struct hs_error *err)
{
    HS_TRY(hs_target_identify(target->pid, &target->identity, err));
    target->pidfd = (int)syscall(SYS_pidfd_open, target->pid, 0);
    hs_memory_open(target->pid, &target->live);
    HS_TRY(target_read_user(target, err));
    HS_TRY(target_read_command(target, err));
    return hs_mappings_refresh(target, err);
}

hs_status hs_target_open(pid_t pid, struct hs_target *ret, struct hs_error *err)
{
    struct hs_target target = {.pid = pid, .pidfd = -1, .live = HS_MEMORY_INIT};
    HS_TRY(hs_refusal_check(pid, err));
    hs_status status = hs_refusal_if_ended(pid, target_open_parts(&target, err), err);

    if (status != HS_OK) {
        hs_target_close(&target);
        return status;
    }
    *ret = target;
    return HS_OK;
}

static void target_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void hs_memory_close(struct hs_memory *memory)
{
    target_close_fd(&memory->mem_fd);
    target_close_fd(&memory->pagemap_fd);
}

void hs_target_close(struct hs_target *target)
{
    if (target == NULL || target->pid == 0)
        return;
    hs_target_resume(target);
    target_close_fd(&target->pidfd);
    hs_memory_close(&target->live);
    hs_core_close(target->core);
    hs_mappings_fini(target);
    hs_copy_plan_free(target->copy_plan);
    hs_free(target->threads);
    hs_free(target->command);
    memset(target, 0, sizeof *target);
}

static hs_status target_gone(const struct hs_target *target, struct hs_error *err)
{
    return hs_fail(err, HS_TARGET, "cannot read process '%d': it has ended", target->pid);
}

/* Through the mem file, which also reads what the program itself may not. A file of a dead process
 * reads as empty. */
static ssize_t memory_read_file(const struct hs_memory *memory, hs_addr address, uint8_t *bytes,
                                size_t n_bytes)
{
    if (memory->mem_fd < 0 || address > INT64_MAX)
        return 0;
    for (;;) {
        ssize_t n = pread(memory->mem_fd, bytes, n_bytes, (off_t)address);
        if (n > 0 || (n < 0 && errno == EIO))
            return n > 0 ? n : 0;
        if (n < 0 && errno == EINTR)
            continue;
        return n == 0 || errno == ESRCH ? -1 : 0;
    }
}

ssize_t hs_memory_read(struct hs_memory *memory, hs_addr address, void *bytes, size_t n_bytes)
{
    struct iovec local = {bytes, n_bytes};
    struct iovec remote = {(void *)(uintptr_t)address, n_bytes};

    if (!memory->reads_by_file) {
        ssize_t n = process_vm_readv(memory->pid, &local, 1, &remote, 1, 0);
        if (n > 0)
            return n;
        if (n < 0 && errno == ESRCH)
            return -1;
        memory->reads_by_file = n < 0 && (errno == EPERM || errno == ENOSYS);
    }
    return memory_read_file(memory, address, bytes, n_bytes);
}

size_t hs_memory_pages(const struct hs_memory *memory, hs_addr begin, uint64_t *entries, size_t n)
{
    if (memory->pagemap_fd < 0)
        return 0;
    ssize_t got = pread(memory->pagemap_fd, entries, n * sizeof *entries,
                        (off_t)(begin / TARGET_PAGE_BYTES * sizeof *entries));
    return got > 0 ? (size_t)got / sizeof *entries : 0;
}

size_t hs_target_pages(const struct hs_target *target, hs_addr begin, uint64_t *entries, size_t n)
{
    if (target->core != NULL)
        return hs_core_pages(target, begin, entries, n);
    return target->copy != NULL ? hs_copy_pages(target->copy, begin, entries, n)
                                : hs_memory_pages(&target->live, begin, entries, n);
}

hs_status hs_target_proc(const struct hs_target *target, const char *name, char **ret,
                         size_t *ret_n_bytes, struct hs_error *err)
{
    if (target->core != NULL)
        return hs_fail(err, HS_TARGET, "a core has no '%s'", name);
    if (target->copy != NULL)
        return hs_copy_proc(target, name, ret, ret_n_bytes, err);
    return hs_proc_read_of(target->live.pid, name, ret, ret_n_bytes, err);
}

/* One request: of the frozen copy while there is one. *ret_n is 0 when the first page cannot be
 * read. */
static hs_status target_read_once(struct hs_target *target, hs_addr address, uint8_t *bytes,
                                  size_t n_bytes, size_t *ret_n, struct hs_error *err)
{
    HS_TRY(hs_freeze_check(target, err));
    ssize_t n = target->copy != NULL ? hs_copy_read(target->copy, address, bytes, n_bytes)
                                     : hs_memory_read(&target->live, address, bytes, n_bytes);
    if (n < 0)
        return target->copy != NULL ? hs_copy_lost(target, err) : target_gone(target, err);
    *ret_n = (size_t)n;
    return HS_OK;
}

hs_status hs_target_read_some(struct hs_target *target, hs_addr address, void *bytes,
                              size_t n_bytes, size_t *ret_n, struct hs_error *err)
{
    size_t done = 0;

    while (done < n_bytes) {
        size_t n = n_bytes - done < TARGET_REQUEST_BYTES ? n_bytes - done : TARGET_REQUEST_BYTES;
        size_t got = 0;
        uint8_t *to = (uint8_t *)bytes + done;
        HS_TRY(target->core != NULL ? hs_core_read_once(target, address + done, to, n, &got, err)
                                    : target_read_once(target, address + done, to, n, &got, err));
        if (got == 0)
            break;
        done += got;
        target->read_bytes += got;
        hs_deadman_renew();
    }
    *ret_n = done;
    return HS_OK;
}

hs_status hs_target_read(struct hs_target *target, hs_addr address, void *bytes, size_t n_bytes,
                         struct hs_error *err)
{
    size_t n = 0;

    HS_TRY(hs_target_read_some(target, address, bytes, n_bytes, &n, err));
    if (n < n_bytes)
        return hs_fail(err, HS_TARGET, "cannot read %zu bytes at 0x%llx of process %d", n_bytes,
                       (unsigned long long)address, target->pid);
    return HS_OK;
}

/* True when `path` is a regular file that can be opened. */
static bool target_can_open(const char *path)
{
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return false;
    bool good = fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
    close(fd);
    return good;
}

/* The path of a mapped file below the root of the process: of one in a chroot the kernel shows the
 * way from outside, as it shows that root. */
static const char *target_below_root(pid_t pid, const char *mapped)
{
    char path[HS_PROC_PATH_BYTES], root[PATH_MAX];

    snprintf(path, sizeof path, "/proc/%d/root", pid);
    ssize_t n = readlink(path, root, sizeof root);
    bool is_below = n > 1 && (size_t)n < sizeof root && strncmp(mapped, root, (size_t)n) == 0 &&
                    mapped[n] == '/';
    return is_below ? mapped + n : mapped;
}

hs_status hs_target_file_path(const struct hs_target *target, const struct hs_mapping *mapping,
                              char *path, size_t path_bytes, struct hs_error *err)
{
    const char *mapped = hs_mapping_path(target, mapping);
    char found[PATH_MAX];

    if (target->core != NULL)
        return hs_core_file_path(target, mapping, path, path_bytes, err);
    if (mapping->inode == 0 || mapped[0] != '/')
        return hs_fail(err, HS_TARGET, "no file is mapped at 0x%llx",
                       (unsigned long long)mapping->begin);
    snprintf(found, sizeof found, "/proc/%d/exe", target->pid);
    bool good = target->identity.exe_inode == mapping->inode && target_can_open(found);
    if (!good) { /* needs CAP_CHECKPOINT_RESTORE; leads to deleted and hidden files too */
        snprintf(found, sizeof found, "/proc/%d/map_files/%llx-%llx", target->pid,
                 (unsigned long long)mapping->begin, (unsigned long long)mapping->end);
        good = target_can_open(found);
    }
    if (!good) {
        int n = snprintf(found, sizeof found, "/proc/%d/root%s", target->pid,
                         target_below_root(target->pid, mapped));
        good = n > 0 && (size_t)n < sizeof found && target_can_open(found);
    }
    if (!good)
        return hs_fail(err, HS_TARGET, "cannot open '%s' of process %d", mapped, target->pid);
    if (strlen(found) >= path_bytes)
        return hs_fail(err, HS_LIMIT, "cannot keep the path of '%s': too long", mapped);
    memcpy(path, found, strlen(found) + 1);
    return HS_OK;
}
