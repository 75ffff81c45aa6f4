/* roots: reachable and retained words of every root, or of every group of roots. */
#include <string.h>

#include "analysis/field_path.h"
#include "commands.h"
#include "open_view.h"
#include "root_json.h"
#include "root_sites_print.h"
#include "sampled_whole_print.h"
#include "site_print.h"

struct listing {
    struct hs_view view;
    struct hs_root_query query;
    struct hs_root_rows rows;
    bool has_sites; /* of --sites */
    struct hs_sample_join join;
    struct hs_root_sites sites;
};

static void put_heap(struct hs_json *json, const struct hs_view *view)
{
    struct hs_sizes reached = hs_index_reached_total(view->index);
    struct hs_sizes unreached = hs_index_unreached_total(view->index);
    hs_json_begin_object(json, "heap", HS_JSON_BLOCK);
    hs_json_u64(json, "objects", view->totals->n_blocks - view->totals->n_static_blocks);
    hs_json_u64(json, "words", view->totals->heap_words);
    hs_json_u64(json, "reachable_objects", reached.objects);
    hs_json_u64(json, "reachable_words", reached.words);
    hs_json_u64(json, "unreached_objects", unreached.objects);
    hs_json_u64(json, "unreached_words", unreached.words);
    hs_json_u64(json, "static_words", view->totals->static_words);
    hs_json_end_object(json);
}

static void put_one(struct hs_json *json, const char *key, const char *name, uint64_t words)
{
    hs_json_begin_object(json, key, HS_JSON_LINE);
    hs_json_u64(json, name, words);
    hs_json_end_object(json);
}

static hs_status put_roots(struct hs_json *json, struct listing *listing, struct hs_error *err)
{
    for (size_t i = 0; i < listing->rows.n_rows; i++) {
        hs_root_json_begin(json, NULL, &listing->view, &listing->rows.rows[i]);
        if (listing->has_sites)
            HS_TRY(hs_root_sites_json(json, &listing->join, &listing->sites, i, err));
        hs_json_end_object(json);
    }
    return HS_OK;
}

