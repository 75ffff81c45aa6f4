/* roots: reachable and retained words of every root, or of every group of roots. */
#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"
#include "analysis/leak_report.h"
#include "analysis/root_folds.h"
#include "analysis/root_name.h"
#include "analysis/type_family.h"
#include "base/alloc.h"
#include "base/append.h"
#include "commands.h"
#include "described.h"
#include "noun_fields.h"
#include "open_view.h"
#include "root_json.h"
#include "root_sites_print.h"
#include "sampled_whole_print.h"
#include "set_print.h"
#include "site_print.h"
#include "unread_print.h"
#include "what_if_print.h"

struct listing {
    struct hs_view view;
    struct hs_root_query query;
    struct hs_root_folds folds; /* of the query */
    struct hs_root_rows rows;
    struct hs_attribution attribution;
    unsigned least_percent; /* that are to be attributed */
    struct hs_what_if_answers what_if;
    struct hs_node_facts *values; /* owned: by row, what a variable leads to */
    bool has_types;               /* some of them are of a source type */
    bool has_sites;               /* of --sites */
    struct hs_sample_join join;
    struct hs_root_sites sites;
};

struct line {
    uint64_t cells[HS_ROOTS_N];
    const char *id, *type, *place;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_SHOWN(ROOTS, retained_words, 1, WORDS, "RETAINED", HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS),
    HS_SHOWN_AS(ROOTS, retained_words, "retained_percent", 2, PERCENT, "%",
                HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY),
    HS_SHOWN(ROOTS, reachable_words, 3, WORDS, "REACHABLE", HS_COLUMN_WEIGHS | HS_COLUMN_NARROW(1)),
    HS_COLUMN(4, STRING, id, "ID", 0),
    HS_SHOWN(ROOTS, kind, 5, STRING, "KIND", HS_COLUMN_SPARE(1)),
    HS_SHOWN(ROOTS, name, 6, STRING, "ROOT", HS_COLUMN_FLEXIBLE | HS_COLUMN_NAMES),
    HS_COLUMN(7, STRING, place, "WHERE", HS_COLUMN_SHRINKS | HS_COLUMN_PATH | HS_COLUMN_NARROW(2)),
    HS_COLUMN(8, STRING, type, "TYPE", HS_COLUMN_SHRINKS | HS_COLUMN_SPARE(2)),
};
const struct hs_record hs_roots_record = HS_RECORD(fields);
/* The last column is for where source types are known. */
static const struct hs_record record = {fields, sizeof fields / sizeof *fields - 1};

/* The type of what a variable leads to, without arguments of a constructor; NULL when it is not
 * known, or the row is no variable of one slot. */
static const char *type_of(const struct listing *listing, size_t at, char *text, size_t n)
{
    const struct hs_node_facts *value = &listing->values[at];
    if (value->node == HS_NO_NODE || !hs_type_is_source(&listing->view, value->type))
        return value->node == HS_NO_NODE || strncmp(value->label, "block ", 6) == 0 ? NULL
                                                                                    : value->label;
    hs_type_family_name(&listing->view, value->type, HS_TYPE_INSTANCE, text, n);
    return text;
}

static hs_status find_types(struct listing *listing, struct hs_error *err)
{
    const struct hs_root_rows *rows = &listing->rows;
    hs_auto_free hs_node *nodes = NULL;

    HS_TRY(HS_ALLOC(&nodes, rows->n_rows, err));
    HS_TRY(HS_ALLOC(&listing->values, rows->n_rows, err));
    for (size_t i = 0; i < rows->n_rows; i++)
        nodes[i] = hs_snap_root(listing->view.snap, rows->rows[i].node)->target;
    HS_TRY(hs_view_facts_of(&listing->view, nodes, rows->n_rows, listing->values, err));
    for (size_t i = 0; i < rows->n_rows && !listing->has_types; i++)
        listing->has_types =
            nodes[i] != HS_NO_NODE && hs_type_is_source(&listing->view, listing->values[i].type);
    return HS_OK;
}

