/* The cross table as table, JSON and TSV. */
#include "sample_groups_print.h"

#include "options.h"
#include "root_json.h"
#include "sampled_whole_print.h"
#include "site_print.h"

/* The frame that gave a place its name. */
static hs_status put_place(struct hs_json *json, struct hs_sample_join *join, uint32_t site,
                           struct hs_error *err)
{
    const struct hs_frame *frames;
    size_t n = 0;
    if (site != HS_NO_SITE)
        HS_TRY(hs_sample_join_frames(join, site, &frames, &n, err));
    if (n != 0)
        hs_frame_json(json, "site", &frames[hs_site_frame_at(frames, n)]);
    else
        hs_json_null(json, "site");
    return hs_sample_join_site_json(json, "backtrace", join, site, err);
}

static void put_estimate(struct hs_json *json, const struct hs_sample_join *join,
                         const struct hs_estimate *estimate, uint64_t words)
{
    if (join->is_weighted) {
        hs_json_u64(json, "estimated_words", words);
        hs_json_u64(json, "error_words", hs_estimate_error_words(estimate));
    } else {
        hs_json_null(json, "estimated_words");
        hs_json_null(json, "error_words");
    }
    hs_json_u64(json, "n_samples", estimate->n_samples);
    hs_json_u64(json, "n_blocks", estimate->n_blocks);
}

static hs_status put_group(struct hs_json *json, struct hs_sample_join *join, unsigned keys,
                           const struct hs_sample_groups *groups,
                           const struct hs_sample_group *group, struct hs_error *err)
{
    const struct hs_view *view = join->view;
    uint64_t words = hs_estimate_words(&group->estimate);
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    put_estimate(json, join, &group->estimate, words);
    if (join->is_weighted)
        hs_json_percent(json, "share_percent", words, groups->total_words);
    else
        hs_json_percent(json, "share_percent", group->estimate.n_samples, groups->total.n_samples);
    hs_json_string(json, "sampler", hs_sampler_kind_name(join->samplers[group->sampler].kind));
    if (keys & HS_BIT(HS_KEY_SITE)) {
        HS_TRY(put_place(json, join, group->site, err));
        hs_json_u64(json, "n_backtraces", group->n_sites);
    }
    if (keys & HS_BIT(HS_KEY_ROOT)) {
        bool is_root = group->keeper == HS_KEEPER_ROOT;
        hs_json_string(json, "keeper", hs_keeper_name(group->keeper));
        hs_json_node(json, "root_id", is_root ? group->root : HS_NO_NODE);
        hs_json_string(json, "root",
                       is_root ? hs_keeper_text(view, group->keeper, group->root) : NULL);
        hs_json_string(json, "kind",
                       is_root ? hs_root_kind_name(hs_snap_root(view->snap, group->root)->kind)
                               : NULL);
    }
    if (keys & HS_BIT(HS_KEY_TYPE)) {
        bool is_known = group->type != UINT32_MAX;
        hs_json_string(json, "type",
                       is_known ? hs_view_string(view, hs_snap_type(view->snap, group->type)->name)
                                : NULL);
    }
    hs_json_end_object(json);
    return HS_OK;
}

static void put_keys(struct hs_json *json, unsigned keys)
{
    static const char *const names[HS_N_SAMPLE_KEYS] = {"site", "root", "type"};
    hs_json_begin_array(json, "group_by", HS_JSON_LINE);
    for (unsigned i = 0; i < HS_N_SAMPLE_KEYS; i++)
        if (keys & HS_BIT(i))
            hs_json_string(json, NULL, names[i]);
    hs_json_end_array(json);
}

static hs_status print_json(struct hs_tool *tool, struct hs_sample_join *join, unsigned keys,
                            const struct hs_sample_groups *groups, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.samples-groups/1");
    hs_json_string(&json, "snapshot", join->view->path);
    hs_json_string(&json, "trace", join->path);
    put_keys(&json, keys);
    hs_json_string(&json, "certainty", hs_certainty_name(HS_SAMPLED));
    HS_TRY(hs_sampled_wholes_json(&json, join, err));
    hs_json_begin_array(&json, "groups", HS_JSON_BLOCK);
    for (size_t i = 0; i < groups->n; i++)
        HS_TRY(put_group(&json, join, keys, groups, &groups->groups[i], err));
    hs_json_end_array(&json);
    hs_json_begin_object(&json, "others", HS_JSON_LINE);
    hs_json_u64(&json, "count", groups->n_others);
    put_estimate(&json, join, &groups->others, groups->others_words);
    hs_json_end_object(&json);
    hs_json_begin_object(&json, "total", HS_JSON_LINE);
    put_estimate(&json, join, &groups->total, groups->total_words);
    hs_json_end_object(&json);
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

static hs_status print_ndjson(struct hs_tool *tool, struct hs_sample_join *join, unsigned keys,
                              const struct hs_sample_groups *groups, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, HS_JSON_COMPACT);
    for (size_t i = 0; i < groups->n; i++)
        HS_TRY(put_group(&json, join, keys, groups, &groups->groups[i], err));
    return hs_json_finish(&json, err);
}

/* ---- table: the columns that are asked for, in this order */

enum { WORDS, ERROR, SHARE, SAMPLES, BLOCKS, SAMPLER, TYPE, ROOT, SITE, N_COLUMNS };

