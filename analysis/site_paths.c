/* All samples of a site, merged by how they are kept. */
#include "analysis/site_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/append.h"

/* ---- which samples */

/* Finds, by site, whether it has the name; *ret_further counts samples that have it further out
 * only. */
static hs_status match_sites(struct hs_sample_join *join, const char *name, bool *matches,
                             bool *is_further, struct hs_error *err)
{
    bool in_all = strncmp(name, "...", 3) == 0;
    const char *part = in_all ? name + 3 : name;
    for (uint32_t site = 0; site < join->n_sites; site++) {
        const struct hs_frame *frames;
        size_t n;
        HS_TRY(hs_sample_join_frames(join, site, &frames, &n, err));
        size_t place = hs_site_frame_at(frames, n);
        bool is_inside = false;
        for (size_t i = 0; i < n && !is_inside; i++)
            is_inside = hs_frame_contains(&frames[i], part);
        matches[site] = n != 0 && (in_all ? is_inside : hs_frame_contains(&frames[place], part));
        is_further[site] = is_inside;
    }
    return HS_OK;
}

static hs_status fail_unmatched(const struct hs_sample_join *join, const char *name,
                                uint64_t n_further, uint64_t n_sites, struct hs_error *err)
{
    (void)hs_fail(err, HS_USAGE, "no sample was allocated by '%.100s'", name);
    if (n_further != 0)
        return hs_hint(err, "%lu samples have it further out: --to 'site:...%.100s'",
                       (unsigned long)n_further, name);
    if (n_sites == 0)
        return hs_hint(err, "no site is known: give the process's trace with --trace FILE");
    return hs_hint(err, "'heapsnap samples %s --group-by site' lists the sites",
                   HS_SHELL(join->view->path));
}

struct picked {
    const struct hs_sample *sample;
    uint32_t chain, sampler;
};

static hs_status pick(struct hs_sample_join *join, const char *name, struct picked *picked,
                      size_t *ret_n, struct hs_error *err)
{
    const struct hs_view *view = join->view;
    hs_auto_free bool *matches = NULL, *is_further = NULL;
    uint64_t n_further = 0, n_sites = 0;
    size_t n = 0;
    HS_TRY(HS_ALLOC(&matches, join->n_sites, err));
    HS_TRY(HS_ALLOC(&is_further, join->n_sites, err));
    HS_TRY(match_sites(join, name, matches, is_further, err));
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        const struct hs_sample *sample = hs_snap_sample(view->snap, i);
        uint32_t site = join->sites[i];
        n_sites += site != HS_NO_SITE;
        n_further += site != HS_NO_SITE && is_further[site];
        if (site != HS_NO_SITE && matches[site])
            picked[n++] = (struct picked){sample, HS_NO_CHAIN, sample->sampler};
    }
    if (n == 0)
        return fail_unmatched(join, name, n_further, n_sites, err);
    *ret_n = n;
    return HS_OK;
}

/* ---- merging */

static int by_chain(const void *left, const void *right)
{
    const struct picked *a = left, *b = right;
    if (a->chain != b->chain)
        return a->chain < b->chain ? -1 : 1;
    if (a->sampler != b->sampler)
        return a->sampler < b->sampler ? -1 : 1;
    return a->sample < b->sample ? -1 : a->sample > b->sample;
}

static int by_words(const void *left, const void *right, void *context)
{
    const struct hs_site_path *a = left, *b = right;
    const struct hs_sample_join *join = context;
    if (join->is_weighted && a->estimate.words != b->estimate.words)
        return a->estimate.words < b->estimate.words ? 1 : -1;
    if (a->estimate.n_samples != b->estimate.n_samples)
        return a->estimate.n_samples < b->estimate.n_samples ? 1 : -1;
    return a->largest < b->largest ? -1 : a->largest > b->largest;
}

static hs_status merge(struct hs_site_paths *paths, const struct picked *picked, size_t n,
                       struct hs_error *err)
{
    struct hs_site_path *way = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct hs_sample *sample = picked[i].sample;
        if (way == NULL || way->chain != picked[i].chain || way->sampler != picked[i].sampler) {
            HS_TRY(HS_GROW(&paths->paths, &paths->capacity, paths->n + 1, err));
            way = &paths->paths[paths->n++];
            *way = (struct hs_site_path){.chain = picked[i].chain, .sampler = picked[i].sampler};
            way->largest = sample;
        }
        if (sample->words > way->largest->words)
            way->largest = sample;
        hs_estimate_add(&way->estimate, hs_sample_join_sampler(paths->join, sample), sample);
    }
    return HS_OK;
}

