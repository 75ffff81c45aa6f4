#include "target/kernel_words.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target/procfs.h"
#include "target_private.h"

enum { LINK_BYTES = 64 };

/* Sets *ret to the number behind `key`, and *at behind it; false when it is not in the line. */
static bool words_number(const char **at, const char *end, const char *key, unsigned base,
                         uint64_t *ret)
{
    size_t n = strlen(key);
    const char *found = memmem(*at, (size_t)(end - *at), key, n);

    if (found == NULL)
        return false;
    found += n;
    while (found < end && (*found == ' ' || *found == '\t'))
        found++;
    const char *digits = found;
    if (!hs_proc_digits(&found, end, base, ret) || found == digits)
        return false;
    *at = found;
    return true;
}

/* "tfd:        5 events:       19 data:     55d0c0de2eb0  pos:0 ino:..." (fs/eventpoll.c) */
hs_status hs_kernel_words_of_epoll(struct hs_target *target, uint32_t fd, const char *text,
                                   struct hs_error *err)
{
    while (*text != '\0') {
        const char *end = strchrnul(text, '\n');
        struct hs_kernel_word held = {.place = HS_KERNEL_EPOLL, .fd = fd};
        uint64_t of_fd = 0;
        if (words_number(&text, end, "tfd:", 10, &of_fd) &&
            words_number(&text, end, "data:", 16, &held.word)) {
            held.of_fd = (uint32_t)of_fd;
            HS_TRY(hs_kernel_words_add(target, &held, err));
        }
        text = *end == '\0' ? end : end + 1;
    }
    return HS_OK;
}

/* "ID: 0", then "signal: 34/000055d0c0de2eb0" (fs/proc/base.c) */
hs_status hs_kernel_words_of_timers(struct hs_target *target, const char *text,
                                    struct hs_error *err)
{
    struct hs_kernel_word held = {.place = HS_KERNEL_TIMER};

    while (*text != '\0') {
        const char *end = strchrnul(text, '\n'), *at = text;
        uint64_t id, number;
        if (words_number(&at, end, "ID:", 10, &id))
            held.of_fd = (uint32_t)id;
        at = text;
        if (words_number(&at, end, "signal:", 10, &number) &&
            words_number(&at, end, "/", 16, &held.word))
            HS_TRY(hs_kernel_words_add(target, &held, err));
        text = *end == '\0' ? end : end + 1;
    }
    return HS_OK;
}

/* "eventfd-count:     7f0000000010" (fs/eventfd.c): a counter, which may be any number. */
hs_status hs_kernel_words_of_eventfd(struct hs_target *target, uint32_t fd, const char *text,
                                     struct hs_error *err)
{
    struct hs_kernel_word held = {.place = HS_KERNEL_EVENTFD, .fd = fd};

    if (words_number(&text, text + strlen(text), "eventfd-count:", 16, &held.word))
        return hs_kernel_words_add(target, &held, err);
    return HS_OK;
}

/* One line of a ring: a request that was not taken yet, a result, or a registered buffer. */
static hs_status words_of_uring_line(struct hs_target *target, uint32_t fd, const char *line,
                                     const char *end, struct hs_error *err)
{
    static const struct {
        const char *key;
        unsigned base;
    } keys[] = {{"addr:0x", 16}, {"user_data:", 10}, {"user_data=", 10}, {": 0x", 16}};
    struct hs_kernel_word held = {.place = HS_KERNEL_URING, .fd = fd};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *at = line;
        if (words_number(&at, end, keys[i].key, keys[i].base, &held.word))
            HS_TRY(hs_kernel_words_add(target, &held, err));
    }
    return HS_OK;
}

/* Tells whether a line is that of something registered that may hold pointers and is nowhere else:
 * a pipe, a socket or a file without a name, or memory that is not mapped any more. */
static bool is_registered_alone(const struct hs_target *target, const char *line, const char *end)
{
    static const char *const files[] = {": pipe:[", ": socket:[", ": /memfd:", " (deleted)"};
    const char *at = line;
    uint64_t addr;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (memmem(line, (size_t)(end - line), files[i], strlen(files[i])) != NULL)
            return true;
    return words_number(&at, end, ": 0x", 16, &addr) && *at == '/' &&
           hs_target_mapping_at(target, addr) == NULL;
}

/* io_uring/fdinfo.c. Requests that were taken and have no result yet are under way: of these it
 * tells nothing but how many there are. */
hs_status hs_kernel_words_of_uring(struct hs_target *target, uint32_t fd, const char *text,
                                   struct hs_error *err)
{
    uint64_t n_taken = 0, n_done = 0;
    unsigned n_told = 0;

    while (*text != '\0') {
        const char *end = strchrnul(text, '\n'), *at = text;
        n_told += words_number(&at, end, "CachedSqHead:", 10, &n_taken);
        at = text;
        n_told += words_number(&at, end, "CachedCqTail:", 10, &n_done);
        if (is_registered_alone(target, text, end))
            target->untold |= HS_UNTOLD_REGISTERED;
        HS_TRY(words_of_uring_line(target, fd, text, end, err));
        text = *end == '\0' ? end : end + 1;
    }
    if (n_told != 2 || n_taken != n_done)
        target->untold |= HS_UNTOLD_URING;
    return HS_OK;
}

/* ---- the files of the process */