/* Puts a root as an object: in JSON it has more to say than columns have room for. */
static hs_status put_object(struct hs_sink *sink, struct listing *listing, size_t at,
                            struct hs_error *err)
{
    char type[HS_TYPE_NAME_BYTES];
    struct hs_root_sites_pairs sites;
    struct hs_pair more[6] = {HS_TEXT("type", type_of(listing, at, type, sizeof type)),
                              HS_PAIRS_END};
    if (listing->has_sites) {
        hs_root_sites_pairs_init(&listing->join, &listing->sites, at, &sites);
        memcpy(more + 1, sites.members, sizeof sites.members);
    }
    return hs_root_put(sink, &listing->view, &listing->rows.rows[at], more, err);
}

static hs_status put_row(struct hs_sink *sink, const struct listing *listing, size_t at,
                         struct hs_error *err)
{
    const struct hs_view *view = &listing->view;
    const struct hs_root_row *row = &listing->rows.rows[at];
    const struct hs_root *root = hs_snap_root(view->snap, row->node);
    char place[512], id[32], type[HS_TYPE_NAME_BYTES];
    hs_root_place(view, root, place, sizeof place);
    (void)snprintf(id, sizeof id, "#%lu", (unsigned long)row->node);
    struct line line = {
        .id = id,
        .type = type_of(listing, at, type, sizeof type),
        .place = hs_or_null(sink->is_table ? hs_file_short(place) : place),
    };
    HS_TRY(hs_root_load(view, row, line.cells, err));
    const char *name = hs_view_string(view, root->name);
    char folded[HS_FOLD_NAME_BYTES], several[HS_FOLD_NAME_BYTES + 32];
    hs_cell_text(&line.cells[HS_ROOTS_name], name);
    if (row->is_fold) {
        hs_root_fold_name(name, folded);
        (void)snprintf(several, sizeof several, "%u x %s", row->n_parts, folded);
        hs_cell_text(&line.cells[HS_ROOTS_name], several);
        line.cells[HS_ROOTS_reachable_words] = HS_UNKNOWN;
        line.id = line.type = line.place = NULL;
    }
    if (sink->is_table && line.place != NULL && strcmp(line.place, name) == 0)
        line.place = NULL; /* the symbol that gave the name */
    return hs_sink_row(sink, &line, err);
}

/* A line that is no root. */
static struct line line_of(const char *kind, const char *name, uint64_t retained_words)
{
    struct line line = {.id = NULL};
    hs_noun_clear(&hs_noun_roots, line.cells);
    hs_cell_text(&line.cells[HS_ROOTS_kind], kind);
    hs_cell_text(&line.cells[HS_ROOTS_name], name);
    line.cells[HS_ROOTS_retained_words] = retained_words;
    return line;
}

static void put_closing(struct hs_sink *sink, const char *name, uint64_t words)
{
    struct line line = line_of(NULL, name, words);
    hs_sink_close(sink, &line);
}

static hs_status put_set(struct hs_sink *sink, const struct listing *listing, size_t at,
                         struct hs_error *err)
{
    const struct hs_set_rows *sets = &listing->rows.sets;
    char text[HS_SET_TEXT_BYTES], id[32], place[48];
    hs_set_names(&listing->view, sets, at, listing->query.group_by, text);
    (void)snprintf(place, sizeof place, "%lu %s", (unsigned long)sets->rows[at].n_members,
                   hs_set_noun(listing->query.group_by));
    (void)snprintf(id, sizeof id, "set:%u", sets->rows[at].id);
    struct line line = line_of("set", text, sets->rows[at].retained.words);
    line.id = sets->rows[at].id != 0 ? id : NULL;
    line.place = place;
    return hs_sink_row(sink, &line, err);
}

/* Tells whether a set stands before a root: by retained words; in another order behind all roots.
 */
static bool set_is_first(const struct listing *listing, size_t set, size_t root)
{
    const struct hs_root_rows *rows = &listing->rows;
    if (set == rows->sets.n || root == rows->n_rows)
        return set < rows->sets.n;
    return listing->query.sort == HS_SORT_RETAINED &&
           rows->sets.rows[set].retained.words > rows->rows[root].retained.words;
}

