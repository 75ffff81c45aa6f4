/* All samples of a site, merged by how they are kept. */
#include "site_paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "keeper_chains.h"
#include "options.h"
#include "path_print.h"
#include "root_json.h"

/* One way in which samples are kept. */
struct way {
    uint32_t chain; /* HS_NO_CHAIN: the blocks are not in the heap */
    uint32_t sampler;
    const struct hs_sample *largest;
    struct hs_estimate estimate;
};

struct ways {
    struct hs_join *join;
    const char *name;
    struct hs_chains chains;
    struct way *ways; /* owned */
    size_t n, capacity;
    size_t n_shown;
    struct hs_estimate total, others;
    uint64_t total_words, others_words; /* rounded way by way */
};

/* ---- which samples */

/* By site: whether it has the name; *ret_further counts samples that have it further out only. */
static hs_status match_sites(struct hs_join *join, const char *name, bool *matches,
                             bool *is_further, struct hs_error *err)
{
    bool in_all = strncmp(name, "...", 3) == 0;
    const char *part = in_all ? name + 3 : name;
    for (uint32_t site = 0; site < join->n_sites; site++) {
        const struct hs_frame *frames;
        size_t n;
        HS_TRY(hs_join_frames(join, site, &frames, &n, err));
        size_t place = hs_place_frame(frames, n);
        bool is_inside = false;
        for (size_t i = 0; i < n && !is_inside; i++)
            is_inside = hs_frame_contains(&frames[i], part);
        matches[site] = n != 0 && (in_all ? is_inside : hs_frame_contains(&frames[place], part));
        is_further[site] = is_inside;
    }
    return HS_OK;
}

static hs_status fail_unmatched(const struct hs_join *join, const char *name, uint64_t n_further,
                                uint64_t n_sites, struct hs_error *err)
{
    (void)hs_fail(err, HS_USAGE, "no sample was allocated by '%.100s'", name);
    if (n_further != 0)
        return hs_hint(err, "%lu samples have it further out: --to 'site:...%.100s'",
                       (unsigned long)n_further, name);
    if (n_sites == 0)
        return hs_hint(err, "no site is known: give the process's trace with --trace FILE");
    return hs_hint(err, "'heapsnap samples %s --group-by site' lists the sites", join->view->path);
}

struct picked {
    const struct hs_sample *sample;
    uint32_t chain, sampler;
};

static hs_status pick(struct hs_join *join, const char *name, struct picked *picked, size_t *ret_n,
                      struct hs_error *err)
{
    const struct hs_view *view = join->view;
    hs_auto_free bool *matches = NULL, *is_further = NULL;
    uint64_t n_further = 0, n_sites = 0;
    size_t n = 0;
    HS_TRY(hs_alloc(join->n_sites, sizeof *matches, (void **)&matches, err));
    HS_TRY(hs_alloc(join->n_sites, sizeof *is_further, (void **)&is_further, err));
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
    const struct way *a = left, *b = right;
    const struct hs_join *join = context;
    if (join->is_weighted && a->estimate.words != b->estimate.words)
        return a->estimate.words < b->estimate.words ? 1 : -1;
    if (a->estimate.n_samples != b->estimate.n_samples)
        return a->estimate.n_samples < b->estimate.n_samples ? 1 : -1;
    return a->largest < b->largest ? -1 : a->largest > b->largest;
}

static hs_status merge(struct ways *ways, const struct picked *picked, size_t n,
                       struct hs_error *err)
{
    struct way *way = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct hs_sample *sample = picked[i].sample;
        if (way == NULL || way->chain != picked[i].chain || way->sampler != picked[i].sampler) {
            HS_TRY(hs_grow((void **)&ways->ways, &ways->capacity, ways->n + 1, sizeof *way, err));
            way = &ways->ways[ways->n++];
            *way = (struct way){.chain = picked[i].chain, .sampler = picked[i].sampler};
            way->largest = sample;
        }
        if (sample->words > way->largest->words)
            way->largest = sample;
        hs_estimate_add(&way->estimate, hs_join_sampler(ways->join, sample), sample);
    }
    return HS_OK;
}

