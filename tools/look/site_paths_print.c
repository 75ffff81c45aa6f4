/* The ways in which the samples of a site are kept, and all their paths as one tree. */
#include "site_paths_print.h"

#include "analysis/sampled_tree.h"
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
    HS_COLUMN(3, WORDS, error_words, "+-", HS_COLUMN_NARROW(1)),
    HS_COLUMN(4, COUNT, n_samples, "SAMPLES", HS_COLUMN_NARROW(2)),
    HS_COLUMN(5, COUNT, n_blocks, "BLOCKS", HS_COLUMN_NARROW(3)),
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
        status = hs_path_put(sink, view, &paths, 0, /* with_why= */ false, err);
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

static hs_status print_heading(struct hs_tool *tool, const struct hs_site_paths *ways,
                               struct hs_error *err)
{
    char size[HS_SIZE_TEXT_BYTES], error[HS_SIZE_TEXT_BYTES];
    unsigned word_bytes = ways->join->view->facts->word_bytes;
    HS_TRY(hs_tool_print_clean(tool, ways->name, err));
    HS_TRY(hs_print(&tool->out, err, ": %lu samples", (unsigned long)ways->total.n_samples));
    if (ways->join->is_weighted)
        HS_TRY(hs_print(
            &tool->out, err, " that stand for %s, +- %s",
            hs_tool_size(tool, ways->total_words, word_bytes, size),
            hs_tool_amount(tool, hs_estimate_error_words(&ways->total), word_bytes, error)));
    return hs_print(&tool->out, err, "\n");
}

static hs_status print_tree(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_site_paths *ways, struct hs_error *err)
{
    struct hs_sampled_tree tree;
    HS_TRY(hs_sampled_tree_find(ways, &tree, err));
    const struct hs_path_tree_shown shown = {
        .view = ways->join->view,
        .tree = &tree.tree,
        .sums = tree.sums,
        .extra = {.examples = tree.examples,
                  .error_words = ways->join->is_weighted ? tree.errors : NULL},
        .unreached = tree.unreached,
        .gone = tree.gone,
    };
    hs_status status;
    if (hs_tool_format(inv) == HS_FORMAT_JSON) {
        status = print_json(tool, inv, ways, &shown, err);
    } else {
        status = print_heading(tool, ways, err);
        if (status == HS_OK)
            status = hs_path_tree_print(tool, inv, &shown, err);
    }
    hs_sampled_tree_fini(&tree);
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