/* Puts roots and sets together, as many as are asked for; the rest of each as a sum. */
static hs_status put_merged(struct hs_sink *sink, const struct listing *listing,
                            struct hs_error *err)
{
    const struct hs_root_rows *rows = &listing->rows;
    uint64_t n_others = rows->n_others, others_words = rows->others_words;
    uint64_t shared_words = rows->shared_words, room = listing->query.max_rows;
    size_t root = 0, set = 0;

    for (; room != 0 && (root < rows->n_rows || set < rows->sets.n); room--) {
        if (!set_is_first(listing, set, root)) {
            HS_TRY(put_row(sink, listing, root++, err));
            continue;
        }
        shared_words -= rows->sets.rows[set].retained.words;
        HS_TRY(put_set(sink, listing, set++, err));
    }
    for (; root < rows->n_rows; root++, n_others++)
        others_words += rows->rows[root].retained.words;
    struct line others = line_of(NULL, NULL, others_words);
    hs_sink_others(sink, n_others, &others);
    if (shared_words != 0 || rows->sets.n == 0)
        put_closing(
            sink, set == 0 ? "[shared: kept by several roots]" : "[shared by other sets of roots]",
            shared_words);
    put_closing(sink, "[unreached]", hs_index_unreached_total(listing->view.index).words);
    if (listing->attribution.unread_words != 0)
        put_closing(sink, "[not read]", listing->attribution.unread_words);
    return HS_OK;
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct listing *listing = context;
    const struct hs_root_rows *rows = &listing->rows;
    if (sink->is_table)
        return put_merged(sink, listing, err);
    for (size_t i = 0; i < rows->n_rows; i++)
        HS_TRY(sink->json != NULL ? put_object(sink, listing, i, err)
                                  : put_row(sink, listing, i, err));
    return HS_OK;
}

static hs_status put_sets(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listing *listing = context;
    const struct hs_set_rows *sets = &listing->rows.sets;
    for (size_t i = 0; i < sets->n && i < listing->query.max_rows; i++)
        HS_TRY(hs_set_put(sink, &listing->view, sets, i, listing->query.group_by, err));
    return HS_OK;
}

/* Returns the sum of the sets that are not listed. */
static uint64_t other_sets_words(const struct listing *listing, uint64_t *ret_n)
{
    const struct hs_set_rows *sets = &listing->rows.sets;
    uint64_t words = listing->rows.shared_words;
    size_t n = sets->n < listing->query.max_rows ? sets->n : listing->query.max_rows;
    for (size_t i = 0; i < n; i++)
        words -= sets->rows[i].retained.words;
    *ret_n = sets->n - n + sets->n_others;
    return words;
}
static hs_status print_list(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct listing *listing, struct hs_error *err)
{
    const struct hs_view *view = &listing->view;
    const struct hs_root_rows *rows = &listing->rows;
    struct hs_sizes reached = hs_index_reached_total(view->index);
    struct hs_sizes unreached = hs_index_unreached_total(view->index);
    const struct hs_attribution *attributed = &listing->attribution;
    const struct hs_list list = {.record = listing->has_types ? &hs_roots_record : &record,
                                 .each = put_rows,
                                 .context = listing};
    const struct hs_list sets = {.each = put_sets, .context = listing};
    struct hs_what_if_pairs what_if;
    uint64_t n_other_sets, other_words = other_sets_words(listing, &n_other_sets);
    const struct hs_list samplers = {.each = hs_sampled_wholes_rows, .context = &listing->join};
    const struct hs_pair *sampled =
        listing->has_sites
            ? HS_PAIRS(HS_TEXT("trace", listing->join.path), HS_ROWS("samplers", &samplers))
            : HS_NO_PAIRS;
    struct hs_pair memory[HS_PRIVATE_PAIRS];
    hs_private_memory_json(&attributed->memory, memory);
    hs_what_if_pairs_init(view, &listing->what_if, &what_if);
    const struct hs_listing all = {
        .rows = &list,
        .word_bytes = view->facts->word_bytes,
        .whole = hs_unread_whole(view),
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.roots/1"), HS_TEXT("snapshot", view->path),
            HS_COUNT("pid", view->facts->pid), HS_COUNT("word_bytes", view->facts->word_bytes),
            HS_BLOCK("heap"),
            HS_COUNT("objects", view->totals->n_blocks - view->totals->n_static_blocks),
            HS_COUNT("words", view->totals->heap_words),
            HS_COUNT("reachable_objects", reached.objects),
            HS_COUNT("reachable_words", reached.words),
            HS_COUNT("unreached_objects", unreached.objects),
            HS_COUNT("unreached_words", unreached.words),
            HS_COUNT("static_words", view->totals->static_words), HS_END,
            HS_TEXT("policy", hs_policy_name(hs_index_policy(view->index))),
            HS_COUNT("owned_words", attributed->owned_words),
            HS_COUNT("attributed_words", attributed->attributed_words),
            HS_COUNT("to_files_words", attributed->to_files_words),
            HS_COUNT("to_objects_words", attributed->to_objects_words),
            HS_COUNT("to_modules_words", attributed->to_modules_words), HS_OBJECT("kept_by"),
            HS_COUNT("one_root_words", attributed->by_1_words),
            HS_COUNT("two_to_three_words", attributed->by_2_3_words),
            HS_COUNT("four_to_eight_words", attributed->by_4_8_words),
            HS_COUNT("more_words", attributed->by_more_words), HS_END,
            HS_COUNT("unread_words", attributed->unread_words), HS_SPLICE(memory),
            HS_SPLICE(what_if.without_members), HS_SPLICE(what_if.best_members), HS_SPLICE(sampled),
            HS_ROWS("roots", &list), HS_ROWS("sets", &sets), HS_OBJECT("other_sets"),
            HS_COUNT("count", n_other_sets), HS_COUNT("retained_words", other_words), HS_END,
            HS_OBJECT("shared"), HS_COUNT("retained_words", rows->shared_words), HS_END,
            HS_OBJECT("others"), HS_COUNT("count", rows->n_others),
            HS_COUNT("retained_words", rows->others_words), HS_END, HS_OBJECT("unreached"),
            HS_COUNT("words", unreached.words), HS_END),
    };
    return hs_tool_list(tool, inv, &all, err);
}