static hs_status print_json(struct hs_tool *tool, struct listing *listing, struct hs_error *err)
{
    const struct hs_view *view = &listing->view;
    const struct hs_root_rows *rows = &listing->rows;
    struct hs_json json;
    hs_json_init(&json, &tool->out, HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.roots/1");
    hs_json_string(&json, "snapshot", view->path);
    hs_json_u64(&json, "pid", view->facts->pid);
    hs_json_u64(&json, "word_bytes", view->facts->word_bytes);
    put_heap(&json, view);
    if (listing->has_sites) {
        hs_json_string(&json, "trace", listing->join.path);
        HS_TRY(hs_sampled_wholes_json(&json, &listing->join, err));
    }
    hs_json_begin_array(&json, "roots", HS_JSON_BLOCK);
    HS_TRY(put_roots(&json, listing, err));
    hs_json_end_array(&json);
    put_one(&json, "shared", "retained_words", rows->shared_words);
    hs_json_begin_object(&json, "others", HS_JSON_LINE);
    hs_json_u64(&json, "count", rows->n_others);
    hs_json_u64(&json, "retained_words", rows->others_words);
    hs_json_end_object(&json);
    put_one(&json, "unreached", "words", hs_index_unreached_total(view->index).words);
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

static hs_status print_ndjson(struct hs_tool *tool, struct listing *listing, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, HS_JSON_COMPACT);
    HS_TRY(put_roots(&json, listing, err));
    return hs_json_finish(&json, err);
}

static const struct hs_column columns[] = {
    {"retained_words", "RETAINED", HS_COLUMN_WORDS, HS_COLUMN_SUMMED},
    {"retained_percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY},
    {"reachable_words", "REACHABLE", HS_COLUMN_WORDS, 0},
    {"id", "ID", HS_COLUMN_NODE, 0},
    {"kind", "KIND", HS_COLUMN_STRING, 0},
    {"name", "ROOT", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
    {"place", "WHERE", HS_COLUMN_STRING, 0},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static void put_row(struct hs_sheet *sheet, const struct hs_view *view,
                    const struct hs_root_row *row)
{
    const struct hs_root *root = hs_snap_root(view->snap, row->node);
    char place[512];
    hs_root_place(view, root, place, sizeof place);
    hs_sheet_u64(sheet, row->retained.words);
    hs_sheet_u64(sheet, row->retained.words);
    hs_sheet_u64(sheet, row->reachable.words);
    hs_sheet_u64(sheet, row->node);
    hs_sheet_string(sheet, hs_root_kind_name(root->kind));
    hs_sheet_string(sheet, hs_view_string(view, root->name));
    bool is_table = sheet->options.format == HS_SHEET_TABLE;
    hs_sheet_string(sheet, hs_or_null(is_table ? hs_file_short(place) : place));
}

/* A line that belongs to the sum and is no root. */
static void put_closing(struct hs_sheet *sheet, const char *name, uint64_t words)
{
    hs_sheet_u64(sheet, words);
    hs_sheet_u64(sheet, words);
    hs_sheet_null(sheet);
    hs_sheet_null(sheet);
    hs_sheet_null(sheet);
    hs_sheet_string(sheet, name);
    hs_sheet_null(sheet);
}

static hs_status print_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                             const struct hs_view *view, const struct hs_root_rows *rows,
                             struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, view->totals->heap_words);
    options.word_bytes = view->facts->word_bytes;
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, N_COLUMNS, &options, err));
    for (size_t i = 0; i < rows->n_rows; i++)
        put_row(&sheet, view, &rows->rows[i]);
    uint64_t sums[N_COLUMNS] = {rows->others_words, rows->others_words};
    if (rows->n_others != 0)
        hs_sheet_fold(&sheet, rows->n_others, sums);
    hs_sheet_close_rows(&sheet);
    put_closing(&sheet, "[shared: kept by several roots]", rows->shared_words);
    put_closing(&sheet, "[unreached]", hs_index_unreached_total(view->index).words);
    hs_status status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

/* The bit set of a comma-separated list that the parser has accepted. */
static uint64_t kinds_of(const struct hs_invocation *inv)
{
    if (!hs_given(inv, HS_OPT_KIND))
        return UINT64_MAX;
    uint64_t kinds = 0;
    for (const char *at = inv->text[HS_OPT_KIND];;) {
        size_t n = strcspn(at, ",");
        int kind = hs_choice_at(hs_options[HS_OPT_KIND].choices, at, n);
        kinds |= kind >= 0 ? HS_BIT(kind) : 0;
        if (at[n] == 0)
            return kinds;
        at += n + 1;
    }
}

static hs_status print_rows(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct listing *listing, struct hs_error *err)
{
    switch (hs_tool_format(inv)) {
    case HS_FORMAT_JSON:
        return print_json(tool, listing, err);
    case HS_FORMAT_NDJSON:
        return print_ndjson(tool, listing, err);
    case HS_FORMAT_TABLE:
        if (listing->has_sites)
            HS_TRY(hs_sampled_wholes_print(tool, &listing->join, err));
        break;
    case HS_FORMAT_TSV:
        break;
    }
    if (listing->has_sites)
        return hs_root_sites_sheet(tool, inv, &listing->join, &listing->rows, &listing->sites, err);
    return print_sheet(tool, inv, &listing->view, &listing->rows, err);
}

/* When the table answers little, what to ask next: who keeps it is a group of roots, or an object
 * below several of them. */
static void talk_shared(struct hs_tool *tool, const struct hs_view *view,
                        const struct hs_root_query *query, const struct hs_root_rows *rows)
{
    if (rows->shared_words <= view->totals->heap_words / 2)
        return;
    if (query->group_by == HS_BY_ROOT)
        hs_tool_hint(tool,
                     "most of the heap is kept by several roots together: ask --sort reachable, "
                     "--group-by module or thread, or 'heapsnap dominators %s'",
                     view->path);
    else
        hs_tool_hint(tool,
                     "most of the heap is kept by several of these together: 'heapsnap dominators "
                     "%s' shows below what",
                     view->path);
}

static hs_status find_sites(const struct hs_invocation *inv, struct listing *listing,
                            struct hs_error *err)
{
    const char *trace = hs_given(inv, HS_OPT_TRACE) ? inv->text[HS_OPT_TRACE] : NULL;
    HS_TRY(hs_sample_join_open(&listing->view, trace, /* id= */ NULL, &listing->join, err));
    return hs_root_sites_find(&listing->join, &listing->query, &listing->rows, &listing->sites,
                              err);
}

static hs_status run(struct hs_tool *tool, const struct hs_invocation *inv, struct listing *listing,
                     struct hs_error *err)
{
    HS_TRY(hs_root_rows_select(&listing->view, &listing->query, &listing->rows, err));
    if (listing->has_sites)
        HS_TRY(find_sites(inv, listing, err));
    HS_TRY(print_rows(tool, inv, listing, err));
    if (hs_tool_format(inv) == HS_FORMAT_TABLE)
        talk_shared(tool, &listing->view, &listing->query, &listing->rows);
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
                .kinds = kinds_of(inv),
                .min_words = inv->number[HS_OPT_MIN_WORDS],
                .max_rows = hs_tool_rows(inv),
            },
        .has_sites = hs_given(inv, HS_OPT_SITES) || hs_given(inv, HS_OPT_TRACE),
    };
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &listing.view, err));
    hs_status status = run(tool, inv, &listing, err);
    hs_root_sites_fini(&listing.sites);
    hs_sample_join_close(&listing.join);
    hs_root_rows_fini(&listing.rows);
    return hs_view_finish(&listing.view, status, err);
}