static void sort_and_fold(struct hs_site_paths *paths, uint64_t limit)
{
    qsort_r(paths->paths, paths->n, sizeof *paths->paths, by_words, paths->join);
    paths->n_shown = limit != 0 && paths->n > limit ? (size_t)limit : paths->n;
    for (size_t i = 0; i < paths->n; i++) {
        const struct hs_estimate *estimate = &paths->paths[i].estimate;
        hs_estimate_join(&paths->total, estimate);
        paths->total_words += hs_estimate_words(estimate);
        if (i < paths->n_shown)
            continue;
        hs_estimate_join(&paths->others, estimate);
        paths->others_words += hs_estimate_words(estimate);
    }
}

static hs_status find_paths(struct hs_site_paths *paths, uint64_t limit, struct hs_error *err)
{
    enum { TELL_EVERY = 4096 };
    struct hs_view *view = paths->join->view;
    hs_auto_free struct picked *picked = NULL;
    size_t n = 0;
    HS_TRY(hs_sample_join_reserve(paths->join, sizeof *picked, err));
    HS_TRY(HS_ALLOC(&picked, view->totals->n_samples, err));
    HS_TRY(pick(paths->join, paths->name, picked, &n, err));
    HS_TRY(HS_ALLOC(&paths->samples, n, err));
    for (size_t i = 0; i < n; i++)
        paths->samples[paths->n_samples++] = picked[i].sample;
    HS_TRY(hs_chains_init(view, &paths->chains, err));
    for (size_t i = 0; i < n; i++) {
        if (picked[i].sample->node != HS_NO_NODE)
            HS_TRY(hs_chains_find_alike(&paths->chains, picked[i].sample->node, &picked[i].chain,
                                        err));
        if (i % TELL_EVERY == TELL_EVERY - 1)
            HS_TRY(hs_progress_tell(view->session.progress, "climbing to keepers", i + 1, n, err));
    }
    qsort(picked, n, sizeof *picked, by_chain);
    HS_TRY(merge(paths, picked, n, err));
    sort_and_fold(paths, limit);
    return HS_OK;
}

void hs_site_paths_fini(struct hs_site_paths *paths)
{
    hs_chains_fini(&paths->chains);
    hs_free(paths->paths);
    hs_free(paths->samples);
    *paths = (struct hs_site_paths){0};
}

/* ---- what to call it */

bool hs_site_path_is_reached(const struct hs_site_paths *paths, const struct hs_site_path *way)
{
    return way->chain != HS_NO_CHAIN &&
           hs_chain_first(&paths->chains, way->chain)->key <= paths->join->view->n_tree;
}

const char *hs_site_path_keeper(const struct hs_site_paths *paths, const struct hs_site_path *way)
{
    const struct hs_view *view = paths->join->view;
    if (way->chain == HS_NO_CHAIN)
        return "[not in the heap]";
    uint64_t key = hs_chain_first(&paths->chains, way->chain)->key;
    if (key < view->n_tree)
        return hs_view_string(view, hs_snap_root(view->snap, key)->name);
    return key == view->n_tree ? "[shared by several roots]" : "[unreached]";
}

const char *hs_site_path_type(const struct hs_site_paths *paths, uint32_t chain)
{
    const struct hs_view *view = paths->join->view;
    uint32_t type = (uint32_t)paths->chains.chains[chain].key;
    if (type == HS_CHAIN_UNTYPED)
        return "untyped blocks";
    return hs_view_string(view, hs_snap_type(view->snap, type)->name);
}

void hs_site_path_text(const struct hs_site_paths *paths, const struct hs_site_path *way,
                       char *text, size_t n_bytes)
{
    uint32_t runs[HS_CHAIN_RUNS + 1];
    size_t n = way->chain == HS_NO_CHAIN ? 0 : hs_chain_runs(&paths->chains, way->chain, runs);
    (void)snprintf(text, n_bytes, "%.200s", hs_site_path_keeper(paths, way));
    for (size_t i = 0; i < n; i++)
        hs_append(text, n_bytes, "%s > %.100s", i == HS_CHAIN_RUNS ? " > ..." : "",
                  hs_site_path_type(paths, runs[i]));
}

hs_status hs_site_paths_find(struct hs_sample_join *join, const char *name, uint64_t limit,
                             struct hs_site_paths *ret, struct hs_error *err)
{
    struct hs_site_paths paths = {.join = join, .name = name};
    if (name[0] == 0 || strcmp(name, "...") == 0) {
        (void)hs_fail(err, HS_USAGE, "'site:%s' names no site", name);
        return hs_hint(err, "write a part of a function's name or of file:line: site:Cache.add");
    }
    hs_status status = find_paths(&paths, limit, err);
    if (status == HS_OK)
        *ret = paths;
    else
        hs_site_paths_fini(&paths);
    return status;
}