static hs_status print_rows(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct listing *listing, struct hs_error *err)
{
    enum hs_format format = hs_tool_format(inv);
    if (listing->has_sites && format == HS_FORMAT_TABLE)
        HS_TRY(hs_sampled_wholes_print(tool, &listing->join, err));
    if (listing->has_sites && (format == HS_FORMAT_TABLE || format == HS_FORMAT_TSV))
        return hs_root_sites_sheet(tool, inv, &listing->join, &listing->rows, &listing->sites, err);
    return print_list(tool, inv, listing, err);
}

/* Says which question to ask next when the table answers little: most has no root, many roots, or a
 * root without a name. */
static void talk_unattributed(struct hs_tool *tool, const struct listing *listing)
{
    const struct hs_attribution *a = &listing->attribution;
    const char *path = listing->view.path;

    if (listing->query.group_by != HS_BY_ROOT)
        return;
    uint64_t unreached = hs_index_unreached_total(listing->view.index).words;
    if (unreached > a->reached_words && !hs_leak_is_garbage(&listing->view)) {
        hs_tool_hint(tool, "no root leads to most of the heap: 'heapsnap leaks %s' says what it is",
                     HS_SHELL(path));
        return;
    }
    if (a->attributed_words >= a->reached_words - a->attributed_words)
        return;
    if (a->by_more_words > a->reached_words - a->by_more_words)
        hs_tool_hint(
            tool,
            "most of the heap is kept by more than 8 roots together: 'heapsnap paths %s --to set:1 "
            "--cut' says through which few places",
            HS_SHELL(path));
    else
        hs_tool_hint(tool,
                     "most of the heap is kept by roots without a name: debug information would "
                     "give them one ('heapsnap info %s' says of which binaries it is missing)",
                     HS_SHELL(path));
}

/* Prints the attribution under a table that lists roots: groups have other shares. */
static hs_status print_attribution(struct hs_tool *tool, const struct listing *listing,
                                   struct hs_error *err)
{
    if (listing->attribution.reached_words == 0 || listing->query.group_by != HS_BY_ROOT)
        return HS_OK;
    return hs_attribution_print(tool, &listing->attribution, listing->view.facts->word_bytes, err);
}

