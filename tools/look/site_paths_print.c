/* The ways in which the samples of a site are kept, and all their paths as one tree. */
#include "site_paths_print.h"

#include "base/alloc.h"
#include "options.h"
#include "path_print.h"
#include "path_tree_print.h"

/* ---- a row for each way */

struct line {
    uint64_t path_number, estimated_words, error_words, n_samples, n_blocks, share, root_id;
    uint64_t example, example_id;
    const char *sampler, *keeper, *root, *kept_by;
    const struct hs_list *types, *path;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN_AS("path", 1, NUMBER, path_number, "PATH", HS_COLUMN_NOT_JSON),
    HS_COLUMN(2, WORDS, estimated_words, "SAMPLED", 0),
    HS_COLUMN(3, WORDS, error_words, "+-", 0),
    HS_COLUMN(4, COUNT, n_samples, "SAMPLES", 0),
    HS_COLUMN(5, COUNT, n_blocks, "BLOCKS", 0),
    HS_FIELD_AS("share_percent", PERCENT, share),
    HS_FIELD(STRING, sampler),
    HS_FIELD(STRING, keeper),
    HS_FIELD(NODE, root_id),
    HS_FIELD(STRING, root),
    HS_FIELD(LIST, types),
    HS_COLUMN(6, NUMBER, example, "EXAMPLE", 0),
    HS_FIELD(NODE, example_id),
    HS_FIELD(ONE, path),
    HS_COLUMN(7, STRING, kept_by, "KEPT BY", HS_COLUMN_FLEXIBLE | HS_COLUMN_NOT_JSON),
};
static const struct hs_record record = HS_RECORD(fields);

struct way {
    struct hs_site_paths *ways;
    const struct hs_site_path *way;
};

static hs_status put_types(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct way *of = context;
    uint32_t runs[HS_CHAIN_RUNS + 1];
    size_t n =
        of->way->chain == HS_NO_CHAIN ? 0 : hs_chain_runs(&of->ways->chains, of->way->chain, runs);
    for (size_t i = 0; i < n; i++) {
        const char *type = i == HS_CHAIN_RUNS ? "..." : hs_site_path_type(of->ways, runs[i]);
        HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_TEXT(NULL, type)), err));
    }
    if (n <= HS_CHAIN_RUNS)
        return HS_OK;
    const char *last = hs_site_path_type(of->ways, runs[HS_CHAIN_RUNS]);
    return hs_sink_pairs(sink, HS_PAIRS(HS_TEXT(NULL, last)), err);
}

static hs_status put_path(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct way *of = context;
    struct hs_view *view = of->ways->join->view;
    struct hs_paths paths = {0};
    if (!hs_site_path_is_reached(of->ways, of->way))
        return HS_OK;
    hs_status status = hs_paths_to(view, of->way->largest->node, 1, false, &paths, err);
    if (status == HS_OK && paths.n_paths != 0)
        status = hs_path_put(sink, view, &paths, 0, err);
    hs_paths_fini(&paths);
    return status;
}

static hs_status put_way(struct hs_sink *sink, struct hs_site_paths *ways, size_t at,
                         struct hs_error *err)
{
    const struct hs_site_path *way = &ways->paths[at];
    const struct hs_view *view = ways->join->view;
    bool is_weighted = ways->join->is_weighted;
    uint64_t words = hs_estimate_words(&way->estimate), key = view->n_tree;
    struct way context = {ways, way};
    const struct hs_list types = {.each = put_types, .context = &context, .is_line = true};
    const struct hs_list path = {.each = put_path, .context = &context, .is_block = true};
    char text[1024];
    uint32_t runs[HS_CHAIN_RUNS + 1];
    if (way->chain != HS_NO_CHAIN && hs_chain_runs(&ways->chains, way->chain, runs) != 0)
        key = hs_chain_first(&ways->chains, way->chain)->key;
    hs_site_path_text(ways, way, text, sizeof text);
    const struct line line = {
        .path_number = at + 1,
        .estimated_words = is_weighted ? words : HS_UNKNOWN,
        .error_words = is_weighted ? hs_estimate_error_words(&way->estimate) : HS_UNKNOWN,
        .n_samples = way->estimate.n_samples,
        .n_blocks = way->estimate.n_blocks,
        .share = is_weighted ? words : way->estimate.n_samples,
        .sampler = hs_sampler_kind_name(ways->join->samplers[way->sampler].kind),
        .keeper = key < view->n_tree          ? "root"
                  : way->chain == HS_NO_CHAIN ? "not_in_heap"
                                              : (key == view->n_tree ? "shared" : "unreached"),
        .root_id = key < view->n_tree ? key : HS_NO_NODE,
        .root = key < view->n_tree ? hs_site_path_keeper(ways, way) : NULL,
        .types = &types,
        .example = way->largest->id,
        .example_id = way->largest->node,
        .path = &path,
        .kept_by = text,
    };
    return hs_sink_row(sink, &line, err);
}

