/* The cross table as table, JSON and TSV. */
#include "sample_groups_print.h"

#include "options.h"
#include "sampled_whole_print.h"
#include "site_print.h"

struct line {
    const char *sampler, *keeper, *root, *kind, *type, *type_text, *keeper_text, *place;
    uint64_t estimated_words, error_words, n_samples, n_blocks, share, n_backtraces, root_id;
    const struct hs_list *site, *backtrace;
};

#define KEY_BIT(key) (1U << (key)) /* of enum hs_sample_key */

/* Fields and columns of what the samples are grouped by stand only when it is asked for. */
#define HS_ROW struct line
static const struct field {
    struct hs_field field;
    unsigned keys; /* 0: always */
} all_fields[] = {
    {HS_COLUMN(1, WORDS, estimated_words, "SAMPLED", HS_COLUMN_SUMMED), 0},
    {HS_COLUMN(2, WORDS, error_words, "+-", HS_COLUMN_NARROW(1)), 0},
    {HS_COLUMN(4, COUNT, n_samples, "SAMPLES", HS_COLUMN_SUMMED | HS_COLUMN_NARROW(2)), 0},
    {HS_COLUMN(5, COUNT, n_blocks, "BLOCKS", HS_COLUMN_SUMMED | HS_COLUMN_SPARE(1)), 0},
    {HS_FIELD_AS("share_percent", PERCENT, share), 0},
    {HS_COLUMN_AS("share_percent", 3, PERCENT, share, "%",
                  HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS | HS_COLUMN_TABLE_ONLY),
     0},
    {HS_COLUMN(6, STRING, sampler, "SAMPLER", 0), 0},
    {HS_FIELD(ONE, site), KEY_BIT(HS_KEY_SITE)},
    {HS_FIELD(LIST, backtrace), KEY_BIT(HS_KEY_SITE)},
    {HS_FIELD(COUNT, n_backtraces), KEY_BIT(HS_KEY_SITE)},
    {HS_FIELD(STRING, keeper), KEY_BIT(HS_KEY_ROOT)},
    {HS_FIELD(NODE, root_id), KEY_BIT(HS_KEY_ROOT)},
    {HS_FIELD(STRING, root), KEY_BIT(HS_KEY_ROOT)},
    {HS_FIELD(STRING, kind), KEY_BIT(HS_KEY_ROOT)},
    {HS_FIELD(STRING, type), KEY_BIT(HS_KEY_TYPE)},
    {HS_COLUMN_AS("type", 7, STRING, type_text, "TYPE", HS_COLUMN_SHRINKS | HS_COLUMN_NOT_JSON),
     KEY_BIT(HS_KEY_TYPE)},
    {HS_COLUMN_AS("root", 8, STRING, keeper_text, "RETAINED BY",
                  HS_COLUMN_SHRINKS | HS_COLUMN_NOT_JSON),
     KEY_BIT(HS_KEY_ROOT)},
    {HS_COLUMN_AS("site", 9, STRING, place, "ALLOCATED BY", HS_COLUMN_NOT_JSON),
     KEY_BIT(HS_KEY_SITE)},
};
enum { N_FIELDS = sizeof all_fields / sizeof *all_fields };

struct listing {
    struct hs_sample_join *join;
    unsigned keys;
    struct hs_sample_groups groups;
};

static bool is_shown(const struct hs_sample_join *join, const struct hs_field *field)
{
    if (field->column == 1 || field->column == 2)
        return join->is_weighted;
    return field->column != 6 || join->has_several;
}

/* The fields that are asked for; the last column gets the width that is left. */
static size_t choose_fields(const struct listing *listing, struct hs_field *fields)
{
    size_t n = 0, last = 0;
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (all_fields[i].keys != 0 && (all_fields[i].keys & listing->keys) == 0)
            continue;
        fields[n] = all_fields[i].field;
        if (!is_shown(listing->join, &fields[n]))
            fields[n].cell.flags |= HS_COLUMN_DATA_ONLY;
        if (fields[n].column > fields[last].column)
            last = n;
        n++;
    }
    fields[last].cell.flags |= HS_COLUMN_FLEXIBLE;
    return n;
}

static struct line line_of(const struct hs_sample_join *join, const struct hs_estimate *estimate,
                           uint64_t words)
{
    return (struct line){
        .estimated_words = join->is_weighted ? words : HS_UNKNOWN,
        .error_words = join->is_weighted ? hs_estimate_error_words(estimate) : HS_UNKNOWN,
        .n_samples = estimate->n_samples,
        .n_blocks = estimate->n_blocks,
        .share = join->is_weighted ? words : estimate->n_samples,
    };
}

