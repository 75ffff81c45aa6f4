#include "growing.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/append.h"
#include "look/suspect_text.h"

static void put_command(struct hs_growing *growing, const struct hs_comparison *comparison)
{
    hs_append(growing->command, sizeof growing->command, "heapsnap diff");
    for (size_t i = 0; i < comparison->n; i++) {
        hs_append(growing->command, sizeof growing->command, " ");
        hs_suspect_quote(comparison->files[i].path, growing->command, sizeof growing->command);
    }
}

static hs_status describe(struct hs_growing *growing, const struct hs_comparison *comparison,
                          struct hs_error *err)
{
    const struct hs_series *series = &comparison->series;
    bool is_of_heap = hs_verdict_is_of_heap(series);
    if (series->n_found == 0 && !is_of_heap)
        return HS_OK;
    uint32_t row = is_of_heap ? 0 : series->found[0];
    growing->is_there = true;
    hs_verdict_text(series, comparison->are_same, growing->sentence, sizeof growing->sentence);
    hs_series_text(series, row, growing->holder, sizeof growing->holder);
    if (series->n_sites != 0 && !is_of_heap)
        (void)snprintf(growing->site, sizeof growing->site, "%s",
                       hs_strtab_get(&series->names, series->sites[0].name));
    growing->words = hs_series_words(series, row)[series->n - 1];
    growing->objects = hs_series_objects(series, row)[series->n - 1];
    put_command(growing, comparison);
    if (series->rows[row].form != HS_KEY_TYPE)
        return HS_OK;
    hs_str id;
    HS_TRY(hs_strtab_add(&growing->names, hs_strtab_get(&series->names, series->rows[row].name),
                         &id, err));
    growing->type = hs_strtab_get(&growing->names, id);
    return HS_OK;
}

static hs_status check_newest(const struct hs_comparison *comparison, const char *path,
                              struct hs_error *err)
{
    const struct hs_compared *last = &comparison->files[comparison->n - 1];
    if (comparison->are_same || strcmp(last->path, path) == 0)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "'%s' is not older than '%s'", last->path, path);
    return hs_hint(err, "'heapsnap diff' compares snapshots in the order of their times");
}

hs_status hs_growing_find(struct hs_tool *tool, const char *path, const char *const *older,
                          size_t n, struct hs_growing *ret, struct hs_error *err)
{
    const char *paths[HS_MAX_REPEATED + 1];
    struct hs_comparison comparison;
    struct hs_growing growing = {0};
    for (size_t i = 0; i < n; i++)
        paths[i] = older[i];
    paths[n] = path;
    HS_TRY(hs_comparison_open(tool, paths, n + 1, NULL, &comparison, err));
    hs_status status = check_newest(&comparison, path, err);
    if (status == HS_OK)
        status = describe(&growing, &comparison, err);
    hs_comparison_fini(&comparison);
    if (status == HS_OK)
        *ret = growing;
    else
        hs_growing_fini(&growing);
    return status;
}

void hs_growing_fini(struct hs_growing *growing)
{
    hs_strtab_fini(&growing->names);
    growing->is_there = false;
}
