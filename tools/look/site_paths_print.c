/* The ways in which the samples of a site are kept, and one path of each. */
#include "site_paths_print.h"

#include "options.h"
#include "path_print.h"
#include "root_json.h"

/* ---- JSON */

static void put_estimate(struct hs_json *json, const struct hs_site_paths *ways,
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

static void put_keepers(struct hs_json *json, const struct hs_site_paths *ways,
                        const struct hs_site_path *way)
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
    hs_json_string(json, "root", key < view->n_tree ? hs_site_path_keeper(ways, way) : NULL);
    hs_json_begin_array(json, "types", HS_JSON_LINE);
    for (size_t i = 0; i < n; i++)
        hs_json_string(json, NULL, i == HS_CHAIN_RUNS ? "..." : hs_site_path_type(ways, runs[i]));
    if (n > HS_CHAIN_RUNS)
        hs_json_string(json, NULL, hs_site_path_type(ways, runs[HS_CHAIN_RUNS]));
    hs_json_end_array(json);
}

static hs_status put_way(struct hs_json *json, struct hs_site_paths *ways,
                         const struct hs_site_path *way, struct hs_error *err)
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
    if (hs_site_path_is_reached(ways, way))
        status = hs_paths_to(ways->join->view, way->largest->node, 1, false, &paths, err);
    if (status == HS_OK && paths.n_paths != 0)
        status = hs_path_json(json, "path", ways->join->view, &paths, 0, err);
    else
        hs_json_null(json, "path");
    hs_paths_fini(&paths);
    hs_json_end_object(json);
    return status;
}

static hs_status print_json(struct hs_tool *tool, struct hs_site_paths *ways, struct hs_error *err)
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
        HS_TRY(put_way(&json, ways, &ways->paths[i], err));
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

static hs_status print_ndjson(struct hs_tool *tool, struct hs_site_paths *ways,
                              struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, HS_JSON_COMPACT);
    for (size_t i = 0; i < ways->n_shown; i++)
        HS_TRY(put_way(&json, ways, &ways->paths[i], err));
    return hs_json_finish(&json, err);
}

/* ---- table: the paths, then the path of one sample of each */

static const struct hs_column columns[] = {
    {"path", "PATH", HS_COLUMN_NUMBER, 0},
    {"estimated_words", "SAMPLED", HS_COLUMN_WORDS, HS_COLUMN_SUMMED},
    {"error_words", "+-", HS_COLUMN_WORDS, 0},
    {"share_percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY},
    {"n_samples", "SAMPLES", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
    {"n_blocks", "BLOCKS", HS_COLUMN_COUNT, HS_COLUMN_SUMMED | HS_COLUMN_SPARE(1)},
    {"example", "EXAMPLE", HS_COLUMN_NUMBER, 0},
    {"kept_by", "KEPT BY", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static void put_row(struct hs_sheet *sheet, const struct hs_site_paths *ways, size_t at)
{
    const struct hs_site_path *way = &ways->paths[at];
    bool is_weighted = ways->join->is_weighted;
    uint64_t words = hs_estimate_words(&way->estimate);
    char text[1024];
    hs_site_path_text(ways, way, text, sizeof text);
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
                            const struct hs_site_paths *ways, struct hs_error *err)
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

static hs_status put_example(struct hs_sheet *sheet, const struct hs_site_paths *ways, size_t at,
                             struct hs_error *err)
{
    const struct hs_site_path *way = &ways->paths[at];
    struct hs_paths paths = {0};
    if (!hs_site_path_is_reached(ways, way))
        return HS_OK;
    HS_TRY(hs_paths_to(ways->join->view, way->largest->node, 1, false, &paths, err));
    hs_status status = HS_OK;
    if (paths.n_paths != 0)
        status = hs_path_lines(sheet, ways->join->view, at, &paths, 0, err);
    hs_paths_fini(&paths);
    return status;
}

static hs_status print_examples(struct hs_tool *tool, const struct hs_invocation *inv,
                                const struct hs_site_paths *ways, struct hs_error *err)
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

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv,
                       struct hs_site_paths *ways, struct hs_error *err)
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
                              struct hs_sample_join *join, const char *name, uint64_t limit,
                              struct hs_error *err)
{
    struct hs_site_paths ways;
    HS_TRY(hs_site_paths_find(join, name, limit, &ways, err));
    hs_status status = print(tool, inv, &ways, err);
    hs_site_paths_fini(&ways);
    return status;
}