static void judge(struct hs_tool *tool, const struct listing *listing)
{
    const struct hs_attribution *a = &listing->attribution;
    double percent = hs_attribution_percent(a, a->attributed_words);

    if (percent >= (double)listing->least_percent)
        return;
    hs_talk("%.1f %% are attributed, less than the %u %% of --%s", percent, listing->least_percent,
            hs_options[HS_OPT_FAIL_UNLESS_ATTRIBUTED].name);
    tool->threshold_crossed = true;
}

static hs_status find_sites(const struct hs_invocation *inv, struct listing *listing,
                            struct hs_error *err)
{
    const char *trace = hs_given(inv, HS_OPT_TRACE) ? inv->text[HS_OPT_TRACE] : NULL;
    HS_TRY(hs_sample_join_open(&listing->view, trace, /* id= */ NULL, &listing->join, err));
    return hs_root_sites_find(&listing->join, &listing->query, &listing->rows, &listing->sites,
                              err);
}

/* Finds the roots that are one row for eyes: those that are alike and keep a thousandth of the
 * heap. Not where every root is asked for, or some of them. */
static hs_status find_folds(const struct hs_invocation *inv, struct listing *listing,
                            struct hs_error *err)
{
    enum { LEAST_PART = 1000 };
    const struct hs_root_query *query = &listing->query;
    if (hs_tool_format(inv) != HS_FORMAT_TABLE || query->group_by != HS_BY_ROOT ||
        query->sort != HS_SORT_RETAINED || query->kinds != UINT64_MAX || query->min_words != 0 ||
        query->max_rows == UINT64_MAX || listing->has_sites)
        return HS_OK;
    HS_TRY(hs_root_folds_find(&listing->view, listing->view.totals->heap_words / LEAST_PART + 1,
                              &listing->folds, err));
    listing->query.folds = &listing->folds;
    return HS_OK;
}

static hs_status run(struct hs_tool *tool, const struct hs_invocation *inv, struct listing *listing,
                     struct hs_error *err)
{
    HS_TRY(find_folds(inv, listing, err));
    HS_TRY(hs_root_rows_select(&listing->view, &listing->query, &listing->rows, err));
    hs_attribution_find(&listing->view, &listing->attribution);
    HS_TRY(hs_what_if_answer(&listing->view, inv, &listing->what_if, err));
    if (listing->has_sites)
        HS_TRY(find_sites(inv, listing, err));
    HS_TRY(find_types(listing, err));
    bool is_table = hs_tool_format(inv) == HS_FORMAT_TABLE;
    if (is_table)
        HS_TRY(hs_what_if_sentences(tool, &listing->view, &listing->what_if, err));
    HS_TRY(print_rows(tool, inv, listing, err));
    if (is_table) {
        HS_TRY(print_attribution(tool, listing, err));
        talk_unattributed(tool, listing);
        HS_TRY(hs_unread_say(tool, &listing->view, err));
    }
    judge(tool, listing);
    if (listing->has_sites)
        hs_sample_join_talk(tool, &listing->join);
    return HS_OK;
}

hs_status hs_cmd_roots(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct listing listing = {
        .query =
            {
                .group_by = (enum hs_group_by)inv->number[HS_OPT_GROUP_BY],
                .sort = (enum hs_root_sort)inv->number[HS_OPT_ROOT_SORT],
                .kinds = hs_choices_given(inv, HS_OPT_KIND),
                .max_rows = hs_tool_rows(inv),
            },
        .has_sites = hs_given(inv, HS_OPT_SITES) || hs_given(inv, HS_OPT_TRACE),
    };
    HS_TRY(hs_option_percent(inv, HS_OPT_FAIL_UNLESS_ATTRIBUTED, 0, &listing.least_percent, err));
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &listing.view, err));
    listing.query.min_words = hs_tool_min_words(inv, listing.view.facts->word_bytes);
    hs_status status = run(tool, inv, &listing, err);
    hs_what_if_answers_fini(&listing.what_if);
    hs_root_sites_fini(&listing.sites);
    hs_sample_join_close(&listing.join);
    hs_root_rows_fini(&listing.rows);
    hs_root_folds_fini(&listing.folds);
    hs_free(listing.values);
    return hs_view_finish(&listing.view, status, err);
}