typedef hs_status words_of_text(struct hs_target *target, uint32_t fd, const char *text,
                                struct hs_error *err);

static hs_status words_of_timer_text(struct hs_target *target, uint32_t fd, const char *text,
                                     struct hs_error *err)
{
    (void)fd;
    return hs_kernel_words_of_timers(target, text, err);
}

static hs_status words_of_file(struct hs_target *target, const char *name, uint32_t fd,
                               words_of_text *parse, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    hs_status status = hs_proc_read_of(target->live.pid, name, &text, &n, &ignored);

    if (status == HS_LIMIT) {
        *err = ignored;
        return status;
    }
    if (status != HS_OK) /* closed meanwhile, or the system has no such file */
        return HS_OK;
    return parse(target, fd, text, err);
}

static bool can_read(const struct hs_target *target, uint32_t fd)
{
    char path[HS_PROC_PATH_BYTES];
    struct stat link;

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%u", target->live.pid, fd);
    return lstat(path, &link) == 0 && (link.st_mode & S_IRUSR) != 0;
}

/* "pipe:[4711]", "socket:[4712]" */
static hs_status add_queue(struct hs_target *target, uint32_t fd, const char *link,
                           struct hs_error *err)
{
    struct hs_queue_file file = {.fd = fd, .is_pipe = link[0] == 'p'};
    const char *at = link;

    if (!words_number(&at, link + strlen(link), ":[", 10, &file.inode))
        return HS_OK;
    if (!hs_queue_leads_back(target, &file)) {
        HS_TRY(HS_GROW(&target->inet_inodes, &target->inet_inodes_capacity,
                       target->n_inet_inodes + 1, err));
        target->inet_inodes[target->n_inet_inodes++] = file.inode;
        return HS_OK;
    }
    file.can_read = file.is_pipe && can_read(target, fd);
    HS_TRY(HS_GROW(&target->queue_files, &target->queue_files_capacity, target->n_queue_files + 1,
                   err));
    target->queue_files[target->n_queue_files++] = file;
    return HS_OK;
}

static hs_status words_of_link(struct hs_target *target, uint32_t fd, const char *link,
                               struct hs_error *err)
{
    static const struct {
        const char *link;
        words_of_text *parse;
    } kinds[] = {{"anon_inode:[eventpoll]", hs_kernel_words_of_epoll},
                 {"anon_inode:[eventfd]", hs_kernel_words_of_eventfd},
                 {"anon_inode:[io_uring]", hs_kernel_words_of_uring}};
    char name[32];

    if (strncmp(link, "pipe:", 5) == 0 || strncmp(link, "socket:", 7) == 0)
        return add_queue(target, fd, link, err);
    if (link[0] == '/') {
        hs_kernel_words_of_queue_file(target, fd, link);
        return hs_kernel_words_of_path(target, fd, link, err);
    }
    if (strcmp(link, "anon_inode:bpf-map") == 0)
        target->untold |= HS_UNTOLD_BPF;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(link, kinds[i].link) != 0)
            continue;
        (void)snprintf(name, sizeof name, "fdinfo/%u", fd);
        return words_of_file(target, name, fd, kinds[i].parse, err);
    }
    return HS_OK;
}

/* A thread may have a table of files of its own (unshare(2)): it is not looked through, only told.
 * And the files of a process whose main thread has ended are listed by another one's table, but
 * not to be had by the descriptor of the process. */
static void note_other_tables(struct hs_target *target)
{
    char path[HS_PROC_PATH_BYTES];

    if (target->live.pid != target->pid && target->pidfd >= 0)
        target->untold |= HS_UNTOLD_FILES;
    (void)snprintf(path, sizeof path, "/proc/%d/task", target->pid);
    DIR *tasks = opendir(path);
    if (tasks == NULL)
        return;
    for (struct dirent *e; (e = readdir(tasks)) != NULL;) {
        long tid = strtol(e->d_name, NULL, 10);
        if (tid > 0 && tid != target->pid && tid != target->live.pid &&
            syscall(SYS_kcmp, target->live.pid, (pid_t)tid, KCMP_FILES, 0, 0) > 0)
            target->untold |= HS_UNTOLD_FILES;
    }
    closedir(tasks);
}

hs_status hs_kernel_words_of_files(struct hs_target *target, struct hs_error *err)
{
    char path[HS_PROC_PATH_BYTES], link[LINK_BYTES];
    hs_status status = words_of_file(target, "timers", 0, words_of_timer_text, err);

    target->n_queue_files = 0;
    hs_kernel_words_begin_others(target);
    note_other_tables(target);
    hs_kernel_words_of_system_v(target);
    (void)snprintf(path, sizeof path, "/proc/%d/fd", target->live.pid);
    DIR *files = opendir(path);
    if (files == NULL)
        return status;
    for (struct dirent *e; status == HS_OK && (e = readdir(files)) != NULL;) {
        ssize_t n = readlinkat(dirfd(files), e->d_name, link, sizeof link - 1);
        if (n <= 0)
            continue;
        link[n] = '\0';
        status = words_of_link(target, (uint32_t)strtoul(e->d_name, NULL, 10), link, err);
    }
    closedir(files);
    hs_queue_files_sort(target);
    return status == HS_OK ? hs_kernel_words_of_others(target, err) : status;
}
