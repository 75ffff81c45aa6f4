/* Files without a name, and what of the kernel's is only known to be there: terminals that lead
 * back to the process, other processes that have its memory, the lists of robust mutexes. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target/kernel_words.h"
#include "target/procfs.h"
#include "target_private.h"

enum {
    OTHERS_READ_BYTES = 1 << 16,
    OTHERS_FILES_BYTES = 16 << 20, /* of all files without a name */
    OTHERS_OF_PTMX_MINOR = 2,      /* drivers/tty/tty_io.c, Documentation/admin-guide/devices.txt */
    OTHERS_OF_TTY_MAJOR = 5,
    OTHERS_OF_PTS_MAJOR = 136,
    OTHERS_PTS_MAJORS = 8,
    OTHERS_PTS_PER_MAJOR = 256,
    OTHERS_CHILDREN = 1 << 12,
};

/* ---- files without a name: what was written there, only this process can read again */

/* Reads with O_NOATIME alone: to read is to leave a trace, else. */
static hs_status words_of_bytes(struct hs_target *target, const char *path, uint32_t fd,
                                struct hs_error *err)
{
    struct hs_kernel_word held = {.place = HS_KERNEL_FILE, .fd = fd};
    hs_auto_free uint8_t *bytes = NULL;
    hs_status status = HS_OK;
    ssize_t n = 0;

    HS_TRY(HS_ALLOC(&bytes, OTHERS_READ_BYTES, err));
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOATIME);
    for (off_t at = 0; file >= 0 && status == HS_OK; at += n) {
        n = pread(file, bytes, OTHERS_READ_BYTES, at);
        if (n <= 0)
            break;
        for (size_t i = 0; status == HS_OK && i + sizeof held.word <= (size_t)n;
             i += sizeof held.word) {
            memcpy(&held.word, bytes + i, sizeof held.word);
            if (held.word != 0)
                status = hs_kernel_words_add(target, &held, err);
        }
    }
    if (file >= 0)
        close(file);
    if (file < 0 || n < 0)
        target->untold |= HS_UNTOLD_NAMELESS;
    return status;
}

static bool is_mapped(const struct hs_target *target, uint64_t inode)
{
    for (size_t i = 0; i < target->n_mappings; i++)
        if (target->mappings[i].inode == inode)
            return true;
    return false;
}

static hs_status words_of_nameless(struct hs_target *target, const char *path, uint32_t fd,
                                   const struct statx *found, struct hs_error *err)
{
    struct stat link;

    /* through one end of a file that was only opened to be written nobody reads */
    if (found->stx_size == 0 || lstat(path, &link) != 0 ||
        (link.st_mode & (S_IRUSR | S_IWUSR)) != (S_IRUSR | S_IWUSR) ||
        is_mapped(target, found->stx_ino)) /* a part of it, perhaps: the rest is not looked at */
        return HS_OK;
    if (found->stx_size > OTHERS_FILES_BYTES - target->nameless_bytes) {
        target->untold |= HS_UNTOLD_NAMELESS;
        return HS_OK;
    }
    target->nameless_bytes += found->stx_size;
    return words_of_bytes(target, path, fd, err);
}

/* ---- both ends of a terminal */

static hs_status note_terminal(struct hs_target *target, uint32_t fd, const struct statx *found,
                               struct hs_error *err)
{
    unsigned major = found->stx_rdev_major, minor = found->stx_rdev_minor;
    struct hs_terminal_end end = {.is_master = major == OTHERS_OF_TTY_MAJOR &&
                                               minor == OTHERS_OF_PTMX_MINOR};
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    char name[32];
    size_t n;

    if (end.is_master) {
        (void)snprintf(name, sizeof name, "fdinfo/%u", fd);
        const char *key = "tty-index:", *at = NULL;
        if (hs_proc_read_of(target->live.pid, name, &text, &n, &ignored) == HS_OK)
            at = strstr(text, key);
        if (at == NULL)
            return HS_OK;
        end.number = strtoul(at + strlen(key), NULL, 10);
    } else if (major >= OTHERS_OF_PTS_MAJOR && major < OTHERS_OF_PTS_MAJOR + OTHERS_PTS_MAJORS) {
        end.number = (major - OTHERS_OF_PTS_MAJOR) * (uint64_t)OTHERS_PTS_PER_MAJOR + minor;
    } else {
        return HS_OK;
    }
    for (size_t i = 0; i < target->n_terminal_ends; i++)
        if (target->terminal_ends[i].number == end.number &&
            target->terminal_ends[i].is_master != end.is_master)
            target->untold |= HS_UNTOLD_LOOP;
    HS_TRY(HS_GROW(&target->terminal_ends, &target->terminal_ends_capacity,
                   target->n_terminal_ends + 1, err));
    target->terminal_ends[target->n_terminal_ends++] = end;
    return HS_OK;
}