static hs_status put_group(struct hs_sink *sink, const struct listing *listing,
                           const struct hs_sample_group *group, struct hs_error *err)
{
    struct hs_sample_join *join = listing->join;
    const struct hs_view *view = join->view;
    struct hs_site_of of = {join, group->site};
    const struct hs_list site = {.each = hs_site_frame, .context = &of};
    const struct hs_list frames = {.each = hs_site_frames, .context = &of, .is_line = true};
    bool by_root = (listing->keys & KEY_BIT(HS_KEY_ROOT)) != 0;
    bool is_root = by_root && group->keeper == HS_KEEPER_ROOT;
    const char *keeper = by_root ? hs_keeper_text(view, group->keeper, group->root) : NULL;
    struct line line = line_of(join, &group->estimate, hs_estimate_words(&group->estimate));
    if (group->type != UINT32_MAX)
        line.type = hs_view_string(view, hs_snap_type(view->snap, group->type)->name);
    line.type_text = line.type == NULL ? "[not in the heap]" : line.type;
    line.sampler = hs_sampler_kind_name(join->samplers[group->sampler].kind);
    line.site = &site;
    line.backtrace = of.site != HS_NO_SITE ? &frames : NULL;
    line.n_backtraces = group->n_sites;
    line.keeper = hs_keeper_name(group->keeper);
    line.root_id = is_root ? group->root : HS_NO_NODE;
    line.root = is_root ? keeper : NULL;
    line.kind = is_root ? hs_root_kind_name(hs_snap_root(view->snap, group->root)->kind) : NULL;
    line.keeper_text = keeper;
    line.place = hs_sample_join_place_text(join, group->place);
    return hs_sink_row(sink, &line, err);
}

static hs_status put_groups(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listing *listing = context;
    const struct hs_sample_groups *groups = &listing->groups;
    struct line others = line_of(listing->join, &groups->others, groups->others_words);
    for (size_t i = 0; i < groups->n; i++)
        HS_TRY(put_group(sink, listing, &groups->groups[i], err));
    hs_sink_others(sink, groups->n_others, &others);
    return HS_OK;
}

static hs_status put_keys(void *context, struct hs_sink *sink, struct hs_error *err)
{
    static const char *const names[HS_N_SAMPLE_KEYS] = {"site", "root", "type"};
    const struct listing *listing = context;
    for (unsigned i = 0; i < HS_N_SAMPLE_KEYS; i++)
        if (listing->keys & KEY_BIT(i))
            HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_TEXT(NULL, names[i])), err));
    return HS_OK;
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv,
                       struct listing *listing, struct hs_error *err)
{
    struct hs_sample_join *join = listing->join;
    const struct hs_sample_groups *groups = &listing->groups;
    struct hs_field fields[N_FIELDS];
    const struct hs_record record = {fields, choose_fields(listing, fields)};
    struct line others = line_of(join, &groups->others, groups->others_words);
    struct line total = line_of(join, &groups->total, groups->total_words);
    const struct hs_list list = {.record = &record, .each = put_groups, .context = listing};
    const struct hs_list keys = {.each = put_keys, .context = listing, .is_line = true};
    const struct hs_list samplers = {.each = hs_sampled_wholes_rows, .context = join};
    const struct hs_listing all = {
        .rows = &list,
        .word_bytes = join->view->facts->word_bytes,
        .whole = join->is_weighted ? groups->total_words : groups->total.n_samples,
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.samples-groups/1"), HS_TEXT("snapshot", join->view->path),
            HS_TEXT("trace", join->path), HS_ROWS("group_by", &keys),
            HS_TEXT("certainty", hs_certainty_name(HS_SAMPLED)), HS_ROWS("samplers", &samplers),
            HS_ROWS("groups", &list), HS_OBJECT("others"), HS_COUNT("count", groups->n_others),
            HS_COUNT("estimated_words", others.estimated_words),
            HS_COUNT("error_words", others.error_words), HS_COUNT("n_samples", others.n_samples),
            HS_COUNT("n_blocks", others.n_blocks), HS_END, HS_OBJECT("total"),
            HS_COUNT("estimated_words", total.estimated_words),
            HS_COUNT("error_words", total.error_words), HS_COUNT("n_samples", total.n_samples),
            HS_COUNT("n_blocks", total.n_blocks), HS_END),
    };
    if (hs_tool_format(inv) == HS_FORMAT_TABLE)
        HS_TRY(hs_sampled_wholes_print(tool, join, err));
    return hs_tool_list(tool, inv, &all, err);
}

hs_status hs_sample_groups_print(struct hs_tool *tool, const struct hs_invocation *inv,
                                 struct hs_sample_join *join, unsigned keys, struct hs_error *err)
{
    struct listing listing = {.join = join, .keys = keys};
    const struct hs_sample_query query = {
        .keys = keys,
        .min_words = hs_tool_min_words(inv, join->view->facts->word_bytes),
        .max_rows = hs_tool_rows(inv),
    };
    HS_TRY(hs_sample_groups_find(join, &query, &listing.groups, err));
    hs_status status = print(tool, inv, &listing, err);
    hs_sample_groups_fini(&listing.groups);
    return status;
}
