#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static const char snap_end[] = ".snap", keys_end[] = ".snap.keys";

bool hs_folder_is(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n > n_end && strcmp(text + n - n_end, end) == 0;
}

static hs_status join(const char *folder, const char *name, char **ret, struct hs_error *err)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    HS_TRY(HS_ALLOC(ret, n, err));
    bool has_slash = folder[0] != '\0' && folder[strlen(folder) - 1] == '/';
    (void)snprintf(*ret, n, "%s%s%s", folder, has_slash ? "" : "/", name);
    return HS_OK;
}

/* A key file whose snapshot lies beside it is that snapshot's. */
static bool stands_for_itself(const char *path)
{
    char snap[4096];
    if (!ends_with(path, keys_end))
        return true;
    int n = snprintf(snap, sizeof snap, "%.*s", (int)(strlen(path) - strlen(".keys")), path);
    return n <= 0 || n >= (int)sizeof snap || access(snap, F_OK) != 0;
}

static hs_status add(struct hs_folder *folder, const char *path, const char *name,
                     struct hs_error *err)
{
    char *joined;
    if (name[0] == '.' || (!ends_with(name, snap_end) && !ends_with(name, keys_end)))
        return HS_OK;
    HS_TRY(HS_GROW(&folder->paths, &folder->capacity, folder->n + 1, err));
    HS_TRY(join(path, name, &joined, err));
    if (stands_for_itself(joined))
        folder->paths[folder->n++] = joined;
    else
        hs_free(joined);
    return HS_OK;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

hs_status hs_folder_list(const char *path, struct hs_folder *ret, struct hs_error *err)
{
    struct hs_folder folder = {0};
    hs_status status = HS_OK;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return hs_fail_errno(err, HS_IO, "cannot list '%s'", path);
    for (struct dirent *entry; status == HS_OK && (entry = readdir(dir)) != NULL;)
        status = add(&folder, path, entry->d_name, err);
    (void)closedir(dir);
    if (status != HS_OK) {
        hs_folder_fini(&folder);
        return status;
    }
    if (folder.n > 1)
        qsort(folder.paths, folder.n, sizeof *folder.paths, by_name);
    *ret = folder;
    return HS_OK;
}

void hs_folder_fini(struct hs_folder *folder)
{
    for (size_t i = 0; i < folder->n; i++)
        hs_free(folder->paths[i]);
    hs_free(folder->paths);
    *folder = (struct hs_folder){0};
}
