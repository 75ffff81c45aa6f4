/* Opening, reading, closing: of a process, its frozen copy or a core. */
#include "target_private.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "target/procfs.h"
#include "target/residency.h"
#include "witness.h"

/* Requests of 256 KiB to 1 MiB were the fastest; larger ones gain nothing and cannot be renewed. */
#define TARGET_REQUEST_BYTES ((size_t)1 << 20)
#define TARGET_PACED_BYTES ((size_t)4096)

hs_status hs_target_open(pid_t pid, struct hs_target *ret, struct hs_error *err)
{
    struct hs_target target = {.pid = pid, .pidfd = -1, .live = HS_MEMORY_INIT};
    HS_TRY(hs_refusal_check(pid, err));
    hs_status status = hs_refusal_if_ended(pid, hs_process_open(&target, err), err);

    if (status != HS_OK) {
        hs_target_close(&target);
        return status;
    }
    hs_deadman_prepare();
    *ret = target;
    return HS_OK;
}

void hs_target_close(struct hs_target *target)
{
    if (target == NULL || target->pid == 0)
        return;
    hs_target_resume(target);
    hs_socket_guards_wait(target);
    if (target->core == NULL)
        hs_witness_end();
    hs_core_close(target->core);
    hs_copy_plan_free(target->copy_plan);
    hs_process_close(target);
}

static hs_status target_gone(const struct hs_target *target, struct hs_error *err)
{
    return hs_fail(err, HS_TARGET, "cannot read process '%d': it has ended", target->pid);
}

size_t hs_target_page_runs(const struct hs_target *target, hs_addr begin, hs_addr end,
                           struct hs_page_run *runs, size_t n, hs_addr *ret_told)
{
    *ret_told = begin;
    if (begin >= end || n == 0)
        return 0;
    if (target->core != NULL)
        return hs_core_page_runs(target, begin, end, runs, n, ret_told);
    const struct hs_mapping *m = hs_target_mapping_at(target, begin);
    bool is_shared = m != NULL && m->shared; /* a child has no entries of it until it asks */
    if (target->copy != NULL && !is_shared)
        return hs_copy_page_runs(target->copy, begin, end, runs, n, ret_told);
    if (hs_bound_is_late(target))
        return 0;
    return hs_bound_page_runs(target, begin, end, runs, n, ret_told);
}

hs_status hs_target_proc(const struct hs_target *target, const char *name, char **ret,
                         size_t *ret_n_bytes, struct hs_error *err)
{
    if (target->core != NULL)
        return hs_fail(err, HS_TARGET, "a core has no '%s'", name);
    if (target->copy != NULL)
        return hs_copy_proc(target, name, ret, ret_n_bytes, err);
    return hs_proc_read_until(target->live.pid, name, hs_bound_deadline_ns(target), ret,
                              ret_n_bytes, err);
}

hs_status hs_residency_read(struct hs_residency *residency, const struct hs_target *target,
                            struct hs_error *err)
{
    hs_residency_fini(residency);
    hs_status status = hs_target_proc(target, "smaps", &residency->text, &residency->n_bytes, err);
    return status == HS_LIMIT ? status : HS_OK;
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

/* Until then the process is looked at; a failure has ended the threads. */
static hs_status target_read_wide(struct hs_target *target, hs_addr address, uint8_t *bytes,
                                  size_t n_bytes, size_t *ret_n, struct hs_error *err)
{
    ssize_t n = 0;

    HS_TRY(hs_freeze_check(target, err));
    hs_copy_ask_wide(target->copy, address, bytes, n_bytes);
    while (!hs_copy_answers_wide(target->copy, &n))
        HS_TRY(hs_freeze_check(target, err));
    if (n < 0)
        return hs_copy_lost(target, err);
    *ret_n = (size_t)n;
    return HS_OK;
}

/* The next bytes of a longer request. */
static hs_status target_read_next(struct hs_target *target, hs_addr address, uint8_t *bytes,
                                  size_t n_bytes, size_t *ret_n, struct hs_error *err)
{
    if (target->copy != NULL &&
        hs_copy_reads_wide(target->copy, target->options.n_threads, n_bytes))
        return target_read_wide(target, address, bytes, n_bytes, ret_n, err);
    if (n_bytes > TARGET_REQUEST_BYTES)
        n_bytes = TARGET_REQUEST_BYTES;
    return target->core != NULL ? hs_core_read_once(target, address, bytes, n_bytes, ret_n, err)
                                : target_read_once(target, address, bytes, n_bytes, ret_n, err);
}

hs_status hs_target_read_some(struct hs_target *target, hs_addr address, void *bytes,
                              size_t n_bytes, size_t *ret_n, struct hs_error *err)
{
    /* Words that are looked up one by one say nothing of how fast pages are read. */
    bool is_paced =
        target->report.way == HS_WAY_READ && target->is_stopped && n_bytes >= TARGET_PACED_BYTES;
    size_t done = 0;

    while (done < n_bytes) {
        uint64_t begun_ns = is_paced ? hs_now_ns() : 0;
        size_t got = 0;
        HS_TRY(target_read_next(target, address + done, (uint8_t *)bytes + done, n_bytes - done,
                                &got, err));
        if (got == 0)
            break;
        target->pace_ns += is_paced ? hs_now_ns() - begun_ns : 0;
        target->pace_bytes += is_paced ? got : 0;
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
    snprintf(found, sizeof found, "/proc/%d/exe", target->live.pid);
    bool good = target->identity.exe_inode == mapping->inode && target_can_open(found);
    if (!good) { /* needs CAP_CHECKPOINT_RESTORE; leads to deleted and hidden files too */
        snprintf(found, sizeof found, "/proc/%d/map_files/%llx-%llx", target->live.pid,
                 (unsigned long long)mapping->begin, (unsigned long long)mapping->end);
        good = target_can_open(found);
    }
    if (!good) {
        int n = snprintf(found, sizeof found, "/proc/%d/root%s", target->live.pid,
                         target_below_root(target->live.pid, mapped));
        good = n > 0 && (size_t)n < sizeof found && target_can_open(found);
    }
    if (!good)
        return hs_fail(err, HS_TARGET, "cannot open '%s' of process %d", mapped, target->pid);
    if (strlen(found) >= path_bytes)
        return hs_fail(err, HS_LIMIT, "cannot keep the path of '%s': too long", mapped);
    memcpy(path, found, strlen(found) + 1);
    return HS_OK;
}
