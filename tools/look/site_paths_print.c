/* The ways in which the samples of a site are kept, and all their paths as one tree. */
#include "site_paths_print.h"

#include "base/alloc.h"
#include "options.h"
#include "path_print.h"
#include "path_tree_print.h"
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

static hs_status print_json(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_site_paths *ways, const struct hs_path_tree_shown *shown,
                            struct hs_error *err)
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
    HS_TRY(hs_path_tree_json(&json, "tree", shown, hs_tool_rows(inv), err));
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

/* ---- TSV: a row for each way */

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

/* ---- the tree */

/* The merged paths of all samples, and by node of the tree what they stand for. */
struct sampled_tree {
    struct hs_path_tree tree;
    struct hs_path_tree_target *targets; /* owned */
    struct hs_estimate *estimates;       /* owned */
    struct hs_path_tree_sums *sums;      /* owned */
    uint64_t *errors, *examples;         /* owned */
    struct hs_path_tree_shown shown;
};

static void tree_fini(struct sampled_tree *t)
{
    hs_path_tree_fini(&t->tree);
    hs_free(t->targets);
    hs_free(t->estimates);
    hs_free(t->sums);
    hs_free(t->errors);
    hs_free(t->examples);
}

static hs_status find_targets(struct sampled_tree *t, const struct hs_site_paths *ways,
                              struct hs_error *err)
{
    struct hs_view *view = ways->join->view;
    hs_auto_free hs_node *nodes = NULL;
    hs_auto_free struct hs_node_facts *facts = NULL;
    HS_TRY(HS_ALLOC(&nodes, ways->n_samples, err));
    HS_TRY(HS_ALLOC(&facts, ways->n_samples, err));
    HS_TRY(HS_ALLOC(&t->targets, ways->n_samples, err));
    for (size_t i = 0; i < ways->n_samples; i++)
        nodes[i] = ways->samples[i]->node;
    HS_TRY(hs_view_facts_of(view, nodes, ways->n_samples, facts, err));
    for (size_t i = 0; i < ways->n_samples; i++) {
        bool is_untyped = nodes[i] != HS_NO_NODE &&
                          hs_snap_type(view->snap, facts[i].type)->form == HS_FORM_BYTES;
        t->targets[i] = (struct hs_path_tree_target){
            .node = nodes[i],
            .words = ways->samples[i]->words,
            .objects = 1,
            .type = is_untyped ? HS_PATH_TREE_UNTYPED : facts[i].type,
        };
    }
    return HS_OK;
}

/* The largest sample below each node. */
static void choose_example(struct sampled_tree *t, uint64_t *words, uint32_t node, uint64_t n_words,
                           uint64_t id)
{
    if (t->sums[node].objects != 0 && words[node] >= n_words)
        return;
    words[node] = n_words;
    t->examples[node] = id;
}

static void sum_closing(const struct hs_estimate *estimate, struct hs_path_tree_sums *ret)
{
    ret->objects = estimate->n_samples;
    ret->words = hs_estimate_words(estimate);
}

static hs_status sum_up(struct sampled_tree *t, const struct hs_site_paths *ways,
                        struct hs_error *err)
{
    const struct hs_path_tree *tree = &t->tree;
    struct hs_estimate unreached = {0}, gone = {0};
    hs_auto_free uint64_t *words = NULL;
    HS_TRY(HS_ALLOC(&words, tree->n, err));
    HS_TRY(HS_ALLOC(&t->estimates, tree->n, err));
    HS_TRY(HS_ALLOC(&t->sums, tree->n, err));
    HS_TRY(HS_ALLOC(&t->errors, tree->n, err));
    HS_TRY(HS_ALLOC(&t->examples, tree->n, err));
    for (size_t i = 0; i < ways->n_samples; i++) {
        const struct hs_sample *sample = ways->samples[i];
        uint32_t end = tree->of_target[i];
        struct hs_estimate *estimate = end != HS_PATH_TREE_NONE     ? &t->estimates[end]
                                       : sample->node == HS_NO_NODE ? &gone
                                                                    : &unreached;
        hs_estimate_add(estimate, hs_sample_join_sampler(ways->join, sample), sample);
        if (end == HS_PATH_TREE_NONE)
            continue;
        choose_example(t, words, end, sample->words, sample->id);
        t->sums[end].objects = 1; /* so that it counts as chosen */
    }
    for (size_t i = tree->n; i-- > 0;) {
        uint32_t parent = tree->nodes[i].parent;
        t->sums[i].objects = t->estimates[i].n_samples;
        t->sums[i].words = hs_estimate_words(&t->estimates[i]);
        t->errors[i] = hs_estimate_error_words(&t->estimates[i]);
        if (parent == HS_PATH_TREE_NONE || t->sums[i].objects == 0)
            continue;
        hs_estimate_join(&t->estimates[parent], &t->estimates[i]);
        choose_example(t, words, parent, words[i], t->examples[i]);
        t->sums[parent].objects = 1;
    }
    sum_closing(&unreached, &t->shown.unreached);
    sum_closing(&gone, &t->shown.gone);
    return HS_OK;
}

static hs_status tree_find(const struct hs_site_paths *ways, struct sampled_tree *t,
                           struct hs_error *err)
{
    struct hs_view *view = ways->join->view;
    HS_TRY(find_targets(t, ways, err));
    HS_TRY(hs_path_tree_make(view, t->targets, ways->n_samples, &t->tree, err));
    HS_TRY(sum_up(t, ways, err));
    t->shown.view = view;
    t->shown.tree = &t->tree;
    t->shown.sums = t->sums;
    t->shown.extra.examples = t->examples;
    t->shown.extra.error_words = ways->join->is_weighted ? t->errors : NULL;
    return HS_OK;
}

static hs_status print_heading(struct hs_tool *tool, const struct hs_site_paths *ways,
                               struct hs_error *err)
{
    HS_TRY(hs_tool_print_clean(tool, ways->name, err));
    HS_TRY(hs_print(&tool->out, err, ": %lu samples", (unsigned long)ways->total.n_samples));
    if (ways->join->is_weighted)
        HS_TRY(hs_print(&tool->out, err, " that stand for %lu words, +- %lu",
                        (unsigned long)ways->total_words,
                        (unsigned long)hs_estimate_error_words(&ways->total)));
    return hs_print(&tool->out, err, "\n");
}

static hs_status print_tree(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_site_paths *ways, struct hs_error *err)
{
    struct sampled_tree t = {0};
    hs_status status = tree_find(ways, &t, err);
    if (status == HS_OK && hs_tool_format(inv) == HS_FORMAT_JSON)
        status = print_json(tool, inv, ways, &t.shown, err);
    else if (status == HS_OK)
        status = print_heading(tool, ways, err);
    if (status == HS_OK && hs_tool_format(inv) == HS_FORMAT_TABLE)
        status = hs_path_tree_rows(tool, inv, &t.shown, err);
    tree_fini(&t);
    return status;
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv,
                       struct hs_site_paths *ways, struct hs_error *err)
{
    switch (hs_tool_format(inv)) {
    case HS_FORMAT_NDJSON:
        return print_ndjson(tool, ways, err);
    case HS_FORMAT_TSV:
        return print_ways(tool, inv, ways, err);
    case HS_FORMAT_JSON:
    case HS_FORMAT_TABLE:
        break;
    }
    return print_tree(tool, inv, ways, err);
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
