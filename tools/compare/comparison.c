#include "comparison.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "folder.h"
#include "kinship.h"
#include "look/open_view.h"

/* ---- one file ---- */

static hs_status read_keys(struct hs_tool *tool, struct hs_compared *file, struct hs_error *err)
{
    struct hs_session session = hs_tool_session(tool, file->path);
    const struct hs_key_file_options options = {.session = &session};
    file->is_snap = !hs_key_file_is_at(file->path);
    if (!file->is_snap)
        return hs_key_file_read(file->path, &file->keys, err);
    return hs_key_file_of(file->path, &options, &file->keys, NULL, err);
}

static hs_status add_file(struct hs_tool *tool, struct hs_comparison *comparison, const char *path,
                          struct hs_compared **ret, struct hs_error *err)
{
    HS_TRY(HS_GROW(&comparison->files, &comparison->capacity, comparison->n + 1, err));
    struct hs_compared *file = &comparison->files[comparison->n];
    *file = (struct hs_compared){.given = comparison->n};
    HS_TRY(hs_strdup(path, &file->path, err));
    hs_status status = read_keys(tool, file, err);
    if (status != HS_OK) {
        hs_free(file->path);
        return status;
    }
    comparison->n++;
    *ret = file;
    return HS_OK;
}

static void drop_file(struct hs_comparison *comparison, size_t at)
{
    struct hs_compared *file = &comparison->files[at];
    hs_free(file->path);
    hs_snap_keys_fini(&file->keys);
    memmove(file, file + 1, (comparison->n - at - 1) * sizeof *file);
    comparison->n--;
}

/* ---- all of them ---- */

static hs_status add_given(struct hs_tool *tool, struct hs_comparison *comparison,
                           const char *const *paths, size_t n, struct hs_error *err)
{
    struct hs_compared *file;
    for (size_t i = 0; i < n; i++) {
        if (hs_folder_is(paths[i]))
            return hs_fail(err, HS_USAGE, "'%s' is a folder: give it alone", paths[i]);
        HS_TRY(add_file(tool, comparison, paths[i], &file, err));
    }
    return HS_OK;
}

