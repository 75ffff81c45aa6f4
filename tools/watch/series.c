#include "series.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"

/* ---- listing ---- */

/* A descriptor of its own, as the position in it is shared. */
hs_status hs_watch_dir_list(int dir_fd,
                            hs_status (*visit)(void *context, const char *name,
                                               struct hs_error *err),
                            void *context, struct hs_error *err)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        hs_status status = hs_fail_errno(err, HS_IO, "cannot list the directory of the snapshots");
        if (fd >= 0)
            (void)close(fd);
        return status;
    }
    hs_status status = HS_OK;
    for (struct dirent *entry; status == HS_OK && (entry = readdir(dir)) != NULL;)
        status = visit(context, entry->d_name, err);
    (void)closedir(dir);
    return status;
}

bool hs_watch_is_ours(int dir_fd, const char *name, struct stat *about)
{
    return fstatat(dir_fd, name, about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(about->st_mode) &&
           about->st_uid == geteuid();
}

struct scan {
    int dir_fd;
    uint64_t first_number;
    struct hs_watch_series *series;
};

static hs_status scan_one(void *context, const char *name, struct hs_error *err)
{
    const struct scan *scan = context;
    struct hs_watch_series *series = scan->series;
    struct stat about;
    uint64_t number;

    if (hs_watch_name_parse_keys(name, &number) && number > series->max_number)
        series->max_number = number;
    if (!hs_watch_name_parse(name, &number) || !hs_watch_is_ours(scan->dir_fd, name, &about))
        return HS_OK;
    if (number > series->max_number)
        series->max_number = number;
    if (number < scan->first_number)
        return HS_OK;
    HS_TRY(HS_GROW(&series->files, &series->capacity, series->n + 1, err));
    struct hs_watch_file *file = &series->files[series->n++];
    *file = (struct hs_watch_file){.number = number, .n_bytes = (uint64_t)about.st_size};
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    return HS_OK;
}

static int by_number(const void *a, const void *b)
{
    const struct hs_watch_file *left = a, *right = b;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    return strcmp(left->name, right->name); /* the time in it */
}

hs_status hs_watch_series_scan(int dir_fd, uint64_t first_number, struct hs_watch_series *series,
                               struct hs_error *err)
{
    struct scan scan = {dir_fd, first_number, series};
    series->n = 0;
    series->max_number = 0;
    HS_TRY(hs_watch_dir_list(dir_fd, scan_one, &scan, err));
    if (series->n != 0)
        qsort(series->files, series->n, sizeof *series->files, by_number);
    return HS_OK;
}

void hs_watch_series_fini(struct hs_watch_series *series)
{
    hs_free(series->files);
    *series = (struct hs_watch_series){0};
}

/* ---- removing ---- */

size_t hs_watch_series_excess(const struct hs_watch_series *series, uint64_t keep,
                              uint64_t keep_bytes)
{
    uint64_t n_kept = 0, n_bytes = 0;
    size_t at = series->n;

    while (at != 0 && (keep == 0 || n_kept < keep)) {
        if (!hs_add_fits(n_bytes, series->files[at - 1].n_bytes, &n_bytes) ||
            (keep_bytes != 0 && n_bytes > keep_bytes && n_kept != 0))
            break;
        n_kept++;
        at--;
    }
    return at;
}

bool hs_watch_remove_ours(int dir_fd, const char *name)
{
    struct stat about;
    return hs_watch_is_ours(dir_fd, name, &about) && unlinkat(dir_fd, name, 0) == 0;
}

/* Snapshots that have gone, whose indexes go as well. */
struct gone {
    int dir_fd;
    const struct hs_watch_series *series;
    size_t n;
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* Tells whether a file is a kept answer: each policy has an index and tables of types, SNAP.idx,
 * SNAP.conservative.idx, SNAP.types-head. */
static bool is_kept_answer(const char *name)
{
    return ends_with(name, ".idx") || ends_with(name, ".idx.part") ||
           ends_with(name, ".suspects") || strstr(name, ".types") != NULL;
}

static hs_status remove_index(void *context, const char *name, struct hs_error *err)
{
    const struct gone *gone = context;
    (void)err;
    if (!is_kept_answer(name))
        return HS_OK;
    for (size_t i = 0; i < gone->n; i++) {
        const char *snap = gone->series->files[i].name;
        size_t n = strlen(snap);
        if (strncmp(name, snap, n) == 0 && name[n] == '.') {
            (void)hs_watch_remove_ours(gone->dir_fd, name);
            break;
        }
    }
    return HS_OK;
}

static void remove_indexes(int dir_fd, const struct hs_watch_series *series, size_t n)
{
    struct hs_error ignored = HS_ERROR_INIT; /* an index that stays does no harm */
    struct gone gone = {.dir_fd = dir_fd, .series = series, .n = n};
    hs_status status = hs_watch_dir_list(dir_fd, remove_index, &gone, &ignored);
    (void)status;
}

void hs_watch_series_remove_index(int dir_fd, const char *name)
{
    struct hs_watch_file file = {0};
    const struct hs_watch_series one = {.files = &file, .n = 1};
    (void)snprintf(file.name, sizeof file.name, "%s", name);
    remove_indexes(dir_fd, &one, 1);
}

void hs_watch_series_remove_one(int dir_fd, const char *name)
{
    (void)hs_watch_remove_ours(dir_fd, name);
    hs_watch_series_remove_index(dir_fd, name);
}

size_t hs_watch_series_remove(int dir_fd, const struct hs_watch_series *series, size_t n)
{
    size_t n_removed = 0;

    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        n_removed += hs_watch_remove_ours(dir_fd, series->files[i].name);
    remove_indexes(dir_fd, series, n);
    return n_removed;
}

struct sweep {
    int dir_fd;
    size_t n_removed;
};

static hs_status sweep_one(void *context, const char *name, struct hs_error *err)
{
    struct sweep *sweep = context;
    (void)err;
    if (hs_watch_name_is_neighbour(name))
        sweep->n_removed += hs_watch_remove_ours(sweep->dir_fd, name);
    return HS_OK;
}

size_t hs_watch_neighbours_remove(int dir_fd)
{
    struct hs_error ignored = HS_ERROR_INIT; /* the next start tries again */
    struct sweep sweep = {.dir_fd = dir_fd};
    hs_status status = hs_watch_dir_list(dir_fd, sweep_one, &sweep, &ignored);
    (void)status;
    return sweep.n_removed;
}

/* ---- room ---- */

bool hs_watch_has_room(uint64_t free_bytes, uint64_t last_bytes)
{
    return free_bytes >= last_bytes && free_bytes - last_bytes >= last_bytes / 2;
}

uint64_t hs_watch_free_bytes(int dir_fd)
{
    struct statvfs about;
    uint64_t n_bytes;
    if (fstatvfs(dir_fd, &about) != 0)
        return UINT64_MAX;
    return hs_mul_fits(about.f_bavail, about.f_frsize, &n_bytes) ? n_bytes : UINT64_MAX;
}