static void sort_and_fold(struct ways *ways, uint64_t limit)
{
    qsort_r(ways->ways, ways->n, sizeof *ways->ways, by_words, ways->join);
    ways->n_shown = limit != 0 && ways->n > limit ? (size_t)limit : ways->n;
    for (size_t i = 0; i < ways->n; i++) {
        const struct hs_estimate *estimate = &ways->ways[i].estimate;
        hs_estimate_join(&ways->total, estimate);
        ways->total_words += hs_estimate_words(estimate);
        if (i < ways->n_shown)
            continue;
        hs_estimate_join(&ways->others, estimate);
        ways->others_words += hs_estimate_words(estimate);
    }
}

static hs_status find_ways(struct ways *ways, uint64_t limit, struct hs_error *err)
{
    enum { TELL_EVERY = 4096 };
    struct hs_view *view = ways->join->view;
    hs_auto_free struct picked *picked = NULL;
    size_t n = 0;
    HS_TRY(hs_join_take(ways->join, sizeof *picked, err));
    HS_TRY(hs_alloc(view->totals->n_samples, sizeof *picked, (void **)&picked, err));
    HS_TRY(pick(ways->join, ways->name, picked, &n, err));
    HS_TRY(hs_chains_init(view, &ways->chains, err));
    for (size_t i = 0; i < n; i++) {
        if (picked[i].sample->node != HS_NO_NODE)
            HS_TRY(
                hs_chains_find_alike(&ways->chains, picked[i].sample->node, &picked[i].chain, err));
        if (i % TELL_EVERY == TELL_EVERY - 1)
            HS_TRY(hs_progress_tell(view->progress, "climbing to keepers", i + 1, n, err));
    }
    qsort(picked, n, sizeof *picked, by_chain);
    HS_TRY(merge(ways, picked, n, err));
    sort_and_fold(ways, limit);
    return HS_OK;
}

static void ways_fini(struct ways *ways)
{
    hs_chains_fini(&ways->chains);
    hs_free(ways->ways);
}

/* ---- what to call it */

static bool is_reached(const struct ways *ways, const struct way *way)
{
    return way->chain != HS_NO_CHAIN &&
           hs_chain_first(&ways->chains, way->chain)->key <= ways->join->view->n_tree;
}

static const char *keeper_text(const struct ways *ways, const struct way *way)
{
    const struct hs_view *view = ways->join->view;
    if (way->chain == HS_NO_CHAIN)
        return "[not in the heap]";
    uint64_t key = hs_chain_first(&ways->chains, way->chain)->key;
    if (key < view->n_tree)
        return hs_view_string(view, hs_snap_root(view->snap, key)->name);
    return key == view->n_tree ? "[shared by several roots]" : "[unreached]";
}

static const char *run_text(const struct ways *ways, uint32_t chain)
{
    const struct hs_view *view = ways->join->view;
    uint32_t type = (uint32_t)ways->chains.chains[chain].key;
    if (type == HS_CHAIN_UNTYPED)
        return "untyped blocks";
    return hs_view_string(view, hs_snap_type(view->snap, type)->name);
}

static void way_text(const struct ways *ways, const struct way *way, char *text, size_t n_bytes)
{
    uint32_t runs[HS_CHAIN_RUNS + 1];
    size_t n = way->chain == HS_NO_CHAIN ? 0 : hs_chain_runs(&ways->chains, way->chain, runs);
    (void)snprintf(text, n_bytes, "%.200s", keeper_text(ways, way));
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(text);
        if (used + 1 >= n_bytes)
            return;
        bool is_behind_gap = i == HS_CHAIN_RUNS;
        (void)snprintf(text + used, n_bytes - used, "%s > %.100s", is_behind_gap ? " > ..." : "",
                       run_text(ways, runs[i]));
    }
}

/* ---- JSON */

static void put_estimate(struct hs_json *json, const struct ways *ways,
                         const struct hs_estimate *estimate, uint64_t words)
{
    if (ways->join->is_weighted) {
        hs_json_u64(json, "estimated_words", words);
        hs_json_u64(json, "error_words", hs_estimate_error_words(estimate));
    } else {
        hs_json_null(json, "estimated_words");
        hs_json_null(json, "error_words");
    }
    hs_json_u64(json, "n_samples", estimate->n_samples);
    hs_json_u64(json, "n_blocks", estimate->n_blocks);
}