static const struct hs_column all_columns[N_COLUMNS] = {
    [WORDS] = {"estimated_words", "SAMPLED", HS_COLUMN_WORDS, HS_COLUMN_SUMMED},
    [ERROR] = {"error_words", "+-", HS_COLUMN_WORDS, 0},
    [SHARE] = {"share_percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY},
    [SAMPLES] = {"n_samples", "SAMPLES", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
    [BLOCKS] = {"n_blocks", "BLOCKS", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
    [SAMPLER] = {"sampler", "SAMPLER", HS_COLUMN_STRING, 0},
    [TYPE] = {"type", "TYPE", HS_COLUMN_STRING, 0},
    [ROOT] = {"root", "RETAINED BY", HS_COLUMN_STRING, 0},
    [SITE] = {"site", "ALLOCATED BY", HS_COLUMN_STRING, 0},
};

static bool has_column(const struct hs_sample_join *join, unsigned keys, unsigned column,
                       bool is_table)
{
    switch (column) {
    case WORDS:
    case ERROR:
        return join->is_weighted || !is_table;
    case SAMPLER:
        return !is_table || join->has_several;
    case TYPE:
        return keys >> HS_KEY_TYPE & 1;
    case ROOT:
        return keys >> HS_KEY_ROOT & 1;
    case SITE:
        return keys >> HS_KEY_SITE & 1;
    default:
        return true;
    }
}

static void put_number(struct hs_sheet *sheet, bool is_known, uint64_t value)
{
    if (is_known)
        hs_sheet_u64(sheet, value);
    else
        hs_sheet_null(sheet);
}

static void put_cell(struct hs_sheet *sheet, const struct hs_sample_join *join, unsigned column,
                     const struct hs_sample_group *group)
{
    const struct hs_view *view = join->view;
    const struct hs_estimate *estimate = &group->estimate;
    switch (column) {
    case WORDS:
        put_number(sheet, join->is_weighted, hs_estimate_words(estimate));
        break;
    case ERROR:
        put_number(sheet, join->is_weighted, hs_estimate_error_words(estimate));
        break;
    case SHARE:
        hs_sheet_u64(sheet, join->is_weighted ? hs_estimate_words(estimate) : estimate->n_samples);
        break;
    case SAMPLES:
        hs_sheet_u64(sheet, estimate->n_samples);
        break;
    case BLOCKS:
        hs_sheet_u64(sheet, estimate->n_blocks);
        break;
    case SAMPLER:
        hs_sheet_string(sheet, hs_sampler_kind_name(join->samplers[group->sampler].kind));
        break;
    case TYPE:
        hs_sheet_string(sheet,
                        group->type == UINT32_MAX
                            ? "[not in the heap]"
                            : hs_view_string(view, hs_snap_type(view->snap, group->type)->name));
        break;
    case ROOT:
        hs_sheet_string(sheet, hs_keeper_text(view, group->keeper, group->root));
        break;
    default:
        hs_sheet_string(sheet, hs_sample_join_place_text(join, group->place));
    }
}

static uint64_t sum_of_others(const struct hs_sample_join *join, unsigned column,
                              const struct hs_sample_groups *groups)
{
    switch (column) {
    case WORDS:
        return groups->others_words;
    case SHARE:
        return join->is_weighted ? groups->others_words : groups->others.n_samples;
    case SAMPLES:
        return groups->others.n_samples;
    case BLOCKS:
        return groups->others.n_blocks;
    default:
        return 0;
    }
}

static hs_status print_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                             const struct hs_sample_join *join, unsigned keys,
                             const struct hs_sample_groups *groups, struct hs_error *err)
{
    struct hs_column columns[N_COLUMNS];
    unsigned which[N_COLUMNS], n = 0;
    uint64_t sums[N_COLUMNS];
    uint64_t whole = join->is_weighted ? groups->total_words : groups->total.n_samples;
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, whole);
    options.word_bytes = join->view->facts->word_bytes;
    for (unsigned i = 0; i < N_COLUMNS; i++) {
        if (!has_column(join, keys, i, options.format == HS_SHEET_TABLE))
            continue;
        sums[n] = sum_of_others(join, i, groups);
        columns[n] = all_columns[i];
        which[n++] = i;
    }
    if (columns[n - 1].kind == HS_COLUMN_STRING)
        columns[n - 1].flags |= HS_COLUMN_FLEXIBLE;
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, n, &options, err));
    for (size_t i = 0; i < groups->n; i++)
        for (unsigned j = 0; j < n; j++)
            put_cell(&sheet, join, which[j], &groups->groups[i]);
    if (groups->n_others != 0)
        hs_sheet_fold(&sheet, groups->n_others, sums);
    hs_status status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv,
                       struct hs_sample_join *join, unsigned keys,
                       const struct hs_sample_groups *groups, struct hs_error *err)
{
    switch (hs_tool_format(inv)) {
    case HS_FORMAT_JSON:
        return print_json(tool, join, keys, groups, err);
    case HS_FORMAT_NDJSON:
        return print_ndjson(tool, join, keys, groups, err);
    case HS_FORMAT_TABLE:
        HS_TRY(hs_sampled_wholes_print(tool, join, err));
        break;
    case HS_FORMAT_TSV:
        break;
    }
    return print_sheet(tool, inv, join, keys, groups, err);
}

hs_status hs_sample_groups_print(struct hs_tool *tool, const struct hs_invocation *inv,
                                 struct hs_sample_join *join, unsigned keys, struct hs_error *err)
{
    struct hs_sample_groups groups = {0};
    const struct hs_sample_query query = {
        .keys = keys,
        .min_words = inv->number[HS_OPT_MIN_WORDS],
        .max_rows = hs_tool_rows(inv),
    };
    HS_TRY(hs_sample_groups_find(join, &query, &groups, err));
    hs_status status = print(tool, inv, join, keys, &groups, err);
    hs_sample_groups_fini(&groups);
    return status;
}
