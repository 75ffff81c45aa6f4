#include "kept_keys.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/key_file.h"
#include "base/alloc.h"
#include "series.h"

struct scan {
    int dir_fd;
    uint64_t first_number;
    struct hs_watch_keys *keys;
};

static hs_status add_file(void *context, const char *name, struct hs_error *err)
{
    const struct scan *scan = context;
    struct hs_watch_keys *keys = scan->keys;
    struct stat about;
    uint64_t number;
    if (!hs_watch_name_parse_keys(name, &number) || number < scan->first_number ||
        !hs_watch_is_ours(scan->dir_fd, name, &about))
        return HS_OK;
    HS_TRY(HS_GROW(&keys->files, &keys->capacity, keys->n + 1, err));
    struct hs_watch_keys_file *file = &keys->files[keys->n++];
    file->number = number;
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    return HS_OK;
}

static int by_number(const void *left, const void *right)
{
    const struct hs_watch_keys_file *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return strcmp(a->name, b->name);
}

hs_status hs_watch_keys_scan(int dir_fd, uint64_t first_number, struct hs_watch_keys *ret,
                             struct hs_error *err)
{
    struct hs_watch_keys keys = {0};
    struct scan scan = {dir_fd, first_number, &keys};
    hs_status status = hs_watch_dir_list(dir_fd, add_file, &scan, err);
    if (status != HS_OK) {
        hs_watch_keys_fini(&keys);
        return status;
    }
    if (keys.n > 1)
        qsort(keys.files, keys.n, sizeof *keys.files, by_number);
    *ret = keys;
    return HS_OK;
}

void hs_watch_keys_fini(struct hs_watch_keys *keys)
{
    hs_free(keys->files);
    *keys = (struct hs_watch_keys){0};
}

bool hs_watch_keys_stay(uint64_t number, uint64_t newest)
{
    uint64_t age = newest > number ? newest - number : 0, every = 1;
    while (age / HS_WATCH_KEYS_ALL >= every)
        every *= 2;
    return number % every == 0;
}

static bool has_snapshot(int dir_fd, const char *name)
{
    char snap[HS_WATCH_KEYS_NAME_BYTES];
    struct stat about;
    (void)snprintf(snap, sizeof snap, "%.*s", (int)(strlen(name) - strlen(HS_KEY_FILE_END)), name);
    return fstatat(dir_fd, snap, &about, AT_SYMLINK_NOFOLLOW) == 0;
}

hs_status hs_watch_keys_thin(int dir_fd, uint64_t first_number, size_t *ret_removed,
                             struct hs_error *err)
{
    struct hs_watch_keys keys;
    size_t n_removed = 0;
    HS_TRY(hs_watch_keys_scan(dir_fd, first_number, &keys, err));
    for (size_t i = 0; i < keys.n; i++)
        if (!hs_watch_keys_stay(keys.files[i].number, keys.files[keys.n - 1].number) &&
            !has_snapshot(dir_fd, keys.files[i].name))
            n_removed += hs_watch_remove_ours(dir_fd, keys.files[i].name);
    hs_watch_keys_fini(&keys);
    *ret_removed = n_removed;
    return HS_OK;
}