static void put_keepers(struct hs_json *json, const struct ways *ways, const struct way *way)
{
    uint32_t runs[HS_CHAIN_RUNS + 1];
    size_t n = way->chain == HS_NO_CHAIN ? 0 : hs_chain_runs(&ways->chains, way->chain, runs);
    const struct hs_view *view = ways->join->view;
    uint64_t key = n == 0 ? view->n_tree : hs_chain_first(&ways->chains, way->chain)->key;
    hs_json_string(json, "keeper",
                   key < view->n_tree          ? "root"
                   : way->chain == HS_NO_CHAIN ? "not_in_heap"
                                               : (key == view->n_tree ? "shared" : "unreached"));
    hs_json_node(json, "root_id", key < view->n_tree ? key : HS_NO_NODE);
    hs_json_string(json, "root", key < view->n_tree ? keeper_text(ways, way) : NULL);
    hs_json_begin_array(json, "types", HS_JSON_LINE);
    for (size_t i = 0; i < n; i++)
        hs_json_string(json, NULL, i == HS_CHAIN_RUNS ? "..." : run_text(ways, runs[i]));
    if (n > HS_CHAIN_RUNS)
        hs_json_string(json, NULL, run_text(ways, runs[HS_CHAIN_RUNS]));
    hs_json_end_array(json);
}

static hs_status put_way(struct hs_json *json, struct ways *ways, const struct way *way,
                         struct hs_error *err)
{
    struct hs_paths paths = {0};
    hs_json_begin_object(json, NULL, HS_JSON_BLOCK);
    put_estimate(json, ways, &way->estimate, hs_estimate_words(&way->estimate));
    if (ways->join->is_weighted)
        hs_json_percent(json, "share_percent", hs_estimate_words(&way->estimate),
                        ways->total_words);
    else
        hs_json_percent(json, "share_percent", way->estimate.n_samples, ways->total.n_samples);
    hs_json_string(json, "sampler", hs_sampler_kind_name(ways->join->samplers[way->sampler].kind));
    put_keepers(json, ways, way);
    hs_json_u64(json, "example", way->largest->id);
    hs_json_node(json, "example_id", way->largest->node);
    hs_status status = HS_OK;
    if (is_reached(ways, way))
        status = hs_paths_to(ways->join->view, way->largest->node, 1, false, &paths, err);
    if (status == HS_OK && paths.n_paths != 0)
        status = hs_path_json(json, "path", ways->join->view, &paths, 0, err);
    else
        hs_json_null(json, "path");
    hs_paths_fini(&paths);
    hs_json_end_object(json);
    return status;
}

static hs_status print_json(struct hs_tool *tool, struct ways *ways, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.site-paths/1");
    hs_json_string(&json, "snapshot", ways->join->view->path);
    hs_json_string(&json, "trace", ways->join->path);
    hs_json_string(&json, "site", ways->name);
    hs_json_string(&json, "certainty", hs_certainty_name(HS_SAMPLED));
    hs_json_begin_array(&json, "paths", HS_JSON_BLOCK);
    for (size_t i = 0; i < ways->n_shown; i++)
        HS_TRY(put_way(&json, ways, &ways->ways[i], err));
    hs_json_end_array(&json);
    hs_json_begin_object(&json, "others", HS_JSON_LINE);
    hs_json_u64(&json, "count", ways->n - ways->n_shown);
    put_estimate(&json, ways, &ways->others, ways->others_words);
    hs_json_end_object(&json);
    hs_json_begin_object(&json, "total", HS_JSON_LINE);
    put_estimate(&json, ways, &ways->total, ways->total_words);
    hs_json_end_object(&json);
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

static hs_status print_ndjson(struct hs_tool *tool, struct ways *ways, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, HS_JSON_COMPACT);
    for (size_t i = 0; i < ways->n_shown; i++)
        HS_TRY(put_way(&json, ways, &ways->ways[i], err));
    return hs_json_finish(&json, err);
}

/* ---- table: the ways, then the path of one sample of each */