/* Adds the files of a folder: one damaged file among many costs itself. */
static hs_status add_folder(struct hs_tool *tool, struct hs_comparison *comparison,
                            const char *path, struct hs_error *err)
{
    struct hs_folder folder;
    struct hs_compared *file;
    comparison->is_folder = true;
    HS_TRY(hs_folder_list(path, &folder, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < folder.n && status == HS_OK; i++) {
        status = add_file(tool, comparison, folder.paths[i], &file, err);
        if (status == HS_FORMAT) {
            hs_talk("warning: left out: %s", err->message);
            status = HS_OK;
        }
    }
    hs_folder_fini(&folder);
    return status;
}

static int by_time(const void *left, const void *right)
{
    const struct hs_compared *a = left, *b = right;
    if (a->is_base != b->is_base)
        return a->is_base ? -1 : 1;
    uint64_t of_a = a->keys.facts.taken_ns, of_b = b->keys.facts.taken_ns;
    if (of_a != of_b)
        return of_a < of_b ? -1 : 1;
    return a->given < b->given ? -1 : a->given > b->given;
}

static void sort(struct hs_comparison *comparison)
{
    bool was_sorted = true;
    for (size_t i = 0; i < comparison->n; i++)
        if (comparison->files[i].keys.facts.taken_ns == 0)
            return;
    for (size_t i = 0; i + 1 < comparison->n; i++)
        was_sorted &= by_time(&comparison->files[i], &comparison->files[i + 1]) <= 0;
    if (was_sorted)
        return;
    qsort(comparison->files, comparison->n, sizeof *comparison->files, by_time);
    if (!comparison->is_folder)
        hs_talk("note: the snapshots were given in another order than they were taken in: they "
                "are compared by their time");
}

/* Keeps, in a folder, those of the process that was dumped last. */
static void keep_one_process(struct hs_comparison *comparison)
{
    size_t n_others = 0;
    for (size_t i = comparison->n; i-- > 0;) {
        const struct hs_compared *last = &comparison->files[comparison->n - 1];
        if (comparison->files[i].is_base || hs_kinship_is_process(last, &comparison->files[i]))
            continue;
        drop_file(comparison, i);
        n_others++;
    }
    if (n_others != 0)
        hs_talk("note: %zu snapshot%s of other processes %s left out", n_others,
                n_others == 1 ? "" : "s", n_others == 1 ? "is" : "are");
}

static bool is_same(const struct hs_compared *a, const struct hs_compared *b)
{
    return a->keys.facts.snap_checksum == b->keys.facts.snap_checksum &&
           a->keys.facts.snap_bytes == b->keys.facts.snap_bytes;
}

/* Drops files that are there twice, as long as two are left. */
static void drop_twins(struct hs_comparison *comparison)
{
    comparison->are_same = comparison->n > 1;
    for (size_t i = 1; i < comparison->n; i++)
        comparison->are_same &= is_same(&comparison->files[0], &comparison->files[i]);
    for (size_t i = 1; i < comparison->n && comparison->n > 2;) {
        size_t twin = 0;
        while (twin < i && !is_same(&comparison->files[twin], &comparison->files[i]))
            twin++;
        if (twin == i) {
            i++;
            continue;
        }
        hs_talk("note: '%s' is the same snapshot as '%s': it counts once",
                comparison->files[i].path, comparison->files[twin].path);
        drop_file(comparison, i);
    }
}

static hs_status check(const struct hs_comparison *comparison, struct hs_error *err)
{
    if (comparison->n == 0)
        return hs_fail(err, HS_USAGE, "cannot compare: the folder has no snapshot");
    if (comparison->n == 1) {
        (void)hs_fail(err, HS_USAGE, "cannot compare '%s': there is no other snapshot",
                      comparison->files[0].path);
        return hs_hint(err, "dump the process again later, and compare both");
    }
    for (size_t i = 1; i < comparison->n; i++)
        HS_TRY(hs_kinship_check(&comparison->files[0], &comparison->files[i], err));
    return HS_OK;
}

static hs_status find_series(struct hs_tool *tool, struct hs_comparison *comparison,
                             struct hs_error *err)
{
    hs_auto_free const struct hs_snap_keys **tables = NULL;
    HS_TRY(HS_ALLOC(&tables, comparison->n, err));
    for (size_t i = 0; i < comparison->n; i++)
        tables[i] = &comparison->files[i].keys;
    return hs_series_find(tables, comparison->n, hs_tool_budget(tool), &comparison->series, err);
}

static hs_status open_all(struct hs_tool *tool, const char *const *paths, size_t n,
                          const char *baseline, struct hs_comparison *comparison,
                          struct hs_error *err)
{
    struct hs_compared *file;
    if (n == 1 && hs_folder_is(paths[0])) {
        HS_TRY(add_folder(tool, comparison, paths[0], err));
        sort(comparison);
        keep_one_process(comparison);
    } else {
        HS_TRY(add_given(tool, comparison, paths, n, err));
    }
    if (baseline != NULL) {
        HS_TRY(add_file(tool, comparison, baseline, &file, err));
        struct hs_compared base = *file;
        base.is_base = true;
        memmove(comparison->files + 1, comparison->files, (comparison->n - 1) * sizeof base);
        comparison->files[0] = base;
    }
    sort(comparison);
    HS_TRY(check(comparison, err));
    drop_twins(comparison);
    hs_kinship_talk(comparison);
    return find_series(tool, comparison, err);
}

hs_status hs_comparison_open(struct hs_tool *tool, const char *const *paths, size_t n,
                             const char *baseline, struct hs_comparison *ret, struct hs_error *err)
{
    struct hs_comparison comparison = {0};
    hs_status status = open_all(tool, paths, n, baseline, &comparison, err);
    if (status == HS_OK)
        *ret = comparison;
    else
        hs_comparison_fini(&comparison);
    return status;
}

void hs_comparison_fini(struct hs_comparison *comparison)
{
    while (comparison->n > 0)
        drop_file(comparison, comparison->n - 1);
    hs_free(comparison->files);
    hs_series_fini(&comparison->series);
    *comparison = (struct hs_comparison){0};
}