/* ---- any file that has a path */

static hs_status add_fifo(struct hs_target *target, const char *path, uint32_t fd,
                          const struct statx *found, struct hs_error *err)
{
    struct hs_queue_file file = {.fd = fd, .is_pipe = true, .inode = found->stx_ino};
    struct stat link;

    file.can_read = lstat(path, &link) == 0 && (link.st_mode & S_IRUSR) != 0;
    HS_TRY(HS_GROW(&target->queue_files, &target->queue_files_capacity, target->n_queue_files + 1,
                   err));
    target->queue_files[target->n_queue_files++] = file;
    return HS_OK;
}

hs_status hs_kernel_words_of_path(struct hs_target *target, uint32_t fd, const char *link,
                                  struct hs_error *err)
{
    char path[HS_PROC_PATH_BYTES];
    struct statx found;

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%u", target->live.pid, fd);
    if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE | STATX_INO | STATX_NLINK,
              &found) != 0)
        return HS_OK;
    if (S_ISFIFO(found.stx_mode))
        return add_fifo(target, path, fd, &found, err);
    if (S_ISCHR(found.stx_mode))
        return note_terminal(target, fd, &found, err);
    bool is_nameless = found.stx_nlink == 0 || strncmp(link, "/secretmem", 10) == 0;
    return S_ISREG(found.stx_mode) && is_nameless ? words_of_nameless(target, path, fd, &found, err)
                                                  : HS_OK;
}

/* ---- threads and other processes */

/* A child that was made with CLONE_VM (vfork, for one) has pointers in its registers. */
static void look_at_children(struct hs_target *target, pid_t tid, unsigned *n_left)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    char name[48];
    size_t n;

    (void)snprintf(name, sizeof name, "task/%d/children", tid);
    if (hs_proc_read_of(target->live.pid, name, &text, &n, &ignored) != HS_OK)
        return;
    for (char *at = text; *n_left != 0; --*n_left) {
        char *end;
        long child = strtol(at, &end, 10);
        if (end == at)
            break;
        at = end;
        if (syscall(SYS_kcmp, target->live.pid, (pid_t)child, KCMP_VM, 0, 0) == 0)
            target->untold |= HS_UNTOLD_SHARERS;
    }
}

/* Adds the address that a thread gave to set_robust_list(2). With glibc it is in the thread's
 * control block; with another library it may be anywhere. */
static hs_status add_robust_list(struct hs_target *target, pid_t tid, struct hs_error *err)
{
    struct hs_kernel_word held = {.place = HS_KERNEL_ROBUST, .tid = tid};
    void *head = NULL;
    size_t n;

    if (syscall(SYS_get_robust_list, tid, &head, &n) != 0 || head == NULL)
        return HS_OK;
    held.word = (uint64_t)(uintptr_t)head;
    return hs_kernel_words_add(target, &held, err);
}

static hs_status look_at_tasks(struct hs_target *target, struct hs_error *err)
{
    char path[HS_PROC_PATH_BYTES];
    unsigned n_left = OTHERS_CHILDREN;
    hs_status status = HS_OK;

    (void)snprintf(path, sizeof path, "/proc/%d/task", target->live.pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL)
        return HS_OK;
    for (struct dirent *e; status == HS_OK && (e = readdir(tasks)) != NULL;) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        if (tid <= 0)
            continue;
        look_at_children(target, tid, &n_left);
        status = add_robust_list(target, tid, err);
    }
    closedir(tasks);
    return status;
}

void hs_kernel_words_begin_others(struct hs_target *target)
{
    target->n_terminal_ends = target->n_inet_inodes = 0;
    target->nameless_bytes = 0;
}

hs_status hs_kernel_words_of_others(struct hs_target *target, struct hs_error *err)
{
    HS_TRY(hs_kernel_words_of_connections(target, err));
    return look_at_tasks(target, err);
}