static hs_status put_ways(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct hs_site_paths *ways = context;
    for (size_t i = 0; i < ways->n_shown; i++)
        HS_TRY(put_way(sink, ways, i, err));
    return HS_OK;
}

/* JSON with the members of the tree, NDJSON and TSV. */
static hs_status print_ways(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_site_paths *ways, const struct hs_pair *tree,
                            struct hs_error *err)
{
    const struct hs_estimate *others = &ways->others, *total = &ways->total;
    bool is_weighted = ways->join->is_weighted;
    const struct hs_list list = {
        .record = &record, .each = put_ways, .context = ways, .is_block = true};
    const struct hs_listing listing = {
        .rows = &list,
        .word_bytes = ways->join->view->facts->word_bytes,
        .whole = is_weighted ? ways->total_words : total->n_samples,
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.site-paths/1"), HS_TEXT("snapshot", ways->join->view->path),
            HS_TEXT("trace", ways->join->path), HS_TEXT("site", ways->name),
            HS_TEXT("certainty", hs_certainty_name(HS_SAMPLED)), HS_ROWS("paths", &list),
            HS_OBJECT("others"), HS_COUNT("count", ways->n - ways->n_shown),
            HS_COUNT("estimated_words", is_weighted ? ways->others_words : HS_UNKNOWN),
            HS_COUNT("error_words", is_weighted ? hs_estimate_error_words(others) : HS_UNKNOWN),
            HS_COUNT("n_samples", others->n_samples), HS_COUNT("n_blocks", others->n_blocks),
            HS_END, HS_OBJECT("total"),
            HS_COUNT("estimated_words", is_weighted ? ways->total_words : HS_UNKNOWN),
            HS_COUNT("error_words", is_weighted ? hs_estimate_error_words(total) : HS_UNKNOWN),
            HS_COUNT("n_samples", total->n_samples), HS_COUNT("n_blocks", total->n_blocks), HS_END,
            HS_SPLICE(tree)),
    };
    return hs_tool_list(tool, inv, &listing, err);
}

static hs_status print_json(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_site_paths *ways, const struct hs_path_tree_shown *shown,
                            struct hs_error *err)
{
    struct hs_path_tree_pairs tree;
    HS_TRY(hs_path_tree_pairs_init(shown, hs_tool_rows(inv), &tree, err));
    hs_status status = print_ways(tool, inv, ways, tree.members, err);
    hs_path_tree_pairs_fini(&tree);
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
        status = hs_path_tree_print(tool, inv, &t.shown, err);
    tree_fini(&t);
    return status;
}

hs_status hs_site_paths_print(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_sample_join *join, const char *name, uint64_t limit,
                              struct hs_error *err)
{
    struct hs_site_paths ways;
    HS_TRY(hs_site_paths_find(join, name, limit, &ways, err));
    enum hs_format format = hs_tool_format(inv);
    bool has_tree = format == HS_FORMAT_TABLE || format == HS_FORMAT_JSON;
    hs_status status = has_tree ? print_tree(tool, inv, &ways, err)
                                : print_ways(tool, inv, &ways, HS_NO_PAIRS, err);
    hs_site_paths_fini(&ways);
    return status;
}
