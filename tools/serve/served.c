#include "served.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "compare/folder.h"

#define SECOND_NS ((uint64_t)1000000000)

/* Spreads the bits of a number (the finaliser of splitmix64). */
static uint64_t mix(uint64_t sum, uint64_t number)
{
    sum += number + 0x9e3779b97f4a7c15u;
    sum = (sum ^ sum >> 30) * 0xbf58476d1ce4e5b9u;
    sum = (sum ^ sum >> 27) * 0x94d049bb133111ebu;
    return sum ^ sum >> 31;
}

static uint64_t time_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * SECOND_NS + (uint64_t)time->tv_nsec;
}

static uint64_t identity_of(const struct stat *about)
{
    uint64_t sum = mix(mix(0, about->st_dev), about->st_ino);
    sum = mix(mix(sum, (uint64_t)about->st_size), time_ns(&about->st_mtim));
    return sum != 0 ? sum : 1;
}

/* Returns the identity of the file there; 0: it is not there. */
static uint64_t identity_at(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) ? identity_of(&about) : 0;
}

static uint64_t file_of(const struct stat *about)
{
    return mix(mix(0, about->st_dev), about->st_ino);
}

bool hs_served_is_same(const struct hs_served *served)
{
    struct stat about;
    if (!served->is_trace)
        return identity_at(served->path) == served->identity;
    return stat(served->path, &about) == 0 && file_of(&about) == served->file &&
           (uint64_t)about.st_size >= served->n_bytes;
}

/* Describes a file; *ret_is false: it is gone since it was listed. */
static hs_status describe(const char *path, struct hs_served *ret, bool *ret_is,
                          struct hs_error *err)
{
    struct stat about;
    char *copy;
    *ret_is = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    if (!*ret_is)
        return HS_OK;
    HS_TRY(hs_strdup(path, &copy, err));
    const char *slash = strrchr(copy, '/');
    *ret = (struct hs_served){
        .name = slash != NULL ? slash + 1 : copy,
        .path = copy,
        .identity = identity_of(&about),
        .n_bytes = (uint64_t)about.st_size,
        .changed_ns = time_ns(&about.st_mtim),
        .file = file_of(&about),
    };
    return HS_OK;
}

static hs_status add(struct hs_served_now *now, const char *path, struct hs_error *err)
{
    bool is;
    HS_TRY(describe(path, &now->items[now->list.n], &is, err));
    now->list.n += is;
    return HS_OK;
}

static hs_status add_trace(struct hs_served_now *now, const char *path, struct hs_error *err)
{
    bool is;
    HS_TRY(describe(path, &now->trace, &is, err));
    if (!is)
        return hs_fail(err, HS_IO, "cannot open '%s': it is no file", path);
    now->trace.is_trace = true;
    now->list.trace = &now->trace;
    return HS_OK;
}

static bool is_snapshot(const char *path)
{
    size_t n = strlen(path);
    return n > strlen(".snap") && strcmp(path + n - strlen(".snap"), ".snap") == 0;
}

/* Adds a folder. Names of a watch are times: the last is the newest. */
static hs_status add_folder(struct hs_served_now *now, const struct hs_folder *folder,
                            struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&now->items, folder->n, err));
    now->list.items = now->items;
    for (size_t i = folder->n; i-- > 0;)
        if (is_snapshot(folder->paths[i]))
            HS_TRY(add(now, folder->paths[i], err));
    return HS_OK;
}

/* Gives two files of one name in two folders their paths as names. */
static void tell_apart(struct hs_served_now *now)
{
    for (size_t i = 1; i < now->list.n; i++)
        for (size_t k = 0; k < i; k++) {
            struct hs_served *one = &now->items[k], *other = &now->items[i];
            const char *slash = strrchr(other->path, '/');
            if (strcmp(slash != NULL ? slash + 1 : other->path, one->name) == 0)
                one->name = one->path;
            if (one->name == one->path)
                other->name = other->path;
        }
}

static hs_status add_files(struct hs_served_now *now, const struct hs_serve_what *what,
                           struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&now->items, what->n_snapshots, err));
    now->list.items = now->items;
    for (size_t i = 0; i < what->n_snapshots; i++) {
        HS_TRY(add(now, what->snapshots[i], err));
        if (now->list.n <= i)
            return hs_fail(err, HS_IO, "cannot open '%s': it is no file", what->snapshots[i]);
    }
    tell_apart(now);
    return HS_OK;
}

static hs_status find(const struct hs_serve_what *what, struct hs_served_now *now,
                      struct hs_error *err)
{
    now->n_users = 1;
    now->found_ns = hs_now_ns();
    if (what->trace != NULL)
        HS_TRY(add_trace(now, what->trace, err));
    if (what->n_snapshots == 0)
        return HS_OK;
    const char *path = what->snapshots[0];
    if (what->n_snapshots == 1 && hs_folder_is(path)) {
        struct hs_folder folder;
        HS_TRY(hs_folder_list(path, &folder, err));
        now->list.folder = path;
        hs_status status = add_folder(now, &folder, err);
        hs_folder_fini(&folder);
        return status;
    }
    return add_files(now, what, err);
}

void hs_served_let_go(struct hs_served_now *now)
{
    if (now == NULL || --now->n_users > 0)
        return;
    for (size_t i = 0; i < now->list.n; i++)
        hs_free((char *)(uintptr_t)now->items[i].path);
    hs_free(now->items);
    hs_free((char *)(uintptr_t)now->trace.path);
    hs_free(now);
}

static bool is_true(const struct hs_served_now *now)
{
    const struct hs_served *trace = now->list.trace;
    if (trace != NULL && identity_at(trace->path) != trace->identity)
        return false;
    if (now->list.folder != NULL)
        return hs_now_ns() - now->found_ns < SECOND_NS;
    for (size_t i = 0; i < now->list.n; i++)
        if (identity_at(now->items[i].path) != now->items[i].identity)
            return false;
    return true;
}

hs_status hs_served_refresh(const struct hs_serve_what *what, struct hs_served_now **now,
                            struct hs_error *err)
{
    struct hs_served_now *found = NULL;
    if (*now != NULL && is_true(*now))
        return HS_OK;
    HS_TRY(HS_ALLOC(&found, 1, err));
    hs_status status = find(what, found, err);
    if (status != HS_OK) {
        hs_served_let_go(found);
        return status;
    }
    hs_served_let_go(*now);
    *now = found;
    return HS_OK;
}