static const struct hs_column columns[] = {
    {"path", "PATH", HS_COLUMN_COUNT, 0},
    {"estimated_words", "SAMPLED", HS_COLUMN_WORDS, HS_COLUMN_SUMMED},
    {"error_words", "+-", HS_COLUMN_WORDS, 0},
    {"share_percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY},
    {"n_samples", "SAMPLES", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
    {"n_blocks", "BLOCKS", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
    {"example", "EXAMPLE", HS_COLUMN_COUNT, 0},
    {"kept_by", "KEPT BY", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static void put_row(struct hs_sheet *sheet, const struct ways *ways, size_t at)
{
    const struct way *way = &ways->ways[at];
    bool is_weighted = ways->join->is_weighted;
    uint64_t words = hs_estimate_words(&way->estimate);
    char text[1024];
    way_text(ways, way, text, sizeof text);
    hs_sheet_u64(sheet, at + 1);
    if (is_weighted) {
        hs_sheet_u64(sheet, words);
        hs_sheet_u64(sheet, hs_estimate_error_words(&way->estimate));
    } else {
        hs_sheet_null(sheet);
        hs_sheet_null(sheet);
    }
    hs_sheet_u64(sheet, is_weighted ? words : way->estimate.n_samples);
    hs_sheet_u64(sheet, way->estimate.n_samples);
    hs_sheet_u64(sheet, way->estimate.n_blocks);
    hs_sheet_u64(sheet, way->largest->id);
    hs_sheet_string(sheet, text);
}

static hs_status print_ways(struct hs_tool *tool, const struct hs_invocation *inv,
                            const struct ways *ways, struct hs_error *err)
{
    bool is_weighted = ways->join->is_weighted;
    uint64_t whole = is_weighted ? ways->total_words : ways->total.n_samples;
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, whole);
    options.word_bytes = ways->join->view->facts->word_bytes;
    options.limit = 0;
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, N_COLUMNS, &options, err));
    for (size_t i = 0; i < ways->n_shown; i++)
        put_row(&sheet, ways, i);
    uint64_t sums[N_COLUMNS] = {
        [1] = ways->others_words,
        [3] = is_weighted ? ways->others_words : ways->others.n_samples,
        [4] = ways->others.n_samples,
        [5] = ways->others.n_blocks,
    };
    if (ways->n > ways->n_shown)
        hs_sheet_fold(&sheet, ways->n - ways->n_shown, sums);
    hs_status status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

static hs_status put_example(struct hs_sheet *sheet, const struct ways *ways, size_t at,
                             struct hs_error *err)
{
    const struct way *way = &ways->ways[at];
    struct hs_paths paths = {0};
    if (!is_reached(ways, way))
        return HS_OK;
    HS_TRY(hs_paths_to(ways->join->view, way->largest->node, 1, false, &paths, err));
    hs_status status = HS_OK;
    if (paths.n_paths != 0)
        status = hs_path_lines(sheet, ways->join->view, at, &paths, 0, err);
    hs_paths_fini(&paths);
    return status;
}

static hs_status print_examples(struct hs_tool *tool, const struct hs_invocation *inv,
                                const struct ways *ways, struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    options.word_bytes = ways->join->view->facts->word_bytes;
    options.no_total = true;
    options.limit = 0;
    struct hs_sheet sheet;
    HS_TRY(hs_print(&tool->out, err, "\nthe shortest path to one sample of each:\n"));
    HS_TRY(hs_sheet_init(&sheet, hs_path_columns, HS_N_PATH_COLUMNS, &options, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < ways->n_shown && status == HS_OK; i++)
        status = put_example(&sheet, ways, i, err);
    if (status == HS_OK)
        status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv, struct ways *ways,
                       struct hs_error *err)
{
    switch (hs_tool_format(inv)) {
    case HS_FORMAT_JSON:
        return print_json(tool, ways, err);
    case HS_FORMAT_NDJSON:
        return print_ndjson(tool, ways, err);
    case HS_FORMAT_TSV:
        return print_ways(tool, inv, ways, err);
    case HS_FORMAT_TABLE:
        break;
    }
    HS_TRY(print_ways(tool, inv, ways, err));
    return print_examples(tool, inv, ways, err);
}

hs_status hs_site_paths_print(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_join *join, const char *name, uint64_t limit,
                              struct hs_error *err)
{
    struct ways ways = {.join = join, .name = name};
    if (name[0] == 0 || strcmp(name, "...") == 0) {
        (void)hs_fail(err, HS_USAGE, "'site:%s' names no site", name);
        return hs_hint(err, "write a part of a function's name or of file:line: site:Cache.add");
    }
    hs_status status = find_ways(&ways, limit, err);
    if (status == HS_OK)
        status = print(tool, inv, &ways, err);
    ways_fini(&ways);
    return status;
}
